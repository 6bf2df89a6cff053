"""The factorisation of symmetric matrices that need not be positive definite: A = L D L^H with exchanges of rows.

D has blocks of 1 x 1 and 2 x 2 on its diagonal (J. Bunch and L. Kaufman, 1977). It comes in LAPACK's compact form.
"""
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

from tensorlab._core.dispatch.dispatch cimport run_3, run_4
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_outs, store_out
from tensorlab._core.dtypes cimport INT32
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.iterator cimport copy_into, plain, put_back
from tensorlab._core.tensor cimport TensorBase, memory_of
from tensorlab.ops.linalg.lapack_library cimport HETRF, HETRS, SYTRF, SYTRS, getrs_function, lapack, sytrf_function
from tensorlab.ops.linalg.matrix_batches cimport (
    Job, add_matrices, batch_beside, batch_shape, check_alike, check_matrix, check_square, columns_for, columns_of,
    columns_result, expanded, first_failure, matrices_beside, matrix_at, plain_for, run_job, start_job
)

from tensorlab import return_types
from tensorlab.errors import DTypeError, GradientError, LinAlgError, ShapeError

cdef enum:
    PANEL = 64


# ---------------------------------------------------------------- ldl_factor
cdef void factor_matrices(void* context, ssize begin, ssize end) noexcept nogil:
    """L D L^T of each, in place. Tensors: A, pivots, info; k: the row of LAPACK's table."""
    cdef Job* job = <Job*>context
    cdef sytrf_function sytrf = <sytrf_function>lapack[job.k][job.column]
    cdef int ld = max(1, job.n), lwork = max(1, job.n) * PANEL
    cdef char triangle = b"L"
    cdef void* work = malloc(<ssize>lwork * job.size)
    cdef ssize i
    if work == NULL:
        job.out_of_memory = True
        return
    for i in range(begin, end):
        sytrf(&triangle, &job.n, matrix_at(job, 0, i), &ld, <int*>matrix_at(job, 1, i), work, &lwork,
              <int*>matrix_at(job, 2, i))
    free(work)


cdef Op LDL_FACTOR_EX = Op("linalg_ldl_factor_ex(Tensor x, *, bool hermitian=False, bool check_errors=False) "
                           "-> (Tensor LD, Tensor pivots, Tensor info)", differentiable=1, checks_values=True)

@LDL_FACTOR_EX.infer
def ldl_factor_ex_infer(TensorBase x, hermitian, check_errors):
    cdef ssize n
    check_square("linalg.ldl_factor", x)
    n = x.sizes[x.ndim_ - 1]
    return matrices_beside(x, n, n), batch_beside(x, INT32, 1, n), batch_beside(x, INT32)

@LDL_FACTOR_EX.kernel
def ldl_factor_ex_kernel(TensorBase LD, TensorBase pivots, TensorBase info, TensorBase x, bint hermitian, bint check_errors):
    """LAPACK leaves the upper triangle alone; it becomes zeros."""
    cdef TensorBase target = columns_for(LD), plain_pivots = plain_for(pivots), plain_info = plain_for(info)
    cdef Job job
    copy_into(target, x.tril())
    start_job(&job, target)
    add_matrices(&job, plain_pivots, 1)
    add_matrices(&job, plain_info, 0)
    job.k = HETRF if hermitian else SYTRF
    run_job(factor_matrices, &job, <ssize>job.n * job.n * job.n // 3)
    put_back(LD, target)
    put_back(pivots, plain_pivots)
    put_back(info, plain_info)
    if check_errors:
        failure = first_failure(info)
        if failure is not None:
            raise LinAlgError(f"linalg.ldl_factor: {failure[0]} is singular: block {failure[1]} of D, counted from 1, is 0")

@LDL_FACTOR_EX.derivative("x")
def ldl_factor_ex_derivative(grads):
    raise GradientError("linalg.ldl_factor: the factorisation has no derivative here, as in PyTorch; linalg.solve has one")


def ldl_factor_ex(TensorBase A not None, *, bint hermitian=False, bint check_errors=False, out=None):
    """`linalg.ldl_factor` that says in `info` of each matrix whether it is singular.

    Returns
    -------
    (LD, pivots, info): info is int32, 0 or which block of D, counted from 1, is 0

    >>> import tensorlab
    >>> tensorlab.linalg.ldl_factor_ex(tensorlab.zeros(2, 2)).info
    tensor(1, dtype=tensorlab.int32)
    """
    results = run_3(LDL_FACTOR_EX, A, hermitian, check_errors)
    if out is not None:
        results = store_outs("linalg.ldl_factor_ex", results, out, (A,))
    return return_types.linalg_ldl_factor_ex(results)


def ldl_factor(TensorBase A not None, *, bint hermitian=False, out=None):
    """The factorisation A = L D L^T of symmetric matrices in compact form, as `linalg.ldl_solve` takes it.

    Parameters
    ----------
    A : Tensor, shape (*, n, n); only its lower triangle is read
    hermitian : bool, whether complex matrices are Hermitian instead of symmetric

    Returns
    -------
    (LD, pivots): L and D in one tensor of A's shape, and int32 of shape (*, n), as LAPACK's sytrf returns them

    Raises
    ------
    LinAlgError
        If a matrix is singular.

    >>> import tensorlab
    >>> tensorlab.linalg.ldl_factor(tensorlab.tensor([[2., 1.], [1., 0.]])).LD
    tensor([[ 2.0000,  0.0000],
            [ 0.5000, -0.5000]])
    """
    results = run_3(LDL_FACTOR_EX, A, hermitian, True)[:2]
    if out is not None:
        results = store_outs("linalg.ldl_factor", results, out, (A,))
    return return_types.linalg_ldl_factor(results)


# ---------------------------------------------------------------- ldl_solve
cdef void solve_matrices(void* context, ssize begin, ssize end) noexcept nogil:
    """Solve with such a factorisation, in place. Tensors: LD, pivots, B; m: the row of LAPACK's table."""
    cdef Job* job = <Job*>context
    cdef getrs_function sytrs = <getrs_function>lapack[job.m][job.column]     # its first argument is a triangle
    cdef int ld = max(1, job.n), info
    cdef char triangle = b"L"
    cdef ssize i
    for i in range(begin, end):
        sytrs(&triangle, &job.n, &job.k, matrix_at(job, 0, i), &ld, <int*>matrix_at(job, 1, i), matrix_at(job, 2, i), &ld,
              &info)


cdef int check_pivots(TensorBase pivots, ssize rows) except -1:
    """Raise if a pivot isn't a row, or for a block of 2 x 2 minus a row: LAPACK would read elsewhere."""
    cdef ssize i
    cdef int32_t* swaps
    pivots = plain(pivots)
    swaps = <int32_t*>memory_of(pivots)
    for i in range(pivots.numel_):
        if swaps[i] == 0 or not -rows <= swaps[i] <= rows:
            raise ShapeError(f"linalg.ldl_solve: a pivot is {swaps[i]}; expected 1 to {rows}, or minus that, as "
                             f"linalg.ldl_factor returns them")
    return 0


cdef Op LDL_SOLVE = Op("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
                       checks_values=True, holomorphic=False)

@LDL_SOLVE.infer
def ldl_solve_infer(TensorBase LD, TensorBase pivots, TensorBase B, hermitian):
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim
    check_square("linalg.ldl_solve", LD, "LD")
    check_matrix("linalg.ldl_solve", B, "B")
    check_alike("linalg.ldl_solve", LD, B, "LD", "B")
    if B.sizes[B.ndim_ - 2] != LD.sizes[LD.ndim_ - 1]:
        raise ShapeError(f"linalg.ldl_solve: LD is of order {LD.sizes[LD.ndim_ - 1]} and B has {B.sizes[B.ndim_ - 2]} rows; "
                         f"expected as many")
    if pivots.dtype_ != INT32:
        raise DTypeError(f"linalg.ldl_solve: pivots is of {pivots.dtype}; expected int32, as linalg.ldl_factor returns it")
    if tuple(pivots.shape) != tuple(LD.shape[:LD.ndim_ - 1]):
        raise ShapeError(f"linalg.ldl_solve: pivots has shape {tuple(pivots.shape)} and LD {tuple(LD.shape)}; expected one "
                         f"dimension less")
    ndim = batch_shape("linalg.ldl_solve", LD, 2, B, 2, sizes)
    sizes[ndim], sizes[ndim + 1] = B.sizes[B.ndim_ - 2], B.sizes[B.ndim_ - 1]
    return columns_result(B, B.dtype_, ndim + 2, sizes)

@LDL_SOLVE.kernel
def ldl_solve_kernel(TensorBase out, TensorBase LD, TensorBase pivots, TensorBase B, bint hermitian):
    cdef TensorBase target = columns_for(out)
    cdef int ndim = out.ndim_ - 2
    cdef Job job
    check_pivots(pivots, LD.sizes[LD.ndim_ - 1])
    copy_into(target, expanded(B, 2, ndim, out.sizes))
    LD = columns_of(expanded(LD, 2, ndim, out.sizes))
    pivots = plain(expanded(pivots, 1, ndim, out.sizes))
    start_job(&job, LD)
    add_matrices(&job, pivots, 1)
    add_matrices(&job, target)
    job.k, job.m = <int>out.sizes[ndim + 1], HETRS if hermitian else SYTRS
    run_job(solve_matrices, &job, <ssize>job.n * job.n * job.k)
    put_back(out, target)

@LDL_SOLVE.derivative("LD")
def ldl_solve_derivative_factors(grad):
    raise GradientError("linalg.ldl_solve: there is no derivative by the factorisation; detach() it, or call linalg.solve, which "
                        "has one by the matrix")

@LDL_SOLVE.derivative("B")
def ldl_solve_derivative(grad, LD, pivots, hermitian):
    if hermitian:
        return run_4(LDL_SOLVE, LD, pivots, grad, hermitian)
    return run_4(LDL_SOLVE, LD, pivots, grad.conj(), hermitian).conj()


def ldl_solve(TensorBase LD not None, TensorBase pivots not None, TensorBase B not None, *, bint hermitian=False, out=None):
    """Solve A X = B with the factorisation of A that `linalg.ldl_factor` returns.

    Parameters
    ----------
    LD, pivots : Tensor, shapes (*, n, n) and (*, n)
    B : Tensor, shape (*, n, k); the batches broadcast
    hermitian : bool, as it was given to `ldl_factor`

    >>> import tensorlab
    >>> factors = tensorlab.linalg.ldl_factor(tensorlab.tensor([[2., 1.], [1., 0.]]))
    >>> tensorlab.linalg.ldl_solve(*factors, tensorlab.tensor([[3.], [1.]]))
    tensor([[1.],
            [1.]])
    """
    return store_out("linalg.ldl_solve", run_4(LDL_SOLVE, LD, pivots, B, hermitian), out, (LD, pivots, B))
