"""How autograd treats a call of a program's op: one node, whose backward is the program's
function.

It is an autograd.Function around the op. Lists of tensors are laid out flat for it, as a
Function has edges for tensors only, and `backward` sees them as lists again.
"""

from typing import Any

from tensorlab._core.tensor import TensorBase
from tensorlab.autograd.function import Function


class Context:
    """The `ctx` of an op that takes lists of tensors: as the node's, but `needs_input_grad` has
    lists as well.
    """

    def __init__(self, node, needs_input_grad):
        object.__setattr__(self, "_node", node)
        object.__setattr__(self, "needs_input_grad", needs_input_grad)

    def __getattr__(self, name):
        return getattr(self._node, name)

    def __setattr__(self, name, value):
        setattr(self._node, name, value)


class Recorded:
    """The backward of an op.

    Attributes
    ----------
    backward : function(ctx, *gradients) -> a gradient for each parameter, None where there is
        none
    setup_context : function(ctx, inputs, output), or with keyword_only_inputs as well; or None
    function : the class of Function, made when the first call is recorded
    """

    def __init__(self, definition):
        self.definition = definition
        self.backward: Any = None
        self.setup_context: Any = None
        self.function: Any = None

    def register(self, backward, setup_context):
        """Take them."""
        self.backward, self.setup_context = backward, setup_context

    def call(self, *arguments):
        """Run the op and record one node for it."""
        if self.function is None:
            self.function = self.make_function()
        flat, shape = flattened(arguments)
        outputs: list = []  # forward puts the shape of the results here
        results = self.function.apply(shape, outputs, *flat)
        (found,) = unflattened(results if isinstance(results, tuple) else (results,), outputs)
        return tuple(found) if len(self.definition.results) > 1 else found

    def make_function(self):
        """The Function class of this op."""

        def forward(ctx, shape, outputs, *flat):
            arguments = unflattened(flat, shape)
            result = self.definition.below_autograd(*arguments)
            flat_results, (layout,) = flattened([result])
            outputs.append(layout)
            ctx._shape, ctx._layout = shape, layout
            if self.setup_context is not None:
                self.setup_context(self.context(ctx), **self.inputs_and_output(arguments, result))
            return flat_results[0] if layout is LEAF else tuple(flat_results)

        def backward(ctx, *gradients):
            if self.backward is None:
                raise RuntimeError(
                    f"{self.definition.name}: backward needs the derivative of this op, and "
                    f"none has been registered; "
                    f"give it one with register_autograd, or call it under no_grad"
                )
            several = len(self.definition.results) > 1
            given = unflattened(gradients, ctx._layout if several else [ctx._layout])
            found = self.backward(self.context(ctx), *given)
            return (None, None, *self.flat_gradients(found, ctx._shape))

        name = self.definition.op.node_name.removesuffix("Backward")
        functions = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        return type(name, (Function,), {**functions, "records_op": True, "__module__": __name__})

    def context(self, node):
        """What the program's functions are given as `ctx`."""
        wanted = unflattened(node.needs_input_grad[2:], node._shape)
        return Context(node, tuple(wanted[: self.definition.positional]))

    def inputs_and_output(self, arguments, result):
        """The arguments of `setup_context` by their names."""
        count = self.definition.positional
        named = [one.name for one in self.definition.parameters[count:]]
        only = (
            {"keyword_only_inputs": dict(zip(named, arguments[count:], strict=True))}
            if named
            else {}
        )
        return {"inputs": tuple(arguments[:count]), **only, "output": result}

    def flat_gradients(self, found, shape):
        """The gradients that backward returned, laid out as the arguments were."""
        definition, count = self.definition, self.definition.positional
        if count == 1 and not (isinstance(found, tuple | list) and len(found) == 1):
            found = (found,)
        found = tuple(found) if isinstance(found, tuple | list) else (found,)
        if len(found) != count:
            raise RuntimeError(
                f"{definition.name}: its backward must return {count} gradients, one for each "
                f"argument "
                f"({', '.join(one.name for one in definition.parameters[:count])}), and "
                f"returned {len(found)}"
            )
        flat: list = []
        for one, gradient, parameter in zip(
            shape, (*found, *[None] * (len(shape) - count)), definition.parameters, strict=True
        ):
            if one is LEAF:
                flat.append(gradient)
                continue
            gradients = [None] * len(one) if gradient is None else gradient
            if not isinstance(gradients, list | tuple) or len(gradients) != len(one):
                raise RuntimeError(
                    f"{definition.name}: the gradient of {parameter.name!r} must be a list of "
                    f"{len(one)}, as the argument "
                    f"is, not {gradients!r:.60}"
                )
            flat += gradients
        return flat


# ---------------------------------------------------------------- lists of tensors, flat
LEAF = object()


def flattened(values):
    """(the values with lists of tensors laid out flat, the shape: LEAF, or a list of them, for
    each value)
    """
    flat, shape = [], []
    for one in values:
        if isinstance(one, list | tuple) and any(isinstance(item, TensorBase) for item in one):
            inner, inner_shape = flattened(one)
            flat += inner
            shape.append(inner_shape)
        else:
            flat.append(one)
            shape.append(LEAF)
    return flat, shape


def unflattened(flat, shape):
    """The values again."""
    return _take(iter(flat), shape)


def _take(values, shape):
    return next(values) if shape is LEAF else [_take(values, one) for one in shape]
