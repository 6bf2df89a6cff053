"""Function: an operation with a backward of your own."""

import functools
import inspect

from tensorlab import _missing
from tensorlab._core.dispatch.levels import levels
from tensorlab._core.engine.function import FunctionNode, apply_function, delay_error
from tensorlab._core.state.modes import is_grad_enabled
from tensorlab._core.tensor import TensorBase
from tensorlab.autograd.grad_mode import no_grad

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]

FunctionCtx = BackwardCFunction = FunctionNode  # PyTorch's names for the class of ctx


class Function:
    """Base class of custom differentiable operations. Write `forward` and `backward` as static methods, call `apply`.

    `ctx` is the same object in both: save tensors with `ctx.save_for_backward`, anything else as its attributes.
    Inside of the transforms of `func`, `setup_context` says what to save, and `forward` takes no
    ctx. Forward mode calls `jvp`, with the tangents of the arguments. vmap calls `vmap`, or, with
    `generate_vmap_rule = True`, all methods for one example.

    `backward` gets one gradient for each output and returns one for each argument of `forward` (None where there
    is none).

    Two attributes of the class, both False unless set, let a backward free memory while it runs. With
    `clear_saved_tensors_on_access` the node drops `ctx.saved_tensors` when they are read, which is possible once
    then. With `boxed_grads_call` the gradients come as one list, `backward(ctx, grads)`, from which they may be taken.

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

    generate_vmap_rule = False
    clear_saved_tensors_on_access = False
    boxed_grads_call = False

    _node_class = FunctionNode
    _has_setup_context = False
    _has_vmap = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._node_class = type(cls.__name__ + "Backward", (FunctionNode,), {"_function": cls})
        cls._has_setup_context = cls.setup_context is not Function.setup_context
        cls._has_vmap = cls.vmap is not Function.vmap
        if cls.vjp is not Function.vjp:
            if cls.backward not in (Function.backward, cls.vjp):
                raise RuntimeError(
                    f"{cls.__name__}: backward and vjp are two names of one method; write only one of them"
                )
            cls.backward = cls.vjp

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
            f"{ctx.name()}: write backward as a static method of your Function to differentiate it"
        )

    @staticmethod
    def vjp(ctx, *grad_outputs):
        """Another name for `backward`."""
        raise NotImplementedError("Function: write backward as a static method of your class")

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Turn the tangents of the arguments of `forward` into those of the outputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD: "
            f"write jvp as a static method of {getattr(type(ctx), '_function', Function).__name__}"
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """Compute the outputs for a batch: for func.vmap.

        `info` has `batch_size` and `randomness`; `in_dims` says which dimension of each argument
        is the batch, None for an argument that is the same for all. It returns the outputs, and in
        the same form their dimensions of the batch.
        """
        raise NotImplementedError("Function: write vmap as a static method of your class")

    @staticmethod
    def _with_methods(name, *methods):
        """A Function of these methods."""
        attributes = {one.__name__: staticmethod(one) for one in methods}
        return type(name, (Function,), attributes | {"generate_vmap_rule": True})

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run `forward` and record one node for it.

        Arguments by name stand in the places that `forward` has for them, in backward as well; those before them that
        are left out have their defaults.
        """
        if cls._has_setup_context:
            args = cls._bind(args, kwargs)
            return _transformed(cls, args) if levels() else apply_function(cls, args, None)
        if kwargs:
            args, kwargs = cls._in_place(args, kwargs)
        if levels() and not kwargs:
            return _transformed(cls, args)
        return apply_function(cls, args, kwargs)

    @classmethod
    def _in_place(cls, args, kwargs):
        """Give the arguments by name their places: all arguments up to the last of them, and what has only a name."""
        parameters = inspect.signature(cls.forward).parameters.values()
        places = [one for one in parameters if one.kind <= one.POSITIONAL_OR_KEYWORD]
        places = places[1 + len(args) :]  # 1: ctx
        named = [i for i, one in enumerate(places) if one.name in kwargs]
        placed, rest = list(args), dict(kwargs)
        for one in places[: named[-1] + 1 if named else 0]:
            if one.name not in rest and one.default is one.empty:
                raise TypeError(
                    f"{cls.__name__}: forward needs the argument {one.name!r}, which is not given"
                )
            placed.append(rest.pop(one.name, one.default))
        for name, value in rest.items():
            if isinstance(value, TensorBase) and value.requires_grad:
                raise TypeError(
                    f"{cls.__name__}: forward has no place left for {name!r}, a Tensor that requires grad, so "
                    f"that no gradient can be returned for it; let forward take it in its place"
                )
        return tuple(placed), rest

    @classmethod
    def _bind(cls, args, kwargs):
        """All arguments of `forward` in its order, defaults included."""
        signature = cls.__dict__.get("_signature")
        if signature is None:
            signature = cls._signature = inspect.signature(cls.forward)
        if not kwargs and len(args) == len(signature.parameters):
            return args
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args + tuple(bound.kwargs.values())


def _transformed(cls, args):
    """A call inside of a transform."""
    from tensorlab.autograd import custom_calls  # here, as few programs need the transforms

    return custom_calls.call(cls, args)


class InplaceFunction(Function):
    """Another name for `Function`, kept for older programs; say in `forward` what is changed, with `ctx.mark_dirty`."""


def once_differentiable(function):
    """Decorate a `backward` that has no derivative itself: it runs under no_grad, and a second derivative raises.

    Without it a backward that leaves tensorlab, for NumPy say, would seem to have a derivative of zero.

    >>> import tensorlab
    >>> class Sine(tensorlab.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x.sin()
    ...
    ...     @staticmethod
    ...     @tensorlab.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * tensorlab.from_numpy(numpy.cos(x.detach().numpy()))
    """

    @functools.wraps(function)
    def wrapper(ctx, *grads):
        with no_grad():
            results = function(ctx, *grads)
        if not is_grad_enabled():
            return results
        if not any(isinstance(grad, TensorBase) and grad.requires_grad for grad in grads):
            return results
        message = (
            f"{ctx.name()}: a second derivative was asked for, but its backward is "
            "once_differentiable"
        )
        return delay_error(message, results if isinstance(results, tuple) else (results,))

    return wrapper


__getattr__ = _missing.refusing(__name__)
