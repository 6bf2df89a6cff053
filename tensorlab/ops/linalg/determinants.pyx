"""Determinants, and their logarithms: the product of U's diagonal in A = P L U, with a sign for the exchanges of rows."""
from libc.math cimport fabs, hypot, log
from libc.stdint cimport int32_t

from tensorlab._core.dispatch.dispatch cimport run_1, run_5
from tensorlab._core.dispatch.levels cimport has_hidden_values, will_differentiate_again
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out, store_outs
from tensorlab._core.dtypes cimport COMPLEX128, FLOAT32, FLOAT64, INT32, complex64, complex128, inexact, real_dtype
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport plain, put_back
from tensorlab._core.tensor cimport TensorBase, give_memory, memory_of
from tensorlab.ops.linalg.matrix_batches cimport (
    batch_beside, check_square, columns_of, matrices_beside, plain_for
)
from tensorlab.ops.linalg.lu cimport LU_SOLVE, factor_into

from tensorlab import return_types
from tensorlab._core.dtypes import finfo
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.joining import cat
from tensorlab.ops.linalg.solving import solve
from tensorlab.ops.linalg.spectral import svd


# ---------------------------------------------------------------- the diagonal
cdef inexact product_of(inexact* lu, int32_t* pivots, ssize n) noexcept nogil:
    """The product of U's diagonal, with another sign for each exchange of rows."""
    cdef inexact product = 1
    cdef ssize i
    for i in range(n):
        product = product * lu[i * n + i] if pivots[i] == i + 1 else -product * lu[i * n + i]
    return product

cdef inexact sign_of(inexact* lu, int32_t* pivots, ssize n, double* log_size) noexcept nogil:
    """The product divided by its absolute value, of which the logarithm is added up; 0 if it is 0."""
    cdef inexact sign = 1, x
    cdef double size
    cdef ssize i
    log_size[0] = 0
    for i in range(n):
        x = lu[i * n + i]
        if inexact is complex64 or inexact is complex128:
            size = hypot(x.real, x.imag)
        else:
            size = fabs(x)
        log_size[0] += log(size)
        if size != 0:                                   # nan is not 0, either
            x = x / <inexact>size
        sign = sign * x if pivots[i] == i + 1 else -sign * x
    return sign

cdef void multiply_diagonals_as(inexact* lu, int32_t* pivots, ssize n, ssize count, inexact* product, void* logs,
                                bint is_wide) noexcept nogil:
    cdef double log_size
    cdef ssize i
    for i in range(count):
        if logs == NULL:
            product[i] = product_of(lu + i * n * n, pivots + i * n, n)
        else:
            product[i] = sign_of(lu + i * n * n, pivots + i * n, n, &log_size)
            if is_wide:
                (<double*>logs)[i] = log_size
            else:
                (<float*>logs)[i] = <float>log_size

cdef int multiply_diagonals(TensorBase product, TensorBase log_size, TensorBase lu, TensorBase pivots) except -1:
    """`product` is the sign if there is a tensor for the logarithms."""
    cdef TensorBase first = plain_for(product), second = None if log_size is None else plain_for(log_size)
    cdef ssize n = lu.sizes[lu.ndim_ - 1], count = first.numel_
    cdef void* out = memory_of(first)
    cdef void* logs = NULL
    if second is not None:
        logs = memory_of(second)
    lu, pivots = columns_of(lu), plain(pivots)
    cdef void* matrices = memory_of(lu)
    cdef int32_t* swaps = <int32_t*>memory_of(pivots)
    if lu.dtype_ == FLOAT64:
        multiply_diagonals_as(<double*>matrices, swaps, n, count, <double*>out, logs, True)
    elif lu.dtype_ == FLOAT32:
        multiply_diagonals_as(<float*>matrices, swaps, n, count, <float*>out, logs, False)
    elif lu.dtype_ == COMPLEX128:
        multiply_diagonals_as(<complex128*>matrices, swaps, n, count, <complex128*>out, logs, True)
    else:
        multiply_diagonals_as(<complex64*>matrices, swaps, n, count, <complex64*>out, logs, False)
    if second is not None:
        put_back(log_size, second)
    return put_back(product, first)


# ---------------------------------------------------------------- det
cdef Op DET = Op("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", differentiable=1,
                 holomorphic=False)

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
    if has_hidden_values(A):                    # moved away from being singular: no one may ask which of them are
        return cofactors_of_regular(A + (is_singular.unsqueeze(-1) * eps).to(A.dtype).expand_as(LU.diagonal(0, -2, -1))
                                    .diag_embed(), scale)
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
                     differentiable=2, holomorphic=False)

@SLOGDET.infer
def slogdet_infer(TensorBase A):
    check_square("linalg.slogdet", A)
    n = A.sizes[A.ndim_ - 1]
    return (batch_beside(A, A.dtype_), batch_beside(A, real_dtype(A.dtype_)), matrices_beside(A, n, n),
            batch_beside(A, INT32, 1, n))

@SLOGDET.kernel
def slogdet_kernel(TensorBase sign, TensorBase logabsdet, TensorBase LU, TensorBase pivots, TensorBase A):
    factor_into(LU, pivots, empty_info(A), A)
    multiply_diagonals(sign, logabsdet, LU, pivots)

@SLOGDET.derivative("A")
def slogdet_derivative(grads, A, sign, LU, pivots):
    """(grad_log + i Im(grad_sign * conj(sign))) A^-H. The sign of a real determinant has a derivative of 0."""
    grad_sign, grad_log = grads[0], grads[1]
    scale = grad_log
    if A.is_complex() and grad_sign is not None:
        turned = 1j * (grad_sign * sign.conj()).imag
        scale = turned if grad_log is None else turned + grad_log
    if scale is None:
        return A.new_zeros(A.shape)
    right = scale.to(A.dtype).unsqueeze(-1).expand_as(A.diagonal(0, -2, -1)).diag_embed()
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
