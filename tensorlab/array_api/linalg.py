"""The extension `linalg` of the array API standard, whose arguments are not always those of ours.

Source: https://data-apis.org/array-api/2024.12/extensions/linear_algebra_functions.html
"""

from collections import namedtuple

from tensorlab import linalg
from tensorlab.array_api.adapters import tensordot, vecdot
from tensorlab.linalg import det, eigvalsh, inv, svdvals
from tensorlab.ops.dimensions import matrix_transpose
from tensorlab.ops.linalg.matrices import matmul

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = namedtuple("QRResult", "Q R")
SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = namedtuple("SVDResult", "U S Vh")


def cholesky(x, /, *, upper=False):
    """L of `L L^H`, or U of `U^H U`, for each matrix."""
    return linalg.cholesky(x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """The cross products of vectors of three numbers along an axis."""
    return linalg.cross(x1, x2, dim=axis)


def diagonal(x, /, *, offset=0):
    """A diagonal of each matrix."""
    return linalg.diagonal(x, offset=offset)


def eigh(x, /):
    """Eigenvalues and eigenvectors of each symmetric or Hermitian matrix."""
    return EighResult(*linalg.eigh(x))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """A norm of each matrix."""
    return linalg.matrix_norm(x, ord, keepdim=keepdims)


def matrix_power(x, n, /):
    """Each matrix, multiplied n times; a negative n means its inverse."""
    return linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values of each matrix are larger than `rtol` times the largest."""
    return linalg.matrix_rank(x, rtol=rtol)


def outer(x1, x2, /):
    """The products of each element of one vector with each of another."""
    return x1.unsqueeze(1) * x2


def pinv(x, /, *, rtol=None):
    """The pseudo-inverse of each matrix."""
    return linalg.pinv(x, rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """Q with orthonormal columns, and R above its diagonal, whose product is the matrix."""
    return QRResult(*linalg.qr(x, mode))


def slogdet(x, /):
    """The sign of each determinant, and the logarithm of its absolute value."""
    return SlogdetResult(*linalg.slogdet(x))


def solve(x1, x2, /):
    """The x of `x1 @ x = x2`; `x2` is a vector only if it has one axis."""
    if x2.ndim == 1:
        return linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    batch = linalg.matmul(x1[..., :1, :0], x2[..., :0, :1]).shape[:-2]
    return linalg.solve(x1.expand(*batch, *x1.shape[-2:]), x2.expand(*batch, *x2.shape[-2:]))


def svd(x, /, *, full_matrices=True):
    """The singular value decomposition of each matrix."""
    return SVDResult(*linalg.svd(x, full_matrices))


def trace(x, /, *, offset=0, dtype=None):
    """The sum of a diagonal of each matrix."""
    return linalg.diagonal(x, offset=offset).sum(-1, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """A norm of the vectors along some axes, all if None."""
    return linalg.vector_norm(x, ord, axis, keepdims)
