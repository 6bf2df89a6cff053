"""Transforms of functions: derivatives and batches, which nest in any order.

grad, grad_and_value, vjp, jvp, linearize     derivatives
jacrev, jacfwd, hessian                       all of them at once
vmap                                          a function of one example, for a batch
functional_call, stack_module_state           modules as functions of their parameters
functionalize                                 a function without writes
"""

from tensorlab._on_demand import on_demand
from tensorlab.func.functionalization import functionalize
from tensorlab.func.jacobians import hessian, jacfwd, jacrev
from tensorlab.func.transforms import grad, grad_and_value, jvp, linearize, vjp
from tensorlab.func.trees import debug_unwrap
from tensorlab.func.vmapping import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

_STATELESS = ("functional_call", "replace_all_batch_norm_modules_", "stack_module_state")

__getattr__, __dir__ = on_demand(__name__, ("stateless",), dict.fromkeys(_STATELESS, "stateless"))
