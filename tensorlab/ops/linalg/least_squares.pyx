"""Least squares: X that makes ||A X - B|| smallest, by LAPACK's four drivers."""
from libc.stdlib cimport free, malloc

from tensorlab._core.dispatch.autocast cimport in_float32
from tensorlab._core.dispatch.dispatch cimport run_4
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport same_numbers
from tensorlab._core.dispatch.out_argument cimport store_outs
from tensorlab._core.dtypes cimport INT32, real_dtype
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.tensor cimport TensorBase, empty_beside
from tensorlab.ops.linalg.lapack_library cimport (
    C, GELS, GELSD, GELSS, GELSY, complex_gelsd_function, complex_gelss_function, complex_gelsy_function,
    gels_function, gelsd_function, gelss_function, gelsy_function, lapack
)
from tensorlab.ops.linalg.matrix_batches cimport (
    Job, add_matrices, batch_beside, check_alike, check_matrix, columns_copy, columns_result,
    first_failure, matrix_at, real_size, run_job, start_job, work_size
)

from tensorlab import return_types
from tensorlab._core.dtypes import finfo
from tensorlab._core.dispatch.levels import without_boxes
from tensorlab.errors import LinAlgError, ShapeError
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.linalg.pseudo_inverse import pinv, pinv_derivative
from tensorlab.ops.meshgrid import broadcast_shapes

DRIVERS = {"gels": GELS, "gelsy": GELSY, "gelsd": GELSD, "gelss": GELSS}


cdef struct Workspace:
    void* work
    void* rwork
    int* iwork
    int lwork


cdef void fit_one(Job* job, ssize i, Workspace* space, int* info) noexcept nogil:
    """Tensors: A, B with max(m, n) rows, rank, singular values, info; m and n of A, k columns of B; flag: the driver."""
    cdef int m = job.m, n = job.n, k = job.k, lda = max(1, m), ldb = max(1, max(m, n)), j
    cdef char plain = b"N"
    cdef double limit_64 = job.number
    cdef float limit_32 = <float>job.number
    cdef void* limit = <void*>&limit_32 if real_size(job) == 4 else <void*>&limit_64
    cdef void* a = matrix_at(job, 0, i)
    cdef void* b = matrix_at(job, 1, i)
    cdef int* rank = <int*>matrix_at(job, 2, i)
    cdef void* s = matrix_at(job, 3, i)
    cdef int driver = job.flags[0]
    cdef void* function = lapack[driver][job.column]
    if driver == GELS:
        (<gels_function>function)(&plain, &m, &n, &k, a, &lda, b, &ldb, space.work, &space.lwork, info)
    elif driver == GELSY:
        for j in range(n):
            space.iwork[j] = 0
        if job.column < C:
            (<gelsy_function>function)(&m, &n, &k, a, &lda, b, &ldb, space.iwork, limit, rank, space.work, &space.lwork,
                                       info)
        else:
            (<complex_gelsy_function>function)(&m, &n, &k, a, &lda, b, &ldb, space.iwork, limit, rank, space.work,
                                               &space.lwork, space.rwork, info)
    elif driver == GELSD:
        if job.column < C:
            (<gelsd_function>function)(&m, &n, &k, a, &lda, b, &ldb, s, limit, rank, space.work, &space.lwork, space.iwork,
                                       info)
        else:
            (<complex_gelsd_function>function)(&m, &n, &k, a, &lda, b, &ldb, s, limit, rank, space.work, &space.lwork,
                                               space.rwork, space.iwork, info)
    elif job.column < C:
        (<gelss_function>function)(&m, &n, &k, a, &lda, b, &ldb, s, limit, rank, space.work, &space.lwork, info)
    else:
        (<complex_gelss_function>function)(&m, &n, &k, a, &lda, b, &ldb, s, limit, rank, space.work, &space.lwork,
                                           space.rwork, info)


cdef void fit_matrices(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    cdef Workspace space
    cdef double[4] asked
    cdef int info
    cdef ssize least = max(1, min(job.m, job.n)), i
    # gelsd wants min(m, n) * (11 + 3 * levels) integers, and 10 + 59 * levels times it plus 3 * 25 * k reals of complex ones
    space.iwork = <int*>malloc((least * (11 + 3 * 32) + job.n + 1) * sizeof(int))
    space.rwork = malloc((least * (10 + 2 * 25 + 8 * 32) + 78 * <ssize>(job.k + 1) + 26 * 26 + 2 * job.n + 1) * 8)
    space.work = <void*>asked
    space.lwork = -1
    if space.iwork != NULL and space.rwork != NULL:
        fit_one(job, begin, &space, &info)
        space.lwork = work_size(job, space.work)
        space.work = malloc(<ssize>space.lwork * job.size)
    if space.iwork == NULL or space.rwork == NULL or space.work == NULL:
        job.out_of_memory = True
        end = begin
    for i in range(begin, end):
        fit_one(job, i, &space, <int*>matrix_at(job, 4, i))
    if space.work != <void*>asked:
        free(space.work)
    free(space.rwork)
    free(space.iwork)


# ---------------------------------------------------------------- lstsq
cdef Op LSTSQ = Op("lstsq_fit(Tensor A, Tensor B, float rcond, str driver) "
                   "-> (Tensor solution, Tensor rank, Tensor singular_values)", aten=None, differentiable=1, checks_values=True,
                   node="LinalgLstsqBackward0", holomorphic=False)

@LSTSQ.infer
def lstsq_infer(TensorBase A, TensorBase B, rcond, driver):
    """A and B have one batch; the solution has max(m, n) rows, of which the first n are X, and the others the residuals."""
    cdef ssize[MAX_NDIM] sizes
    cdef ssize m, n
    cdef int i
    check_matrix("linalg.lstsq", A, "A")
    check_alike("linalg.lstsq", A, B, "A", "B")
    m, n = A.sizes[A.ndim_ - 2], A.sizes[A.ndim_ - 1]
    if B.ndim_ != A.ndim_ or not same_numbers(A.ndim_ - 1, A.sizes, B.sizes):
        raise ShapeError(f"linalg.lstsq: A has shape {tuple(A.shape)} and B {tuple(B.shape)}; all but the last "
                         f"size must be equal")
    for i in range(A.ndim_ - 2):
        sizes[i] = A.sizes[i]
    sizes[A.ndim_ - 2], sizes[A.ndim_ - 1] = max(m, n), B.sizes[B.ndim_ - 1]
    return (columns_result(A, A.dtype_, A.ndim_, sizes), batch_beside(A, INT32),
            batch_beside(A, real_dtype(A.dtype_), 1, min(m, n)))

@LSTSQ.kernel
def lstsq_kernel(TensorBase solution, TensorBase rank, TensorBase singular_values, TensorBase A, TensorBase B, double rcond,
                 driver):
    cdef TensorBase work = columns_copy(A), info = batch_beside(A, INT32)
    cdef ssize rows = B.sizes[B.ndim_ - 2]
    cdef Job job
    info = empty_beside(A, INT32, info.ndim_, info.sizes)
    solution.zero_()
    rank.zero_()
    singular_values.zero_()
    copy_into(solution.narrow(-2, 0, rows), B)
    if not (A.isfinite().all() & B.isfinite().all()).item():
        raise LinAlgError("linalg.lstsq: there are infinities or nan among the elements of A and B; take these rows out, or "
                          "replace them with tensorlab.nan_to_num")
    if A.numel_ == 0 or B.numel_ == 0:
        solution.zero_()
        return
    start_job(&job, work)
    add_matrices(&job, solution)
    add_matrices(&job, rank, 0)
    add_matrices(&job, singular_values, 1)
    add_matrices(&job, info, 0)
    job.k, job.number, job.flags[0] = <int>B.sizes[B.ndim_ - 1], rcond, <char><int>DRIVERS[driver]
    run_job(fit_matrices, &job, 2 * <ssize>job.m * job.n * min(job.m, job.n))
    failure = first_failure(info)
    if failure is not None:
        raise LinAlgError(f"linalg.lstsq: {failure[0]} can't be fitted with driver={driver!r} (LAPACK says {failure[1]}): "
                          f"{'it has not full rank' if driver == 'gels' else 'look for nan and inf among its elements'}; "
                          f"driver='gelsd' takes any rank")

@LSTSQ.derivative("A", "B")
def lstsq_derivative(grads, A, B, wanted):
    """X = A^+ B, with the pseudo-inverse A^+ and its derivative."""
    n = A.size(-1)
    grad = grads[0][..., :n, :]
    inverse = pinv(A)
    grad_A = pinv_derivative(grad @ adjoint(B), A, inverse) if wanted[0] else None
    return grad_A, adjoint(inverse) @ grad if wanted[1] else None


def lstsq(TensorBase A not None, TensorBase B not None, rcond=None, *, driver=None, out=None):
    """The X that makes the Frobenius norm of A @ X - B smallest.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    B : Tensor, shape (*, m, k), or (*, m)
    rcond : float, the part of the largest singular value under which one counts as 0; eps * max(m, n) unless given
    driver : "gelsy" (None): QR with exchanges of columns, for any rank; "gels": QR, for matrices of full rank; "gelsd" and
        "gelss": by singular values, for any rank

    Returns
    -------
    (solution, residuals, rank, singular_values)
        solution : (*, n, k), or (*, n)
        residuals : (*, k), sums of squares of A @ X - B, if m > n and all have full rank; else, and with "gelsy", empty
        rank : int64, (*); empty with "gels"
        singular_values : (*, min(m, n)) with "gelsd" and "gelss", else empty

    Raises
    ------
    LinAlgError
        If a matrix can't be fitted.

    >>> import tensorlab
    >>> A, B = tensorlab.tensor([[1., 0.], [1., 1.], [1., 2.]]), tensorlab.tensor([1., 3., 5.])
    >>> tensorlab.linalg.lstsq(A, B).solution.round(decimals=3)
    tensor([1., 2.])
    """
    A, B = in_float32((A, B))
    check_matrix("linalg.lstsq", A)
    if B.ndim_ < 1:
        raise ShapeError("linalg.lstsq: B has no dimensions; expected a vector, or a matrix")
    check_alike("linalg.lstsq", A, B)
    if driver is not None and driver not in DRIVERS:
        raise ShapeError(f"linalg.lstsq: driver is {driver!r}; expected one of {', '.join(DRIVERS)}")
    driver = driver or "gelsy"
    cdef ssize m = A.sizes[A.ndim_ - 2], n = A.sizes[A.ndim_ - 1]
    is_vector = B.ndim_ == 1 or (B.ndim_ == A.ndim_ - 1 and tuple(B.shape) == tuple(A.shape[:A.ndim_ - 1]))
    right = B.unsqueeze(-1) if is_vector else B
    if right.size(-2) != m:
        raise ShapeError(f"linalg.lstsq: A has {m} rows and B {right.size(-2)}; expected as many")
    batch = broadcast_shapes(A.shape[:A.ndim_ - 2], right.shape[:right.ndim - 2])
    matrices, right = A.expand(*batch, m, n), right.expand(*batch, m, right.size(-1))
    if rcond is None:
        rcond = finfo(A.dtype).eps * max(m, n)
    fitted, rank, singular_values = run_4(LSTSQ, matrices, right, float(rcond), driver)
    rank = rank.long()
    solution = fitted[..., :n, :]
    residuals = singular_values.new_empty(0)
    if m > n and driver != "gelsy" and (driver == "gels" or bool(without_boxes(rank == n).all().item())):
        left = matrices @ solution - right
        residuals = (left * left.conj()).real.sum(-2) if left.is_complex() else (left * left).sum(-2)
    if is_vector:
        solution = solution.squeeze(-1)
    results = (solution, residuals, rank.new_empty(0) if driver == "gels" else rank,
               singular_values if driver in ("gelsd", "gelss") else singular_values.new_empty(0))
    if out is not None:
        results = store_outs("linalg.lstsq", results, out, (A, B))
    return return_types.linalg_lstsq(results)
