"""make_tensor: tensors of any type for tests."""

import math
import warnings
from collections.abc import Sequence

from tensorlab._core.dtypes import finfo, iinfo
from tensorlab.ops.creation import empty
from tensorlab.ops.random_factories import randint


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """Return a tensor of random numbers, spread evenly from `low` up to, but without, `high`.

    Parameters
    ----------
    shape : ints, or one sequence of them
    dtype : dtype
    device : str or device
    low, high : number; -9 and 9 unless given (10 for whole numbers, from 0 for those without a
        sign; 0 and 2 for bool). They are moved to the limits of the type
    requires_grad : bool, for floating types only
    noncontiguous : bool, every other element of memory, if there are two
    exclude_zero : bool, 1 instead of 0, or the smallest normal number of a floating type
    memory_format : memory_format, not with `noncontiguous`

    Raises
    ------
    ValueError
        If `low` is not below `high`, one of them is nan, or no number of the type lies between
        them; or if options exclude each other.

    >>> import tensorlab
    >>> x = tensorlab.testing.make_tensor(3, 4, dtype=tensorlab.float32, device="cpu", low=-1, high=1)
    >>> x.shape, bool((x.abs() <= 1).all())
    (tensorlab.Size([3, 4]), True)
    """
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        shape = shape[0]
    shape = tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor: give noncontiguous or memory_format, not both")
    if requires_grad and not dtype.is_floating_point:
        raise ValueError(
            f"make_tensor: tensors of {dtype} have no gradient; leave requires_grad out"
        )
    noncontiguous = noncontiguous and math.prod(shape) > 1
    if noncontiguous:
        shape = (*shape[:-1], 2 * shape[-1])
    low, high = bounds(dtype, low, high)
    if dtype.is_floating_point:
        made = uniform(empty(shape, dtype=dtype, device=device), low, high)
    else:
        made = randint(math.ceil(low), math.ceil(high), shape, dtype=dtype, device=device)
    if noncontiguous:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made.masked_fill_(made == 0, finfo(dtype).tiny if dtype.is_floating_point else 1)
    return made.requires_grad_() if requires_grad else made


def bounds(dtype, low, high):
    """Both bounds, within the limits of the type."""
    least, most, default_low, default_high = limits(dtype)
    low = default_low if low is None else low
    high = default_high if high is None else high
    if low != low or high != high:
        raise ValueError(f"make_tensor: low is {low} and high {high}; neither may be nan")
    if low == high and dtype.is_floating_point:
        warnings.warn(
            "make_tensor: low and high are equal; use tensorlab.full for one number",
            FutureWarning,
            3,
        )
    elif low >= high:
        raise ValueError(f"make_tensor: low is {low}, which is not below high, {high}")
    elif high < least or low >= most:
        raise ValueError(
            f"make_tensor: {dtype} holds numbers from {least} to {most}, none from {low} to {high}"
        )
    return min(max(low, least), most), min(max(high, least), most)


def limits(dtype):
    """The least number of a type, a bound above its numbers, and the bounds without others."""
    if dtype.is_floating_point:
        return finfo(dtype).min, finfo(dtype).max, -9, 9
    if dtype.name == "bool":
        return 0, 2, 0, 2
    most = iinfo(dtype).max
    above = most + (dtype.name != "int64")  # randint takes no bound above int64
    return iinfo(dtype).min, above, -9, 10


def uniform(x, low, high):
    """Fill with numbers between two bounds, whose distance may be too large for the type."""
    if high - low >= finfo(x.dtype).max:
        return x.uniform_(low / 2, high / 2).mul_(2)
    return x.uniform_(low, high)
