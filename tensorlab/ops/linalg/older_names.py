"""Linear algebra under the names and with the arguments that came before tensorlab.linalg."""

import math

from tensorlab import return_types
from tensorlab._core.device import contiguous_format
from tensorlab._core.dispatch.autocast import in_float32
from tensorlab._core.dispatch.levels import without_boxes
from tensorlab._core.dispatch.numpy_aliases import accepts_numpy_names
from tensorlab._core.dispatch.out_argument import store_outs
from tensorlab.errors import LinAlgError, ShapeError
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.linalg import (
    determinants,
    matrix_exponential,
    matrix_functions,
    matrix_norms,
    orthogonal,
    spectral,
    triangular,
)
from tensorlab.ops.linalg.checks import check_matrices, check_square_matrices, check_tensors
from tensorlab.ops.linalg.cholesky import cholesky as factor
from tensorlab.ops.linalg.lu import lu_factor_ex
from tensorlab.ops.linalg.lu import lu_solve as solve_factored
from tensorlab.ops.meshgrid import broadcast_shapes


# ------------------------------------------------------------------------------ determinants
def det(input):
    """The determinant of each square matrix: `linalg.det`.

    >>> import tensorlab
    >>> tensorlab.det(tensorlab.tensor([[0., 2.], [1., 0.]]))
    tensor(-2.)
    """
    return determinants.det(input)


def slogdet(input, *, out=None):
    """The sign of the determinant of each matrix, and the logarithm of its absolute value: `linalg.slogdet`.

    >>> import tensorlab
    >>> tensorlab.slogdet(-tensorlab.eye(3)).sign
    tensor(-1.)
    """
    return return_types.slogdet(determinants.slogdet(input, out=out))


def logdet(input):
    """The natural logarithm of the determinant of each matrix: nan if that is below 0, -inf if it is 0.

    Parameters
    ----------
    input : Tensor, shape (*, n, n)

    >>> import tensorlab
    >>> tensorlab.logdet(tensorlab.eye(3))
    tensor(0.)
    """
    check_square_matrices("logdet", input, "input")
    sign, logabsdet = determinants.slogdet(input)
    if input.is_complex():
        return logabsdet + sign.log()
    return logabsdet.masked_fill(sign == -1, math.nan)


# ------------------------------------------------------------------------------ powers
def matrix_power(input, n, *, out=None):
    """The product of n factors `input`: `linalg.matrix_power`.

    >>> import tensorlab
    >>> tensorlab.matrix_power(tensorlab.tensor([[1., 1.], [0., 1.]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    return matrix_functions.matrix_power(input, n, out=out)


def matrix_exp(input):
    """The exponential of matrices: `linalg.matrix_exp`.

    >>> import tensorlab
    >>> tensorlab.matrix_exp(tensorlab.tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return matrix_exponential.matrix_exp(input)


# ------------------------------------------------------------------------------ systems
def lu(A, pivot=True, get_infos=False, out=None):
    """The LU factorisation in compact form: `linalg.lu_factor_ex`, without raising.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    pivot : bool; only True is offered
    get_infos : bool, also return which matrices are singular

    Returns
    -------
    (LU, pivots), or (LU, pivots, infos)

    >>> import tensorlab
    >>> LU, pivots = tensorlab.lu(tensorlab.tensor([[1., 2.], [2., 2.]]))
    >>> pivots
    tensor([2, 2], dtype=tensorlab.int32)
    """
    LU, pivots, infos = lu_factor_ex(A, pivot=pivot)
    if not get_infos and without_boxes(infos).any().item():
        raise LinAlgError(
            "lu: a matrix is singular; get_infos=True returns its factors all the same, and says which it is"
        )
    results = (LU, pivots, infos) if get_infos else (LU, pivots)
    return results if out is None else store_outs("lu", results, out, (A,))


def lu_solve(b, LU_data, LU_pivots, *, out=None):
    """Solve A X = b with an LU factorisation of A: `linalg.lu_solve`, which has another order of arguments.

    Parameters
    ----------
    b : Tensor, shape (*, n, k)
    LU_data, LU_pivots : Tensor, of `linalg.lu_factor`

    >>> import tensorlab
    >>> factors = tensorlab.linalg.lu_factor(tensorlab.tensor([[0., 2.], [1., 0.]]))
    >>> tensorlab.lu_solve(tensorlab.tensor([[2.], [3.]]), *factors)
    tensor([[3.],
            [1.]])
    """
    return solve_factored(LU_data, LU_pivots, b, out=out)


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False, *, out=None):
    """Solve A X = b where A is triangular: `linalg.solve_triangular`.

    Parameters
    ----------
    b : Tensor, shape (*, n, k)
    A : Tensor, shape (*, n, n); the batches broadcast
    upper : bool, which triangle of A counts
    transpose : bool, whether A's transpose stands for A
    unitriangular : bool, whether A's diagonal counts as ones

    Returns
    -------
    (solution, cloned_coefficient), the second a copy of A

    >>> import tensorlab
    >>> A = tensorlab.tensor([[1., 1.], [0., 2.]])
    >>> tensorlab.triangular_solve(tensorlab.tensor([[3.], [4.]]), A).solution
    tensor([[1.],
            [2.]])
    """
    b, A = in_float32((b, A))
    check_matrices("triangular_solve", b, "b")
    check_square_matrices("triangular_solve", A)
    if b.size(-2) != A.size(-1):
        raise ShapeError(
            f"triangular_solve: b has {b.size(-2)} rows, and A is of order {A.size(-1)}; expected as many"
        )
    batch = broadcast_shapes(A.shape[:-2], b.shape[:-2])
    coefficient = A.expand(*batch, *A.shape[-2:]).transpose(-2, -1)
    coefficient = coefficient.clone(memory_format=contiguous_format).transpose(-2, -1)
    matrix = coefficient.transpose(-2, -1) if transpose else coefficient
    solution = triangular.solve_triangular(
        matrix, b, upper=bool(upper) != bool(transpose), unitriangular=unitriangular
    )
    results = (solution, coefficient)
    if out is not None:
        results = store_outs("triangular_solve", results, out, (b, A))
    return return_types.triangular_solve(results)


# ------------------------------------------------------------------------------ factorisations
def cholesky(input, upper=False, *, out=None):
    """The Cholesky factor of positive definite matrices: `linalg.cholesky`.

    >>> import tensorlab
    >>> tensorlab.cholesky(tensorlab.tensor([[4., 2.], [2., 5.]]), upper=True)
    tensor([[2., 1.],
            [0., 2.]])
    """
    return factor(input, upper=upper, out=out)


def qr(input, some=True, *, out=None):
    """The QR factorisation of matrices: `linalg.qr`, "complete" with some=False.

    >>> import tensorlab
    >>> tensorlab.qr(tensorlab.tensor([[3.], [4.]])).R
    tensor([[-5.]])
    """
    return return_types.qr(orthogonal.qr(input, "reduced" if some else "complete", out=out))


def svd(input, some=True, compute_uv=True, *, out=None):
    """The singular value decomposition, A = U @ diag(S) @ V.mH: `linalg.svd`, with V where that has V^H.

    Parameters
    ----------
    input : Tensor, shape (*, m, n)
    some : bool, whether U and V have only the columns that belong to singular values
    compute_uv : bool; without, U and V are zeros, of all columns

    >>> import tensorlab
    >>> tensorlab.svd(tensorlab.tensor([[3., 0.], [0., 4.]])).S
    tensor([4., 3.])
    """
    if compute_uv:
        U, S, Vh = spectral.svd(input, not some)
        results = (U, S, adjoint(Vh))
    else:
        S = spectral.svdvals(input)
        batch, (m, n) = input.shape[:-2], input.shape[-2:]
        results = (input.new_zeros((*batch, m, m)), S, input.new_zeros((*batch, n, n)))
    if out is not None:
        results = store_outs("svd", results, out, (input,))
    return return_types.svd(results)


# ------------------------------------------------------------------------------ norms
@accepts_numpy_names
def frobenius_norm(input, dim, keepdim=False, *, out=None):
    """The Frobenius norm along one or two dimensions: `norm` with p=2.

    >>> import tensorlab
    >>> tensorlab.frobenius_norm(tensorlab.tensor([[3., 0.], [0., 4.]]), (0, 1))
    tensor(5.)
    """
    check_tensors("frobenius_norm", input=input)
    return matrix_norms.vector_norm(input, 2, dim, keepdim, out=out)


@accepts_numpy_names
def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None):
    """The sum of the singular values of matrices: `linalg.matrix_norm` with ord="nuc".

    >>> import tensorlab
    >>> tensorlab.nuclear_norm(tensorlab.tensor([[3., 0.], [0., 4.]]))
    tensor(7.)
    """
    return matrix_norms.matrix_norm(input, "nuc", dim, keepdim, out=out)


# ------------------------------------------------------------------------------ removed
def _removed(name, advice):
    def refuse(*args, **kwargs):
        raise RuntimeError(f"{name}: PyTorch removed this function after version 1.9; {advice}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Removed from PyTorch: {advice}."
    return refuse


eig = _removed("eig", "call linalg.eig or linalg.eigvals")
symeig = _removed("symeig", "call linalg.eigh or linalg.eigvalsh")
solve = _removed("solve", "call linalg.solve(A, B), which takes the arguments in the other order")
lstsq = _removed("lstsq", "call linalg.lstsq(A, B), which takes the arguments in the other order")
matrix_rank = _removed("matrix_rank", "call linalg.matrix_rank")
