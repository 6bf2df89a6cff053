"""range: numbers up to and with the last one. It is older than arange, and kept for the programs that use it."""

import math
import warnings

from tensorlab._core.dispatch.out_argument import store_out
from tensorlab._core.dtypes import get_default_dtype
from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops.ranges import arange


def range(
    start,
    end,
    step=1,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """Numbers from `start` up to, and with, `end`. Deprecated: `arange` leaves `end` out, as Python's range does.

    Parameters
    ----------
    start, end, step : numbers
    dtype : dtype; the default floating type unless given, also for integers

    Returns
    -------
    Tensor, shape (floor((end - start) / step) + 1,)

    Raises
    ------
    ShapeError
        If the step is 0 or leads away from `end`, or a bound is infinite.

    >>> import tensorlab, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tensorlab.range(1, 3)
    tensor([1., 2., 3.])
    """
    warnings.warn(
        "range is deprecated, as it contains its end, which Python's range does not; use arange, which leaves it out",
        stacklevel=2,
    )
    dtype = dtype or (get_default_dtype() if out is None else out.dtype)
    if dtype.name == "bool":
        raise UnsupportedDType("range: not implemented for bool")
    if not all(map(math.isfinite, (start, end, step))):
        raise ShapeError(f"range: the range from {start} to {end} in steps of {step} is not finite")
    if not dtype.is_floating_point:
        start, end, step = int(start), int(end), int(step)
    if step == 0:
        raise ShapeError(f"range: step is 0 as {dtype}; expected another number")
    if (end - start) * step < 0:
        raise ShapeError(f"range: steps of {step} do not lead from {start} to {end}")
    places = arange(math.floor((end - start) / step) + 1, layout=layout, device=device)
    if dtype.is_floating_point:
        places = places.double()
    numbers = (places * step + start).to(dtype)
    result = store_out("range", numbers, out, (numbers,))
    return result.requires_grad_() if requires_grad else result
