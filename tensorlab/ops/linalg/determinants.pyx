"""Determinants, and their logarithms: the product of U's diagonal in A = P L U, with a sign for the exchanges of rows."""
from libc.math cimport fabs, log
from libc.stdint cimport int32_t

from tensorlab._core.dispatch.dispatch cimport run_1, run_5
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out, store_outs
from tensorlab._core.dtypes cimport FLOAT64, INT32, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport plain, put_back
from tensorlab._core.tensor cimport TensorBase, give_memory, memory_of
from tensorlab.ops.linalg.matrix_batches cimport (
    batch_beside, check_square, columns_of, matrices_beside, plain_for
)
from tensorlab.ops.linalg.solving cimport LU_SOLVE, factor_into, will_differentiate_again

from tensorlab import return_types
from tensorlab._core.dtypes import finfo
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.joining import cat
from tensorlab.ops.linalg.solving import solve
from tensorlab.ops.linalg.spectral import svd


# ---------------------------------------------------------------- the diagonal
cdef void multiply_diagonal(real* lu, int32_t* pivots, ssize n, real* product, real* sign, real* log_size) noexcept nogil:
    """Of U's diagonal and the exchanges of rows: their product, or its sign and the logarithm of its size."""
    cdef ssize i
    cdef real all = 1, x
    cdef real logs = 0, signs = 1
    for i in range(n):
        x = lu[i * n + i]
        if pivots[i] != i + 1:
            all, signs = -all, -signs
        all = all * x
        if log_size != NULL:
            logs += <real>log(fabs(x))
            signs = signs * ((x > 0) - (x < 0)) if x == x else x
    if log_size != NULL:
        sign[0], log_size[0] = signs, logs
    else:
        product[0] = all

cdef int multiply_diagonals(TensorBase product, TensorBase log_size, TensorBase lu, TensorBase pivots) except -1:
    """`product` is the sign if there is a tensor for the logarithms."""
    cdef TensorBase first = plain_for(product), second = None if log_size is None else plain_for(log_size)
    cdef ssize n = lu.sizes[lu.ndim_ - 1], i
    cdef char* out = memory_of(first)
    cdef char* logs = NULL
    if second is not None:
        logs = memory_of(second)
    lu, pivots = columns_of(lu), plain(pivots)
    cdef char* matrices = memory_of(lu)
    cdef int32_t* swaps = <int32_t*>memory_of(pivots)
    for i in range(first.numel_):
        if lu.dtype_ == FLOAT64:
            multiply_diagonal[double](<double*>matrices + i * n * n, swaps + i * n, n, <double*>out + i, <double*>out + i,
                                      NULL if logs == NULL else <double*>logs + i)
        else:
            multiply_diagonal[float](<float*>matrices + i * n * n, swaps + i * n, n, <float*>out + i, <float*>out + i,
                                     NULL if logs == NULL else <float*>logs + i)
    if second is not None:
        put_back(log_size, second)
    return put_back(product, first)


# ---------------------------------------------------------------- det
cdef Op DET = Op("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", differentiable=1)

@DET.infer
def det_infer(TensorBase A):
    check_square("linalg.det", A)
    n = A.sizes[A.ndim_ - 1]
    return batch_beside(A, A.dtype_), matrices_beside(A, n, n), batch_beside(A, INT32, 1, n)

@DET.kernel
def det_kernel(TensorBase result, TensorBase LU, TensorBase pivots, TensorBase A):
    factor_into(LU, pivots, empty_info(A), A)
    multiply_diagonals(result, None, LU, pivots)

cdef TensorBase empty_info(TensorBase A):
    cdef TensorBase info = batch_beside(A, INT32)
    give_memory(info)
    return info

@DET.derivative("A")
def det_derivative(grads, A, result, LU, pivots):
    """grad * det * A^-H, which is the matrix of cofactors and so exists for singular matrices, too.

    For a gradient alone, zeros on U's diagonal are moved by an eps. One that is differentiated again takes the cofactors from
    the singular values where a matrix is singular (N. Higham, "What is the adjugate of a matrix?", 2020).
    """
    scale = grads[0] * result.conj()
    eps = finfo(A.dtype).eps
    if not will_differentiate_again():
        diagonal = LU.diagonal(0, -2, -1)
        LU = LU + ((diagonal == 0) * eps).to(LU.dtype).diag_embed()
        right = scale.unsqueeze(-1).expand_as(A.diagonal(0, -2, -1)).diag_embed()
        return run_5(LU_SOLVE, LU, pivots, right, True, True)
    is_singular = result.abs() < 100 * eps
    if not is_singular.any():
        return cofactors_of_regular(A, scale)
    if is_singular.all():
        return cofactors_of_singular(A, grads[0])
    flat, at = A.flatten(0, -3), is_singular.flatten()
    regular, singular = (~at).nonzero().squeeze(-1), at.nonzero().squeeze(-1)
    gradients = A.new_zeros(flat.shape)
    gradients = gradients.index_put((regular,), cofactors_of_regular(flat[regular], scale.flatten()[regular]))
    gradients = gradients.index_put((singular,), cofactors_of_singular(flat[singular], grads[0].flatten()[singular]))
    return gradients.reshape(A.shape)

def cofactors_of_regular(A, scale):
    return solve(adjoint(A), scale.unsqueeze(-1).expand_as(A.diagonal(0, -2, -1)).diag_embed())

def cofactors_of_singular(A, grad):
    """U diag(products of all singular values but one) V^H, times the sign of U and V."""
    U, S, Vh = svd(A)
    others = products_of_others(S)
    sign = det(U) * det(Vh)
    return (U * ((sign.conj() * grad).unsqueeze(-1) * others).unsqueeze(-2)) @ Vh

def products_of_others(x):
    """Along the last dimension, the product of all elements but one, for each of them."""
    n = x.size(-1)
    ones = x.new_ones(x.shape).narrow(-1, 0, min(n, 1))
    before = cat([ones, x.narrow(-1, 0, max(n - 1, 0))], -1).cumprod(-1)
    behind = cat([ones, x.flip(-1).narrow(-1, 0, max(n - 1, 0))], -1).cumprod(-1).flip(-1)
    return before * behind


def det(TensorBase A not None, *, out=None):
    """The determinant of each square matrix.

    Parameters
    ----------
    A : Tensor, shape (*, n, n)

    Returns
    -------
    Tensor, shape (*). Of large matrices it is soon 0 or inf; `linalg.slogdet` returns its logarithm

    >>> import tensorlab
    >>> tensorlab.linalg.det(tensorlab.tensor([[0., 2.], [1., 0.]]))
    tensor(-2.)
    """
    return store_out("linalg.det", run_1(DET, A)[0], out, (A,))


# ---------------------------------------------------------------- slogdet
cdef Op SLOGDET = Op("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
                     differentiable=2)

@SLOGDET.infer
def slogdet_infer(TensorBase A):
    check_square("linalg.slogdet", A)
    n = A.sizes[A.ndim_ - 1]
    return (batch_beside(A, A.dtype_), batch_beside(A, A.dtype_), matrices_beside(A, n, n),
            batch_beside(A, INT32, 1, n))

@SLOGDET.kernel
def slogdet_kernel(TensorBase sign, TensorBase logabsdet, TensorBase LU, TensorBase pivots, TensorBase A):
    factor_into(LU, pivots, empty_info(A), A)
    multiply_diagonals(sign, logabsdet, LU, pivots)

@SLOGDET.derivative("A")
def slogdet_derivative(grads, A, LU, pivots):
    """grad * A^-H. The sign has a derivative of 0."""
    if grads[1] is None:
        return A.new_zeros(A.shape)
    right = grads[1].unsqueeze(-1).expand_as(A.diagonal(0, -2, -1)).diag_embed()
    if will_differentiate_again():
        return solve(adjoint(A), right)
    return run_5(LU_SOLVE, LU, pivots, right, True, True)


def slogdet(TensorBase A not None, *, out=None):
    """The sign of the determinant of each square matrix, and the natural logarithm of its absolute value.

    Parameters
    ----------
    A : Tensor, shape (*, n, n)

    Returns
    -------
    (sign, logabsdet), of shape (*); 0 and -inf for a singular matrix

    >>> import tensorlab
    >>> tensorlab.linalg.slogdet(-tensorlab.eye(3))
    tensorlab.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    results = run_1(SLOGDET, A)[:2]
    if out is not None:
        results = store_outs("linalg.slogdet", results, out, (A,))
    return return_types.linalg_slogdet(results)
