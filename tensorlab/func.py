"""Transformations of functions: `functional_call` is here, the others are still to come."""

from tensorlab import _missing, _planned
from tensorlab.nn.utils.stateless import functional_call

__all__ = ["functional_call"]

globals().update(
    _planned.names(
        __name__,
        """functionalize grad grad_and_value hessian jacfwd jacrev jvp linearize
        replace_all_batch_norm_modules_ stack_module_state vjp vmap""",
        until="write a loop over the examples, or put them into a batch.",
        chapter="23-higher-order",
        grad="call autograd.grad.",
        grad_and_value="call the function, then autograd.grad.",
        hessian="call autograd.functional.hessian.",
        jacfwd="call autograd.functional.jacobian.",
        jacrev="call autograd.functional.jacobian.",
        jvp="call autograd.functional.jvp.",
        vjp="call autograd.functional.vjp.",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
