"""The Cholesky factorisation of positive definite matrices, A = L L^H, and what is solved with it.

L is lower triangular; the other half of A isn't read. It takes half the work of LU, and it fails exactly if a matrix isn't
positive definite, which makes it a test for that.
"""
from libc.math cimport isfinite
from libc.string cimport memset

from tensorlab._core.dispatch.autocast cimport in_float32
from tensorlab._core.dispatch.dispatch cimport run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out, store_outs
from tensorlab._core.dtypes cimport INT32
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.iterator cimport copy_into, put_back
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.linalg.lapack_library cimport POTRF, POTRS, lapack, potrf_function, potrs_function
from tensorlab.ops.linalg.matrix_batches cimport (
    Job, add_matrices, batch_beside, batch_shape, check_alike, check_matrix, check_square, columns_for, columns_of,
    columns_result, expanded, first_failure, matrices_beside, matrix_at, plain_for, real_size, run_job, start_job
)
from tensorlab.ops.linalg.small_matrices cimport cholesky_lanes, in_lanes

from tensorlab import return_types
from tensorlab.errors import LinAlgError, ShapeError
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.linalg.triangular import solve_triangular


# ---------------------------------------------------------------- cholesky
cdef void factor_matrices(void* context, ssize begin, ssize end) noexcept nogil:
    """Cholesky of each, in place, and zeros beyond its triangle. Tensors: A, info; flag: the triangle."""
    in_lanes(cholesky_lanes, factor_by_lapack, <Job*>context, begin, end)

cdef void factor_by_lapack(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    cdef potrf_function potrf = <potrf_function>lapack[POTRF][job.column]
    cdef int ld = max(1, job.n)
    cdef bint upper = job.flags[0] == b"U"
    cdef char* matrix
    cdef int* info
    cdef ssize i, column
    for i in range(begin, end):
        matrix = matrix_at(job, 0, i)
        info = <int*>matrix_at(job, 1, i)
        potrf(&job.flags[0], &job.n, matrix, &ld, info)
        for column in range(job.n if info[0] == 0 else 0):      # some LAPACKs let nan and infinities pass
            if not is_finite(job, matrix + column * (ld + 1) * job.size):
                info[0] = <int>column + 1
                break
        for column in range(job.n):
            if upper:
                memset(matrix + (column * ld + column + 1) * job.size, 0, (job.n - column - 1) * job.size)
            else:
                memset(matrix + column * ld * job.size, 0, column * job.size)


cdef bint is_finite(Job* job, char* element) noexcept nogil:
    """Of a number on the diagonal, which is real."""
    return isfinite((<float*>element)[0] if real_size(job) == 4 else (<double*>element)[0])


cdef Op CHOLESKY_EX = Op("linalg_cholesky_ex(Tensor x, *, bool upper=False, bool check_errors=False) "
                         "-> (Tensor L, Tensor info)", differentiable=1, checks_values=True, holomorphic=False)

@CHOLESKY_EX.infer
def cholesky_ex_infer(TensorBase x, upper, check_errors):
    check_square("linalg.cholesky", x)
    return matrices_beside(x, x.sizes[x.ndim_ - 1], x.sizes[x.ndim_ - 1]), batch_beside(x, INT32)

@CHOLESKY_EX.kernel
def cholesky_ex_kernel(TensorBase L, TensorBase info, TensorBase x, bint upper, bint check_errors):
    cdef TensorBase target = columns_for(L), plain_info = plain_for(info)
    cdef ssize n = x.sizes[x.ndim_ - 1]
    cdef Job job
    copy_into(target, x)
    start_job(&job, target)
    add_matrices(&job, plain_info, 0)
    job.flags[0] = b"U" if upper else b"L"
    run_job(factor_matrices, &job, n * n * n // 3)
    put_back(L, target)
    put_back(info, plain_info)
    if check_errors:
        failure = first_failure(info)
        if failure is not None:
            raise LinAlgError(
                f"linalg.cholesky: {failure[0]} is not positive definite: its leading part of order {failure[1]} isn't. "
                f"Look at linalg.eigvalsh; adding a small multiple of tensorlab.eye helps where rounding is to blame")

@CHOLESKY_EX.derivative("x")
def cholesky_ex_derivative(grads, L, upper):
    """L^-H mirrored(L^H grad) L^-1 / 2.

    Source: I. Murray, "Differentiation of the Cholesky decomposition", 2016.
    """
    grad = grads[0]
    if upper:
        L, grad = adjoint(L), adjoint(grad)
    inner = 0.5 * mirrored(adjoint(L) @ grad)
    inner = solve_triangular(adjoint(L), inner, upper=True)
    return solve_triangular(L, inner, upper=False, left=False)

def mirrored(x):
    """The Hermitian matrices with x's lower triangle and the real part of its diagonal."""
    below = x.tril(-1)
    diagonal = x.diagonal(0, -2, -1)
    if x.is_complex():
        diagonal = diagonal.real
    return below + adjoint(below) + diagonal.diag_embed()


def cholesky_ex(TensorBase A not None, *, bint upper=False, bint check_errors=False, out=None):
    """`linalg.cholesky` that says in `info` of each matrix whether it is positive definite.

    Returns
    -------
    (L, info): info is int32, 0 or the order of the first leading part of the matrix that isn't positive definite

    >>> import tensorlab
    >>> tensorlab.linalg.cholesky_ex(tensorlab.tensor([[1., 2.], [2., 1.]])).info
    tensor(2, dtype=tensorlab.int32)
    """
    results = run_3(CHOLESKY_EX, A, upper, check_errors)
    if out is not None:
        results = store_outs("linalg.cholesky_ex", results, out, (A,))
    return return_types.linalg_cholesky_ex(results)


def cholesky(TensorBase A not None, *, bint upper=False, out=None):
    """The Cholesky factor L of positive definite matrices, A = L @ L.mH.

    Parameters
    ----------
    A : Tensor, shape (*, n, n), symmetric; only one triangle of it is read
    upper : bool, return the upper factor, A = U.mH @ U

    Raises
    ------
    LinAlgError
        If a matrix isn't positive definite.

    >>> import tensorlab
    >>> tensorlab.linalg.cholesky(tensorlab.tensor([[4., 2.], [2., 5.]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return store_out("linalg.cholesky", run_3(CHOLESKY_EX, A, upper, True)[0], out, (A,))


# ---------------------------------------------------------------- cholesky_solve
cdef void solve_matrices(void* context, ssize begin, ssize end) noexcept nogil:
    """Solve with a Cholesky factor, in place. Tensors: L, B; flag: the triangle."""
    cdef Job* job = <Job*>context
    cdef potrs_function potrs = <potrs_function>lapack[POTRS][job.column]
    cdef int ld = max(1, job.n), info
    cdef ssize i
    for i in range(begin, end):
        potrs(&job.flags[0], &job.n, &job.k, matrix_at(job, 0, i), &ld, matrix_at(job, 1, i), &ld, &info)


cdef Op CHOLESKY_SOLVE = Op("cholesky_solve(Tensor x, Tensor L, bool upper=False) -> Tensor", public={"L": "input2"},
                            holomorphic=False)

@CHOLESKY_SOLVE.infer
def cholesky_solve_infer(TensorBase x, TensorBase L, upper):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim
    check_matrix("cholesky_solve", x, "input")
    check_square("cholesky_solve", L, "L")
    check_alike("cholesky_solve", x, L, "input", "L")
    if x.sizes[x.ndim_ - 2] != L.sizes[L.ndim_ - 1]:
        raise ShapeError(f"cholesky_solve: input has {x.sizes[x.ndim_ - 2]} rows, and L is of order "
                         f"{L.sizes[L.ndim_ - 1]}; expected as many")
    ndim = batch_shape("cholesky_solve", x, 2, L, 2, sizes)
    sizes[ndim], sizes[ndim + 1] = x.sizes[x.ndim_ - 2], x.sizes[x.ndim_ - 1]
    return columns_result(x, x.dtype_, ndim + 2, sizes)

@CHOLESKY_SOLVE.kernel
def cholesky_solve_kernel(TensorBase out, TensorBase x, TensorBase L, bint upper):
    cdef TensorBase target = columns_for(out)
    cdef int ndim = out.ndim_ - 2
    cdef Job job
    copy_into(target, expanded(x, 2, ndim, out.sizes))
    L = columns_of(expanded(L, 2, ndim, out.sizes))
    start_job(&job, L)
    add_matrices(&job, target)
    job.k = <int>out.sizes[ndim + 1]
    job.flags[0] = b"U" if upper else b"L"
    run_job(solve_matrices, &job, <ssize>job.n * job.n * job.k)
    put_back(out, target)

@CHOLESKY_SOLVE.derivative("x", "L")
def cholesky_solve_derivative(grad, L, out, upper, wanted):
    """With S = grad_x out^H + its adjoint, a lower L gets -S L and an upper one -L S."""
    grad_x = run_3(CHOLESKY_SOLVE, grad, L, upper)
    grad_L = None
    if wanted[1]:
        inner = grad_x @ adjoint(out)
        inner = inner + adjoint(inner)
        grad_L = -(L @ inner) if upper else -(inner @ L)
    return grad_x, grad_L


def cholesky_solve(TensorBase input not None, TensorBase L not None, bint upper=False, *, out=None):
    """Solve A X = B with the Cholesky factor of A.

    Parameters
    ----------
    input : Tensor, shape (*, n, k), the right-hand sides B
    L : Tensor, shape (*, n, n), the factor; the batches broadcast
    upper : bool, whether it is the upper factor

    >>> import tensorlab
    >>> L = tensorlab.tensor([[2., 0.], [1., 2.]])
    >>> tensorlab.cholesky_solve(tensorlab.tensor([[4.], [7.]]), L)
    tensor([[0.3750],
            [1.2500]])
    """
    return store_out("cholesky_solve", run_3(CHOLESKY_SOLVE, input, L, upper), out, (input, L))


def cholesky_inverse(TensorBase L not None, bint upper=False, *, out=None):
    """The inverse of a positive definite matrix of which `L` is the Cholesky factor.

    Parameters
    ----------
    L : Tensor, shape (*, n, n)
    upper : bool, whether it is the upper factor

    >>> import tensorlab
    >>> tensorlab.cholesky_inverse(tensorlab.tensor([[2., 0.], [0., 1.]]))
    tensor([[0.2500, 0.0000],
            [0.0000, 1.0000]])
    """
    (L,) = in_float32((L,))
    check_square("cholesky_inverse", L, "L")
    identity = L.detach().new_zeros(L.shape)
    identity.diagonal(0, -2, -1).fill_(1)
    return store_out("cholesky_inverse", run_3(CHOLESKY_SOLVE, identity, L, upper), out, (L,))
