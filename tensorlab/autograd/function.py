"""Function: an operation with a backward of your own."""

from tensorlab._core.function import FunctionNode, apply_function


class Function:
    """Base class of custom differentiable operations. Write `forward` and `backward` as static methods, call `apply`.

    `ctx` is the same object in both: save tensors with `ctx.save_for_backward`, anything else as its attributes.
    `backward` gets one gradient for each output and returns one for each argument of `forward` (None where there
    is none).

    >>> import tensorlab
    >>> class Square(tensorlab.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> x = tensorlab.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

    _node_class = FunctionNode
    _has_setup_context = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._node_class = type(cls.__name__ + "Backward", (FunctionNode,), {"_function": cls})
        cls._has_setup_context = cls.setup_context is not Function.setup_context

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            f"{type(self).__name__}: a Function is not instantiated; call {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the outputs: `forward(ctx, *args)`, or `forward(*args)` together with `setup_context`."""
        raise NotImplementedError("Function: write forward as a static method of your class")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Save what backward needs, where `forward` takes no ctx."""
        raise NotImplementedError("Function: write setup_context as a static method of your class")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Turn the gradients of the outputs into those of the arguments of `forward`."""
        raise NotImplementedError(
            "Function: write backward as a static method of your class to differentiate it"
        )

    @classmethod
    def apply(cls, *args):
        """Run `forward` and record one node for it."""
        return apply_function(cls, args)
