"""Hooks that see the gradients of a module's arguments and of its result.

The arguments go through an identity before forward, and the result through another one after it.  Each identity is one
node of the graph, and the engine runs a node when all its gradients are there:

    args --> Identity --> forward --> Identity --> result
              hook 2                   hook 1

Hook 1 notes the gradients of the result, and hook 2 calls the module's hooks with them and its own.
"""

import warnings

from .._core.state.modes import is_grad_enabled
from .._tensor import Tensor
from ..autograd.function import Function


class BackwardHookFunction(Function):
    """The identity of several tensors, as one node."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.mark_non_differentiable(*(x for x in tensors if not x.requires_grad))
        return tensors

    @staticmethod
    def backward(ctx, *grads):
        return grads


def through_identity(values, hook):
    """Return the values with their tensors behind a node that has this hook, and where the tensors are.

    The places are None if no tensor requires grad, or nothing is recorded.
    """
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return values, None
    behind = BackwardHookFunction.apply(*(values[i] for i in places))
    behind = behind if isinstance(behind, tuple) else (behind,)
    (node,) = {x.grad_fn for x in behind if x.grad_fn is not None}
    node.register_hook(hook)
    changed = list(values)
    for i, x in zip(places, behind, strict=True):
        changed[i] = x
    if type(values) is tuple:
        return tuple(changed), places
    return type(values)(*changed), places  # a named tuple


def with_none(places, grads, size):
    """Return the gradients at their places, and None elsewhere."""
    filled = [None] * size
    for i, grad in zip(places, grads, strict=True):
        filled[i] = grad
    return tuple(filled)


class ModuleGradients:
    """The hooks of one call of a module, and the gradients that they wait for."""

    def __init__(self, module, hooks, hooks_before):
        self.module, self.hooks, self.hooks_before = module, hooks, hooks_before
        self.grad_outputs = None

    def watch_inputs(self, args):
        """Return the arguments, behind the first node."""
        self.n_inputs = len(args)
        args, self.input_places = through_identity(args, self.inputs_are_there)
        return args

    def watch_outputs(self, result):
        """Return the result, behind the second node."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=5,
            )
            return result
        values = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(values)
        values, self.output_places = through_identity(values, self.outputs_are_there)
        return values if isinstance(result, tuple) else values[0]

    def outputs_are_there(self, _, grads):
        """Hook 1: note the gradients of the result, after the pre-hooks."""
        grads = with_none(self.output_places, grads, self.n_outputs)
        for hook in self.hooks_before:
            changed = hook(self.module, grads)
            if changed is not None:
                if len(changed) != len(grads):
                    raise RuntimeError(
                        "Backward pre hook returned an invalid number of grad_output, got "
                        f"{len(changed)}, but expected {len(grads)}"
                    )
                grads = changed
        self.grad_outputs = grads
        if self.input_places is None:  # no second hook will come
            self.call_without_inputs()
        return tuple(grads[i] for i in self.output_places)

    def call_without_inputs(self):
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See nn.Module.register_full_backward_hook for more details.",
            stacklevel=3,
        )
        for hook in self.hooks:
            changed = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            is_empty = isinstance(changed, tuple) and all(grad is None for grad in changed)
            if changed is not None and not is_empty:
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for "
                    "all gradients."
                )
        self.grad_outputs = None

    def inputs_are_there(self, grads, _):
        """Hook 2: call the module's hooks with both."""
        if self.grad_outputs is None:  # a gradient that did not come through the result
            return None
        grads = with_none(self.input_places, grads, self.n_inputs)
        for hook in self.hooks:
            changed = hook(self.module, grads, self.grad_outputs)
            if changed is not None:
                if len(changed) != len(grads):
                    raise RuntimeError(
                        "Backward hook returned an invalid number of grad_input, got "
                        f"{len(changed)}, but expected {len(grads)}"
                    )
                grads = changed
        self.grad_outputs = None
        return tuple(grads[i] for i in self.input_places)


# ------------------------------------------------------------ hooks of the last node
def hook_last_node(module, hooks, args, result):
    """Give the node that made the result the module's hooks: the older kind, which sees that op alone."""
    value = result
    while not isinstance(value, Tensor):
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    node = value.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda grads, outs, hook=hook: hook(module, grads, outs))
    doubt = what_is_missing(args, result, node)
    if doubt:
        warnings.warn(
            f"Using a non-full backward hook {doubt}. Please use register_full_backward_hook to get the documented "
            "behavior.",
            FutureWarning,
            stacklevel=5,
        )


def what_is_missing(args, result, node):
    """Say why such a hook does not see all gradients of a module; "" if it does."""
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(x, Tensor) for x in results):
        return (
            "on a Module that does not return a single Tensor or a tuple of Tensors is deprecated"
        )
    if not all(isinstance(x, Tensor) for x in args):
        return "on a Module that does not take as input a single Tensor or a tuple of Tensors is deprecated"
    made = {x.grad_fn for x in results if x.grad_fn is not None}
    if len(made) > 1:
        return "when outputs are generated by different autograd Nodes is deprecated"
    given = {x.grad_fn for x in args if x.grad_fn is not None}
    if given != {following for following, _ in node.next_functions}:
        return "when the forward contains multiple autograd Nodes is deprecated"
    return ""
