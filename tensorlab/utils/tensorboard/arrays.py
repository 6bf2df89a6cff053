"""What a program passes to a writer, as arrays: tensors, numbers, arrays of NumPy, and lists of them."""

import numpy as np

from ..._core.dtypes import BY_NAME
from ..._tensor import Tensor

__all__ = ["as_array", "as_number"]


def as_array(value):
    """Return a value as an array: a tensor that requires grad is detached, and bfloat16 becomes float32.

    Raises
    ------
    NotImplementedError
        If it is neither a tensor, an array, a number, nor a list or tuple of them.
    """
    if isinstance(value, Tensor):
        value = value.detach()
        if value.dtype is BY_NAME["bfloat16"]:
            value = value.to(BY_NAME["float32"])
        return value.numpy()
    if isinstance(value, (list, tuple)):
        return np.asarray([as_array(one) if is_many(one) else one for one in value])
    if isinstance(value, np.ndarray) or np.isscalar(value):
        return np.asarray(value)
    raise NotImplementedError(
        f"SummaryWriter: a {type(value).__name__} is given; expected a Tensor, an array, a number, or a list of"
        " them"
    )


def is_many(value):
    return isinstance(value, (Tensor, list, tuple))


def as_number(value, what):
    """Return a float for a number or anything with one element; `what` begins the error's text."""
    array = as_array(value)
    if array.size != 1:
        raise ValueError(
            f"{what}: the value has shape {array.shape}; expected one number. Did you mean its mean() or"
            " add_histogram?"
        )
    return float(array.reshape(()))
