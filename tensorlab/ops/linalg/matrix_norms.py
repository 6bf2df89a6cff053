"""Norms of vectors and matrices, as tensorlab.linalg has them."""

import math
import operator

from tensorlab._core.dispatch.out_argument import store_out
from tensorlab.errors import DimensionError, DTypeError, ShapeError
from tensorlab.ops.linalg.checks import check_inexact, check_matrices, check_tensors
from tensorlab.ops.linalg.spectral import svdvals
from tensorlab.ops.norms import norm as norm_of_elements

ORDERS = ("fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """The norm of vectors: sum(abs(x)**ord)**(1/ord).

    Parameters
    ----------
    x : Tensor, floating or complex
    ord : number; inf: the largest absolute value, -inf: the smallest, 0: how many are not 0
    dim : int, tuple of int or None, the dimensions that make a vector; None: all
    keepdim : bool, keep these dimensions with size 1
    dtype : the type to compute in

    Raises
    ------
    ShapeError
        If vectors are empty and their norm is not defined (ord < 0 or infinite).

    >>> import tensorlab
    >>> tensorlab.linalg.vector_norm(tensorlab.tensor([3., -4.]))
    tensor(5.)
    """
    check_tensors("linalg.vector_norm", x=x)
    if isinstance(ord, str) or not hasattr(ord, "__float__"):
        raise TypeError(f"linalg.vector_norm: ord is {ord!r}; expected a number")
    check_inexact("linalg.vector_norm", x, "x")
    if dtype is not None and dtype.is_complex != x.is_complex():
        raise DTypeError(
            f"linalg.vector_norm: dtype is {dtype} for a tensor of {x.dtype}; expected a type of its kind"
        )
    if isinstance(dim, (tuple, list)) and not dim:
        dim = None
    result = norm_of_elements(x, ord, dim, keepdim, dtype=dtype)
    return store_out("linalg.vector_norm", result, out, (x,))


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """The norm of matrices.

    Parameters
    ----------
    A : Tensor, floating or complex, of two dimensions or more
    ord : "fro": of all elements, as one vector; "nuc": the sum of the singular values; 2 and
        -2: the largest and the smallest of these; 1 and -1: the largest and smallest sum of the
        absolute values of a column; inf and -inf: of a row
    dim : tuple of two ints, the rows and columns of the matrices
    keepdim : bool, keep these dimensions with size 1
    dtype : the type to compute in

    >>> import tensorlab
    >>> tensorlab.linalg.matrix_norm(tensorlab.tensor([[1., -2.], [3., 4.]]), 1)
    tensor(6.)
    """
    check_matrices("linalg.matrix_norm", A)
    rows, columns = _two_dims(A, dim, "linalg.matrix_norm")
    if isinstance(ord, str):
        if ord not in ("fro", "nuc"):
            raise ShapeError(
                f"linalg.matrix_norm: ord is {ord!r}; expected 'fro', 'nuc' or a number"
            )
    elif not hasattr(ord, "__float__"):
        raise TypeError(f"linalg.matrix_norm: ord is {ord!r}; expected 'fro', 'nuc' or a number")
    elif ord not in ORDERS:
        raise ShapeError(
            f"linalg.matrix_norm: ord is {ord!r}; expected 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2"
        )
    x = A if dtype is None else _converted(A, dtype, "linalg.matrix_norm")
    if ord == "fro":
        result = norm_of_elements(x, 2, (rows, columns), keepdim)
    elif ord in ("nuc", 2, -2):
        values = svdvals(x.movedim((rows, columns), (-2, -1)))
        if ord == "nuc":
            result = values.sum(-1)
        else:
            result = _extreme(values, -1, ord > 0, A)
        if keepdim:
            result = result.unsqueeze(-1).unsqueeze(-1).movedim((-2, -1), (rows, columns))
    else:
        summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = norm_of_elements(x, 1, summed, keepdim)
        chosen -= not keepdim and summed < chosen
        result = _extreme(sums, chosen, ord > 0, A, keepdim)
    return store_out("linalg.matrix_norm", result, out, (A,))


def _extreme(values, dim, is_largest, A, keepdim=False):
    """The largest values along a dimension, 0 of none, or the smallest."""
    if values.size(dim) == 0:
        if not is_largest:
            raise DimensionError(
                f"linalg.matrix_norm: A has shape {tuple(A.shape)}, and of no value none is the smallest"
            )
        return values.sum(dim, keepdim)
    return values.amax(dim, keepdim) if is_largest else values.amin(dim, keepdim)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None, out=None):
    """The norm of a vector or of a matrix: `linalg.vector_norm` or `linalg.matrix_norm`.

    Parameters
    ----------
    A : Tensor, floating or complex
    ord : None: all elements as one vector, or along `dim`; else as for these functions
    dim : an int means vectors, two ints mean matrices; None: A itself, of one dimension or two
    keepdim : bool, keep these dimensions with size 1
    dtype : the type to compute in

    >>> import tensorlab
    >>> x = tensorlab.tensor([[1., -2.], [3., 4.]])
    >>> tensorlab.linalg.norm(x, dim=1), tensorlab.linalg.norm(x, 1)
    (tensor([2.2361, 5.0000]), tensor(6.))
    """
    check_tensors("linalg.norm", A=A)
    dims = None if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype=dtype, out=out)
    if dims is not None and len(dims) not in (1, 2):
        raise ShapeError(f"linalg.norm: dim is {dim!r}; expected one dimension or two")
    if dims is None and A.dim() not in (1, 2):
        raise ShapeError(
            f"linalg.norm: A has shape {tuple(A.shape)}; with ord={ord!r}, say by dim which one or two "
            f"dimensions are a vector or a matrix"
        )
    count = A.dim() if dims is None else len(dims)
    if count == 1:
        if isinstance(ord, str):
            raise ShapeError(
                f"linalg.norm: ord is {ord!r}, which is for matrices; expected a number, as the norm is "
                f"that of vectors, or two dimensions in dim"
            )
        return vector_norm(A, ord, dims, keepdim, dtype=dtype, out=out)
    return matrix_norm(A, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype, out=out)


def _two_dims(A, dim, where):
    if not isinstance(dim, (tuple, list)):
        raise TypeError(
            f"{where}: dim is {dim!r}; expected a tuple of two dimensions, those of the matrices"
        )
    if len(dim) != 2:
        raise ShapeError(f"{where}: dim is {dim!r}; expected two dimensions, those of the matrices")
    dims = []
    for one in dim:
        one = operator.index(one)
        if not -A.dim() <= one < A.dim():
            raise DimensionError(
                f"{where}: dimension {one} is out of range for a tensor of {A.dim()} dimensions"
            )
        dims.append(one % A.dim())
    if dims[0] == dims[1]:
        raise ShapeError(f"{where}: dim is {tuple(dim)}; expected two different dimensions")
    return dims


def _converted(A, dtype, where):
    if not (dtype.is_floating_point or dtype.is_complex) or dtype.is_complex != A.is_complex():
        raise DTypeError(
            f"{where}: dtype is {dtype} for a tensor of {A.dtype}; expected a wider type of its kind"
        )
    if dtype.itemsize < A.dtype.itemsize:
        raise DTypeError(
            f"{where}: dtype={dtype} can't hold every {A.dtype}; convert the norm instead"
        )
    return A.to(dtype)
