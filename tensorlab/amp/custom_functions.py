"""custom_fwd and custom_bwd: how a Function of a program's own behaves in an autocast block."""

import functools
from collections.abc import Iterable, Mapping

import numpy

from tensorlab._core.dispatch.autocast import is_eligible
from tensorlab.amp.autocast_mode import autocast, get_autocast_dtype, is_autocast_enabled
from tensorlab.amp.device_types import check_device_type

__all__ = ["custom_bwd", "custom_fwd"]


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Mark `forward` of an autograd.Function; its `backward` is marked with `custom_bwd`.

    Parameters
    ----------
    fwd : function, `forward`
    device_type : str, "cpu"
    cast_inputs : dtype or None. With one, in an autocast block the floating tensors are cast to
        it, and forward runs with autocast off. Without one, forward runs as the block has it.

    Examples
    --------
    >>> import tensorlab
    >>> class Double(tensorlab.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu", cast_inputs=tensorlab.float32)
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> with autocast("cpu"):
    ...     print(Double.apply(tensorlab.ones(2, dtype=tensorlab.bfloat16)).dtype)
    tensorlab.float32
    """
    check_device_type(device_type, "custom_fwd")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx, *args, **kwargs):
        is_on = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if not is_on or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *cast_all(args, cast_inputs), **cast_all(kwargs, cast_inputs))

    return forward


def custom_bwd(bwd=None, *, device_type):
    """Mark `backward` of an autograd.Function, so that autocast is on in it exactly if it was in `forward`.

    Parameters
    ----------
    bwd : function, `backward`
    device_type : str, "cpu"

    Examples
    --------
    >>> import functools
    >>> import tensorlab
    >>> class Double(tensorlab.autograd.Function):
    ...     @staticmethod
    ...     @functools.partial(custom_fwd, device_type="cpu")
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @functools.partial(custom_bwd, device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    ...
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    check_device_type(device_type, "custom_bwd")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx, *args, **kwargs):
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return backward


def cast_all(value, dtype):
    """Return the value with all tensors in it cast that autocast may cast, in containers too."""
    if is_eligible(value):
        return value.to(dtype)
    if isinstance(value, (str, bytes, numpy.ndarray)) or hasattr(value, "storage_offset"):
        return value
    if isinstance(value, Mapping):
        return {cast_all(key, dtype): cast_all(one, dtype) for key, one in value.items()}
    if isinstance(value, Iterable):
        cast = (cast_all(one, dtype) for one in value)
        return type(value)(cast) if isinstance(value, (list, tuple)) else cast
    return value
