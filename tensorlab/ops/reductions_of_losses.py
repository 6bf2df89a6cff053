"""What is made of the losses of all elements: their mean, their sum, or all of them."""

import warnings

from tensorlab._core.tensor import TensorBase
from tensorlab.errors import ArgumentTypeError, UnsupportedDType


def named_reduction(size_average, reduce, reduction, level=2):
    """Return `reduction`, or with a warning the one that PyTorch's older arguments stand for."""
    if size_average is None and reduce is None:
        return reduction
    if isinstance(size_average, TensorBase):
        raise ArgumentTypeError(
            "a loss is made first, and called with tensors then: loss = MSELoss(), loss(input, target). "
            "Here tensors were given to what makes it, where size_average stands"
        )
    if reduce is not None and not reduce:
        found = "none"
    else:
        found = "mean" if size_average is None or size_average else "sum"
    warnings.warn(
        f"size_average and reduce are deprecated, please use reduction={found!r} instead",
        UserWarning,
        stacklevel=level,  # a compiled function has no frame of its own, so 2 is the caller's line
    )
    return found


def check_reduction(where, reduction):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{where}: reduction is {reduction!r}; expected 'mean', 'sum' or 'none'")


def reduced(where, losses, reduction):
    """Return the mean, the sum, or (none) all of the losses."""
    check_reduction(where, reduction)
    return losses if reduction == "none" else getattr(losses, reduction)()


def check_floating(where, **operands):
    """Raise unless all of these tensors are floating."""
    for name, x in operands.items():
        if not x.is_floating_point():
            raise UnsupportedDType(
                f"{where}: the {name} is of type {x.dtype}; it must be floating. Convert it with .to(float)"
            )
