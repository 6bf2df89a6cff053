"""Modes and classes of tensors below autograd: `__torch_dispatch__`.

A mode is a block in which each call of an op goes to a method of the mode; a class of tensors
gets the calls that have a tensor of it. Both see the calls that are left when autograd has had
its part, those of backward included, under their names in PyTorch's libraries
(`ops.aten.add.Tensor`). How a call comes here, say layers.pyx and dispatch_hooks.py in
tensorlab/_core/dispatch.
"""

import contextlib

from tensorlab._core.dispatch.dispatch_hooks import ModeLayer, entered_modes
from tensorlab._core.dispatch.overloads import OpOverload
from tensorlab._tensor import Tensor

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "return_and_correct_aliasing",
    "transform_subclass",
]


# ---------------------------------------------------------------- modes
class TorchDispatchMode:
    """A block in which every call of an op goes to `__torch_dispatch__` of this object.

    Inside the method the mode is off, so `func(*args, **kwargs)` goes on to the modes around
    it, then to classes of tensors that have the method, then to the kernel. A mode can be
    entered again inside itself.

    Examples
    --------
    >>> import tensorlab
    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> with Names():
    ...     y = (x * 2).tanh()
    aten.mul.Tensor
    aten.tanh.default
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key=None):
        """`_dispatch_key` is PyTorch's, and has no meaning here."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Handle a call.

        Parameters
        ----------
        func : OpOverload, such as `ops.aten.add.Tensor`
        types : tuple of the classes of arguments that have this method themselves
        args, kwargs : the arguments, without those at the end that have their default

        Returns
        -------
        what the op returns; of one that writes, anything: its result is its first argument
        """
        raise NotImplementedError(
            f"{type(self).__name__}: a mode must define __torch_dispatch__(self, func, types, "
            f"args, kwargs)"
        )

    def __enter__(self):
        layer = ModeLayer(self)
        layer.__enter__()
        # made here, as a class over this one need not call __init__
        self.__dict__.setdefault("_layers", []).append(layer)
        return self

    def __exit__(self, *exception):
        if not self.__dict__.get("_layers"):
            raise RuntimeError(
                f"{type(self).__name__}: the mode is to be left, and was not entered"
            )
        self._layers.pop().__exit__(*exception)

    @classmethod
    def push(cls, *args, **kwargs):
        """Make a mode of this class."""
        return cls(*args, **kwargs)


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that passes every call on."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode():
    """The innermost mode of this thread, or None."""
    modes = entered_modes()
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack():
    """The modes of this thread, the outermost first."""
    return entered_modes()


@contextlib.contextmanager
def _disable_current_modes():
    """A block in which the modes of this thread are off; they are on again after it."""
    modes = entered_modes()
    for mode in reversed(modes):
        mode.__exit__(None, None, None)
    try:
        yield modes
    finally:
        for mode in modes:
            mode.__enter__()


# ---------------------------------------------------------------- what hooks of classes need
def return_and_correct_aliasing(func, args, kwargs, out):
    """Return what a hook has to return for a call: of an op that writes, the argument it wrote
    to; else `out`.

    Parameters
    ----------
    func, args, kwargs : as the hook was told
    out : the result that the hook has made

    A view needs nothing here: that its result is a view of its argument, autograd notes for any
    result.

    Raises
    ------
    TypeError
        If `func` is not an OpOverload.
    """
    if not isinstance(func, OpOverload):
        raise TypeError(
            f"return_and_correct_aliasing: func must be what the hook was told, an OpOverload, "
            f"not {func!r}"
        )
    written = [
        _argument(func, args, kwargs, k)
        for k, one in enumerate(func._schema.arguments)
        if one.alias_info is not None and one.alias_info.is_write
    ]
    returned = [one for one in func._schema.returns if one.alias_info and one.alias_info.is_write]
    if not returned:
        return out
    return written[0] if len(returned) == 1 else tuple(written)


def _argument(func, args, kwargs, k):
    return args[k] if k < len(args) else (kwargs or {})[func._schema.arguments[k].name]


def is_traceable_wrapper_subclass(t):
    """Whether a tensor is of a class that says what it is made of: `__tensor_flatten__` and
    `__tensor_unflatten__`.
    """
    return (
        isinstance(t, Tensor)
        and type(t) is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(type(t), "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass_type(t):
    """Whether a class of tensors says that."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """Return a tensor of the same class around `callback(name, tensor)` of each tensor that it
    is made of.

    Parameters
    ----------
    t : a tensor that `is_traceable_wrapper_subclass`
    outer_size, outer_stride : of the result; those of `t` unless given
    """
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    result = type(t).__tensor_unflatten__(inner, context, size, stride)
    if not isinstance(result, type(t)) or tuple(result.shape) != tuple(size):
        raise RuntimeError(
            f"transform_subclass: {type(t).__name__}.__tensor_unflatten__ must make a "
            f"{type(t).__name__} of "
            f"size {tuple(size)}, and made a {type(result).__name__} of "
            f"{tuple(getattr(result, 'shape', ()))}"
        )
    return result
