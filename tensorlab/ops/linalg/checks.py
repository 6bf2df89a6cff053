"""Checks of matrices that functions made of others begin with."""

from tensorlab._core.tensor import TensorBase
from tensorlab.errors import DTypeError, ShapeError


def check_tensors(where, **given):
    """Raise unless all are tensors."""
    for name, one in given.items():
        if not isinstance(one, TensorBase):
            raise TypeError(
                f"{where}: argument {name!r} must be a Tensor, not {type(one).__name__}"
            )


def check_inexact(where, x, name="A"):
    """Raise unless x holds floating or complex numbers."""
    if not (x.is_floating_point() or x.is_complex()):
        raise DTypeError(
            f"{where}: {name} is of {x.dtype}; expected a floating or complex type, so convert it "
            f"with .to() first"
        )


def check_matrices(where, x, name="A"):
    """Raise unless x is a matrix or a batch of them, of floating or complex numbers."""
    check_tensors(where, **{name: x})
    if x.dim() < 2:
        raise ShapeError(
            f"{where}: {name} has shape {tuple(x.shape)}; expected a matrix, or a batch of them: "
            f"two dimensions or more"
        )
    check_inexact(where, x, name)


def check_square_matrices(where, x, name="A"):
    """Raise unless its matrices have as many rows as columns, too."""
    check_matrices(where, x, name)
    if x.size(-1) != x.size(-2):
        raise ShapeError(
            f"{where}: {name} has shape {tuple(x.shape)}; expected square matrices, as many rows "
            f"as columns"
        )
