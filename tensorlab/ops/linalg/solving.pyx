"""LU factorisation, and what is made of it: solutions of linear systems, inverses.

Each matrix is split once, A = P L U: P changes rows, L has ones on its diagonal and zeros above it, U has zeros below. A system
is then two triangles that are solved one after the other.

The derivatives follow from the differential of what defines a result, A X = B or A A^-1 = I (M. Giles, "An extended collection of
matrix derivative results for forward and reverse mode algorithmic differentiation", 2008). They solve with A again, and never
multiply by its inverse.
"""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from tensorlab._core.dispatch.dispatch cimport run_2, run_3, run_4, run_5
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out, store_outs
from tensorlab._core.dtypes cimport COMPLEX, INT32, INT64, is_in
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_into, plain, put_back
from tensorlab._core.state.modes cimport thread_state
from tensorlab._core.tensor cimport TensorBase, alias_as, give_memory, memory_of, result_beside
from tensorlab.ops.linalg.lapack_library cimport (
    GETRF, GETRI, GETRS, TRSM, getrf_function, getri_function, getrs_function, lapack, trsm_function
)
from tensorlab.ops.linalg.matrices cimport flipped
from tensorlab.ops.linalg.matrix_batches cimport (
    Job, add_matrices, batch_beside, batch_shape, check_alike, check_matrix, check_numbers, check_square,
    columns_for, columns_of, columns_result, expanded, first_failure, matrices_beside,
    matrix_at, plain_for, run_job, start_job
)
from tensorlab.ops.linalg.small_matrices cimport factor_lanes, in_lanes, invert_lanes, solve_lanes

from tensorlab import return_types
from tensorlab.errors import DTypeError, LinAlgError, ShapeError
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.joining import cat


# ---------------------------------------------------------------- loops
cdef void factor_matrices(void* context, ssize begin, ssize end) noexcept nogil:
    """LU of each, in place. Tensors: A, pivots, info."""
    in_lanes(factor_lanes, factor_by_lapack, <Job*>context, begin, end)

cdef void factor_by_lapack(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    cdef getrf_function getrf = <getrf_function>lapack[GETRF][job.column]
    cdef int lda = max(1, job.m)
    cdef ssize i
    for i in range(begin, end):
        getrf(&job.m, &job.n, matrix_at(job, 0, i), &lda, <int*>matrix_at(job, 1, i), <int*>matrix_at(job, 2, i))


cdef void solve_matrices(void* context, ssize begin, ssize end) noexcept nogil:
    """Solve with an LU factorisation, in place. Tensors: LU, pivots, B; flag: what of A is meant."""
    if (<Job*>context).flags[0] == b"N":
        in_lanes(solve_lanes, solve_by_lapack, <Job*>context, begin, end)
    else:
        solve_by_lapack(context, begin, end)

cdef void solve_by_lapack(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    cdef getrs_function getrs = <getrs_function>lapack[GETRS][job.column]
    cdef int ld = max(1, job.n), info
    cdef ssize i
    for i in range(begin, end):
        getrs(&job.flags[0], &job.n, &job.k, matrix_at(job, 0, i), &ld, <int*>matrix_at(job, 1, i),
              matrix_at(job, 2, i), &ld, &info)


cdef void invert_matrices(void* context, ssize begin, ssize end) noexcept nogil:
    """The inverse of each, in place. Tensors: A, pivots, info."""
    in_lanes(invert_lanes, invert_by_lapack, <Job*>context, begin, end)

cdef void invert_by_lapack(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    cdef getrf_function getrf = <getrf_function>lapack[GETRF][job.column]
    cdef getri_function getri = <getri_function>lapack[GETRI][job.column]
    cdef int ld = max(1, job.n), lwork = max(1, job.n * 64)
    cdef void* work = malloc(<ssize>lwork * job.size)
    cdef ssize i
    if work == NULL:
        job.out_of_memory = True
        return
    for i in range(begin, end):
        getrf(&job.n, &job.n, matrix_at(job, 0, i), &ld, <int*>matrix_at(job, 1, i), <int*>matrix_at(job, 2, i))
        if (<int*>matrix_at(job, 2, i))[0] == 0:
            getri(&job.n, matrix_at(job, 0, i), &ld, <int*>matrix_at(job, 1, i), work, &lwork, <int*>matrix_at(job, 2, i))
    free(work)


cdef void solve_triangles(void* context, ssize begin, ssize end) noexcept nogil:
    """Solve with triangles, in place. Tensors: A, B; flags: side, triangle, what of A, whether its diagonal is ones."""
    cdef Job* job = <Job*>context
    cdef trsm_function trsm = <trsm_function>lapack[TRSM][job.column]
    cdef int lda = max(1, job.k), ldb = max(1, job.m)
    cdef double[2] one_64
    cdef float[2] one_32
    cdef void* one = <void*>one_64 if job.size == 8 * (1 + (job.column > 1)) else <void*>one_32
    cdef ssize i
    one_64[0], one_64[1], one_32[0], one_32[1] = 1, 0, 1, 0
    for i in range(begin, end):
        trsm(&job.flags[0], &job.flags[1], &job.flags[2], &job.flags[3], &job.m, &job.n, one, matrix_at(job, 0, i), &lda,
             matrix_at(job, 1, i), &ldb)


cdef int factor(TensorBase lu, TensorBase pivots, TensorBase info) except -1:
    """LU of the matrices that lie in `lu`, column after column."""
    cdef Job job
    cdef ssize m = lu.sizes[lu.ndim_ - 2], n = lu.sizes[lu.ndim_ - 1]
    start_job(&job, lu)
    add_matrices(&job, pivots, 1)
    add_matrices(&job, info, 0)
    return run_job(factor_matrices, &job, m * n * min(m, n) // 2)


cdef int factor_into(TensorBase lu, TensorBase pivots, TensorBase info, TensorBase x) except -1:
    """LU of the matrices of x into results as they may lie."""
    cdef TensorBase lu_columns = columns_for(lu), plain_pivots = plain_for(pivots), plain_info = plain_for(info)
    copy_into(lu_columns, x)
    factor(lu_columns, plain_pivots, plain_info)
    put_back(lu, lu_columns)
    put_back(pivots, plain_pivots)
    return put_back(info, plain_info)


cdef int solve_into(TensorBase out, TensorBase lu, TensorBase pivots, TensorBase b, bint left, bint is_adjoint) except -1:
    """Solve A X = B, or X A = B, which is read as A^T X^T = B^T. All have the batch of `out`.

    X A^H = B is read as A X^H = B^H: LAPACK has no letter for a matrix that is conjugated, but not transposed.
    """
    cdef TensorBase target = out if left else flipped(out)
    cdef bint conjugates = not left and is_adjoint and is_in(out.dtype_, COMPLEX)
    cdef TensorBase x = columns_for(target)
    cdef int ndim = x.ndim_ - 2
    cdef Job job
    copy_into(x, b if left else flipped(conjugate(b) if conjugates else b))
    lu = columns_of(expanded(lu, 2, ndim, x.sizes))
    pivots = plain(expanded(pivots, 1, ndim, x.sizes))
    start_job(&job, lu)
    add_matrices(&job, pivots, 1)
    add_matrices(&job, x)
    job.k = <int>x.sizes[ndim + 1]
    job.flags[0] = b"N" if left != is_adjoint else b"C" if left else b"T"
    run_job(solve_matrices, &job, <ssize>job.n * job.n * job.k)
    return put_back(target, conjugate(x) if conjugates else x)


cdef TensorBase conjugate(TensorBase x):
    return (<object>x).detach().conj()


cdef int check_info(str where, TensorBase info, str reason) except -1:
    """Raise if a factorisation failed; `reason` may name the row, counted from 1, as {info}."""
    failure = first_failure(info)
    if failure is not None:
        raise LinAlgError(f"{where}: {failure[0]} {reason.format(info=failure[1])}")
    return 0

SINGULAR = ("is singular: element {info} of the diagonal of U, counted from 1, is 0. Look at linalg.matrix_rank and "
            "linalg.cond; linalg.lstsq and linalg.pinv take such matrices")


cdef bint will_differentiate_again() noexcept:
    """Is a derivative itself recorded? Then it may use nothing but differentiable results."""
    return thread_state().grad_enabled


# ---------------------------------------------------------------- lu_factor
cdef Op LU_FACTOR_EX = Op("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) "
                          "-> (Tensor LU, Tensor pivots, Tensor info)", differentiable=1, checks_values=True,
                          holomorphic=False)

@LU_FACTOR_EX.infer
def lu_factor_ex_infer(TensorBase A, pivot, check_errors):
    check_matrix("linalg.lu_factor", A)
    if not pivot:
        raise ShapeError("linalg.lu_factor: pivot is False; LU without exchanges of rows is not offered on the CPU, as it "
                         "fails for many matrices")
    n = min(A.sizes[A.ndim_ - 2], A.sizes[A.ndim_ - 1])
    return (matrices_beside(A, A.sizes[A.ndim_ - 2], A.sizes[A.ndim_ - 1]), batch_beside(A, INT32, 1, n),
            batch_beside(A, INT32))

@LU_FACTOR_EX.kernel
def lu_factor_ex_kernel(TensorBase LU, TensorBase pivots, TensorBase info, TensorBase A, pivot, check_errors):
    factor_into(LU, pivots, info, A)
    if check_errors:
        check_info("linalg.lu_factor", info, SINGULAR)

@LU_FACTOR_EX.derivative("A")
def lu_factor_ex_derivative(grads, LU, pivots):
    """P L^-H [tril(L^H grad_L, -1) + triu(grad_U U^H)] U^-H; of matrices that aren't square, by blocks."""
    grad = grads[0]
    rows, columns = LU.size(-2), LU.size(-1)
    n = min(rows, columns)
    P, L, U = lu_unpack(LU, pivots)
    grad_L, grad_U = grad[..., :n].tril(-1), grad[..., :n, :].triu()
    if rows == columns:
        inner = (adjoint(L) @ grad_L).tril(-1) + (grad_U @ adjoint(U)).triu()
        right = solve_triangular(adjoint(U), inner, upper=False, left=False)
        return P @ solve_triangular(adjoint(L), right, upper=True, unitriangular=True)
    if rows < columns:
        U_1 = U[..., :n]
        inner = (adjoint(L) @ grad_L).tril(-1) - (grad_U @ adjoint(U)).tril(-1)
        inner = solve_triangular(adjoint(U_1), inner, upper=False, left=False) + grad_U[..., :n]
        inner = cat([inner, grad_U[..., n:]], -1)
        return P @ solve_triangular(adjoint(L), inner, upper=True, unitriangular=True)
    L_1 = L[..., :n, :]
    inner = (grad_U @ adjoint(U)).triu() - (adjoint(L) @ grad_L).triu()
    inner = solve_triangular(adjoint(L_1), inner, upper=True, unitriangular=True) + grad_L[..., :n, :]
    inner = cat([inner, grad_L[..., n:, :]], -2)
    return P @ solve_triangular(adjoint(U), inner, upper=False, left=False)


def lu_factor_ex(TensorBase A not None, *, bint pivot=True, bint check_errors=False, out=None):
    """`linalg.lu_factor` that says in `info` of each matrix whether it is singular.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    pivot : bool; only True is offered
    check_errors : bool, raise if a matrix is singular

    Returns
    -------
    (LU, pivots, info): info is int32, 0 or which element of U's diagonal, counted from 1, is the first that is 0

    >>> import tensorlab
    >>> tensorlab.linalg.lu_factor_ex(tensorlab.zeros(2, 2)).info
    tensor(1, dtype=tensorlab.int32)
    """
    results = run_3(LU_FACTOR_EX, A, pivot, check_errors)
    if out is not None:
        results = store_outs("linalg.lu_factor_ex", results, out, (A,))
    return return_types.linalg_lu_factor_ex(results)


def lu_factor(TensorBase A not None, *, bint pivot=True, out=None):
    """The LU factorisation of matrices in compact form, as `linalg.lu_solve` and `lu_unpack` take it.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    pivot : bool; only True is offered

    Returns
    -------
    (LU, pivots): L below the diagonal, without its ones, and U in one tensor of A's shape; and for each row i, counted from 1,
        the row that it was exchanged with, int32 of shape (*, min(m, n))

    Raises
    ------
    LinAlgError
        If a matrix is singular.

    >>> import tensorlab
    >>> tensorlab.linalg.lu_factor(tensorlab.tensor([[1., 2.], [2., 2.]])).LU
    tensor([[2.0000, 2.0000],
            [0.5000, 1.0000]])
    """
    results = run_3(LU_FACTOR_EX, A, pivot, True)[:2]
    if out is not None:
        results = store_outs("linalg.lu_factor", results, out, (A,))
    return return_types.linalg_lu_factor(results)


# ---------------------------------------------------------------- lu_unpack
cdef int check_pivots(str where, TensorBase pivots, ssize rows) except -1:
    """Raise if a pivot isn't a row: LAPACK would read elsewhere."""
    cdef ssize i
    cdef int32_t* swaps
    pivots = plain(pivots)
    swaps = <int32_t*>memory_of(pivots)
    for i in range(pivots.numel_):
        if not 1 <= swaps[i] <= rows:
            raise ShapeError(f"{where}: a pivot is {swaps[i]}; expected a row from 1 to {rows}, as linalg.lu_factor "
                             f"returns them")
    return 0


cdef Op LU_PERMUTATION = Op("lu_permutation(Tensor pivots, int rows) -> Tensor", aten=None, checks_values=True)

@LU_PERMUTATION.infer
def lu_permutation_infer(TensorBase pivots, ssize rows):
    cdef ssize[MAX_NDIM] sizes
    cdef int i
    for i in range(pivots.ndim_ - 1):
        sizes[i] = pivots.sizes[i]
    sizes[pivots.ndim_ - 1] = rows
    return result_beside(pivots, INT64, pivots.ndim_, sizes)

@LU_PERMUTATION.kernel
def lu_permutation_kernel(TensorBase out, TensorBase pivots, ssize rows):
    """The exchanges of rows, one after the other, as one permutation."""
    cdef TensorBase target = plain_for(out)
    cdef ssize n = pivots.sizes[pivots.ndim_ - 1], i, j, other
    cdef int32_t* swaps
    cdef int64_t* order = <int64_t*>memory_of(target)
    check_pivots("lu_unpack", pivots, rows)
    pivots = plain(pivots)
    swaps = <int32_t*>memory_of(pivots)
    for i in range(target.numel_ // max(rows, <ssize>1)):
        for j in range(rows):
            order[i * rows + j] = j
        for j in range(n):
            other = swaps[i * n + j] - 1
            order[i * rows + j], order[i * rows + other] = order[i * rows + other], order[i * rows + j]
    put_back(out, target)


def lu_unpack(TensorBase LU_data not None, TensorBase LU_pivots not None, bint unpack_data=True,
              bint unpack_pivots=True, *, out=None):
    """The three factors of a compact LU factorisation: A = P @ L @ U.

    Parameters
    ----------
    LU_data : Tensor, shape (*, m, n), of `linalg.lu_factor`
    LU_pivots : Tensor, int32, shape (*, min(m, n)), likewise
    unpack_data, unpack_pivots : bool; what isn't wanted is an empty tensor

    Returns
    -------
    (P, L, U), of shapes (*, m, m), (*, m, k) and (*, k, n), with k = min(m, n)

    >>> import tensorlab
    >>> A = tensorlab.tensor([[1., 2.], [2., 2.]])
    >>> P, L, U = tensorlab.lu_unpack(*tensorlab.linalg.lu_factor(A))
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 2.]])
    """
    if LU_data.ndim_ < 2:
        raise ShapeError(f"lu_unpack: LU_data has shape {shape_text(LU_data.ndim_, LU_data.sizes)}; expected two "
                         f"dimensions or more")
    cdef ssize rows = LU_data.sizes[LU_data.ndim_ - 2], columns = LU_data.sizes[LU_data.ndim_ - 1]
    cdef ssize n = min(rows, columns)
    if unpack_pivots and LU_pivots.dtype_ != INT32:
        raise DTypeError(f"lu_unpack: LU_pivots is of {LU_pivots.dtype}; expected int32, as linalg.lu_factor returns "
                         f"it, so convert it with .int() first")
    batch = LU_data.shape[:LU_data.ndim_ - 2]
    if unpack_pivots and tuple(LU_pivots.shape) != (*batch, n):
        raise ShapeError(f"lu_unpack: LU_pivots has shape {tuple(LU_pivots.shape)} and LU_data "
                         f"{tuple(LU_data.shape)}; expected {(*batch, n)} for the pivots")
    P = L = U = None
    if unpack_pivots:
        order = run_2(LU_PERMUTATION, LU_pivots, rows)
        P = LU_data.detach().new_zeros((*batch, rows, rows)).scatter(-2, order.unsqueeze(-2), 1)
    if unpack_data:
        L = LU_data[..., :n].tril(-1) + LU_data.detach().new_zeros(rows, n).fill_diagonal_(1)
        U = LU_data[..., :n, :].triu()
    results = tuple(LU_data.new_empty(0) if one is None else one for one in (P, L, U))
    if out is not None:
        results = store_outs("lu_unpack", results, out, (LU_data, LU_pivots))
    return return_types.lu_unpack(results)


def lu(TensorBase A not None, *, bint pivot=True, out=None):
    """The LU factorisation of matrices, A = P @ L @ U: P exchanges rows, L is lower triangular with ones on its diagonal.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    pivot : bool; only True is offered

    Returns
    -------
    (P, L, U), of shapes (*, m, m), (*, m, k) and (*, k, n), with k = min(m, n)

    >>> import tensorlab
    >>> tensorlab.linalg.lu(tensorlab.tensor([[1., 2.], [2., 2.]])).U
    tensor([[2., 2.],
            [0., 1.]])
    """
    LU, pivots, _ = run_3(LU_FACTOR_EX, A, pivot, False)
    results = lu_unpack(LU, pivots)
    if out is not None:
        results = store_outs("linalg.lu", results, out, (A,))
    return return_types.linalg_lu(results)


# ---------------------------------------------------------------- lu_solve
cdef Op LU_SOLVE = Op("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
                      checks_values=True, holomorphic=False)

@LU_SOLVE.infer
def lu_solve_infer(TensorBase LU, TensorBase pivots, TensorBase B, bint left, is_adjoint):
    check_square("linalg.lu_solve", LU, "LU")
    check_alike("linalg.lu_solve", LU, B, "LU", "B")
    check_matrix("linalg.lu_solve", B, "B")
    if pivots.dtype_ != INT32:
        raise DTypeError(f"linalg.lu_solve: pivots is of {pivots.dtype}; expected int32, as linalg.lu_factor returns it")
    expected = tuple(LU.shape[:LU.ndim_ - 1])
    if tuple(pivots.shape) != expected:
        raise ShapeError(f"linalg.lu_solve: pivots has shape {tuple(pivots.shape)} and LU {tuple(LU.shape)}; expected "
                         f"{expected} for the pivots")
    return system_result("linalg.lu_solve", LU, B, left, left)

@LU_SOLVE.kernel
def lu_solve_kernel(TensorBase out, TensorBase LU, TensorBase pivots, TensorBase B, bint left, bint is_adjoint):
    check_pivots("linalg.lu_solve", pivots, LU.sizes[LU.ndim_ - 1])
    solve_into(out, LU, pivots, expanded(B, 2, out.ndim_ - 2, out.sizes), left, is_adjoint)

@LU_SOLVE.derivative("LU")
def lu_solve_derivative_LU(grad, LU, pivots, out, left, adjoint_):
    """With R = -U^-H grad out^H (the adjoint has another R): U gets triu(R), L gets tril(L^-H R U^H, -1)."""
    if not left:                                        # X A = B says the same as A^H X^H = B^H
        grad, out, adjoint_ = adjoint(grad), adjoint(out), not adjoint_
    P, L, U = lu_unpack(LU, pivots)
    if adjoint_:
        R = -adjoint(P) @ out @ adjoint(grad) @ P
        R = solve_triangular(adjoint(L), R, upper=True, left=False, unitriangular=True)
        grad_U = solve_triangular(adjoint(U), adjoint(L) @ R, upper=False, left=False).triu()
        return R.tril(-1) + grad_U
    R = -solve_triangular(adjoint(U), grad @ adjoint(out), upper=False)
    grad_L = solve_triangular(adjoint(L), R @ adjoint(U), upper=True, unitriangular=True).tril(-1)
    return grad_L + R.triu()

@LU_SOLVE.derivative("B")
def lu_solve_derivative_B(grad, LU, pivots, left, adjoint_):
    return run_5(LU_SOLVE, LU, pivots, grad, left, not adjoint_)


cdef TensorBase system_result(str where, TensorBase A, TensorBase B, bint left, bint by_columns):
    """The solution of A X = B, or X A = B."""
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = batch_shape(where, A, 2, B, 2, sizes)
    cdef ssize n = A.sizes[A.ndim_ - 1], rows = B.sizes[B.ndim_ - 2], columns = B.sizes[B.ndim_ - 1]
    if (rows if left else columns) != n:
        raise ShapeError(f"{where}: the matrices are {n} x {n} and B has {rows} rows and {columns} columns; expected "
                         f"{n} {'rows' if left else 'columns'}" + (
                             "" if (columns if left else rows) != n else f". Did you mean left={not left}?"))
    sizes[ndim], sizes[ndim + 1] = rows, columns
    return columns_result(B, B.dtype_, ndim + 2, sizes) if by_columns else result_beside(B, B.dtype_, ndim + 2, sizes)


def lu_solve(TensorBase LU not None, TensorBase pivots not None, TensorBase B not None, *, bint left=True,
             adjoint=False, out=None):  # no-cython-lint
    """Solve A X = B with the factorisation of A that `linalg.lu_factor` returns.

    Parameters
    ----------
    LU : Tensor, shape (*, n, n)
    pivots : Tensor, int32, shape (*, n)
    B : Tensor, shape (*, n, k); the batches broadcast
    left : bool; if False, X A = B is solved, with B of shape (*, k, n)
    adjoint : bool, whether A^H stands for A

    >>> import tensorlab
    >>> factors = tensorlab.linalg.lu_factor(tensorlab.tensor([[0., 2.], [1., 0.]]))
    >>> tensorlab.linalg.lu_solve(*factors, tensorlab.tensor([[2.], [3.]]))
    tensor([[3.],
            [1.]])
    """
    return store_out("linalg.lu_solve", run_5(LU_SOLVE, LU, pivots, B, left, bool(adjoint)), out, (LU, pivots, B))


# ---------------------------------------------------------------- solve
cdef Op SOLVE_EX = Op("_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
                      "-> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", differentiable=1, checks_values=True,
                      holomorphic=False)

cdef bint is_vector_case(TensorBase A, TensorBase B) noexcept:
    """Is B a vector for each matrix? A batch of vectors must have exactly the batch of A."""
    cdef int i
    if B.ndim_ == 1:
        return True
    if A.ndim_ != B.ndim_ + 1:
        return False
    for i in range(B.ndim_):
        if A.sizes[i] != B.sizes[i]:
            return False
    return True

cdef TensorBase with_column(TensorBase x):
    """x with one more dimension of size 1."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i
    for i in range(x.ndim_):
        sizes[i], strides[i] = x.sizes[i], x.strides[i]
    sizes[x.ndim_] = strides[x.ndim_] = 1
    return alias_as(x, x.ndim_ + 1, sizes, strides, x.data_)

@SOLVE_EX.infer
def solve_ex_infer(TensorBase A, TensorBase B, bint left, check_errors):
    cdef TensorBase out
    check_square("linalg.solve", A)
    if B.ndim_ < 1:
        raise ShapeError("linalg.solve: B has no dimensions; expected a vector, or a matrix")
    check_alike("linalg.solve", A, B)
    check_numbers("linalg.solve", B, "B")
    if is_vector_case(A, B):
        if not left:
            raise ShapeError("linalg.solve: with left=False, B must be a matrix, or a batch of them; give it a dimension "
                             "of size 1 with B.unsqueeze(-2)")
        out = system_result("linalg.solve", A, with_column(B), True, True)
        if out.ndim_ == 2:
            out = result_beside(B, B.dtype_, 1, out.sizes)
        else:                                           # the last two dimensions count as a matrix, as in PyTorch
            out = columns_result(B, B.dtype_, out.ndim_ - 1, out.sizes)
    else:
        out = system_result("linalg.solve", A, B, left, left)
    n = A.sizes[A.ndim_ - 1]
    return out, matrices_beside(A, n, n), batch_beside(A, INT32, 1, n), batch_beside(A, INT32)

@SOLVE_EX.kernel
def solve_ex_kernel(TensorBase result, TensorBase LU, TensorBase pivots, TensorBase info, TensorBase A, TensorBase B,
                    bint left, bint check_errors):
    factor_into(LU, pivots, info, A)
    if check_errors:
        check_info("linalg.solve", info, SINGULAR)
    if is_vector_case(A, B):
        result, B = with_column(result), with_column(B)
    solve_into(result, LU, pivots, expanded(B, 2, result.ndim_ - 2, result.sizes), left, False)

@SOLVE_EX.derivative("A", "B")
def solve_ex_derivative(grads, A, result, LU, pivots, left, wanted):
    """B gets A^-H grad, and A gets -grad_B X^H: a second system with the same matrix."""
    grad = grads[0]
    is_vector = grad.ndim < A.ndim
    if is_vector:
        grad, result = grad.unsqueeze(-1), result.unsqueeze(-1)
    if will_differentiate_again():
        grad_B = solve(adjoint(A), grad, left=left)
    else:
        grad_B = run_5(LU_SOLVE, LU, pivots, grad, left, True)
    grad_A = None
    if wanted[0]:
        grad_A = -grad_B @ adjoint(result) if left else -adjoint(result) @ grad_B
    return grad_A, grad_B.squeeze(-1) if is_vector else grad_B


def solve_ex(TensorBase A not None, TensorBase B not None, *, bint left=True, bint check_errors=False, out=None):
    """`linalg.solve` that says in `info` of each matrix whether it is singular.

    Returns
    -------
    (result, info): info is int32, 0 or which element of U's diagonal, counted from 1, is the first that is 0

    >>> import tensorlab
    >>> tensorlab.linalg.solve_ex(tensorlab.zeros(2, 2), tensorlab.ones(2)).info
    tensor(1, dtype=tensorlab.int32)
    """
    result, _, _, info = run_4(SOLVE_EX, A, B, left, check_errors)
    results = (result, info)
    if out is not None:
        results = store_outs("linalg.solve_ex", results, out, (A, B))
    return return_types.linalg_solve_ex(results)


def solve(TensorBase A not None, TensorBase B not None, *, bint left=True, out=None):
    """Solve the system A X = B of linear equations, for each matrix of a batch.

    Parameters
    ----------
    A : Tensor, shape (*, n, n)
    B : Tensor, shape (*, n, k), or (*, n) for one right-hand side; a batch of matrices is broadcast
    left : bool; if False, X A = B is solved, with B of shape (*, k, n)

    Returns
    -------
    Tensor, of the shape of B, broadcast. It is more exact, and comes sooner, than `inv(A) @ B`

    Raises
    ------
    LinAlgError
        If a matrix is singular.

    >>> import tensorlab
    >>> tensorlab.linalg.solve(tensorlab.tensor([[2., 0.], [0., 4.]]), tensorlab.tensor([2., 2.]))
    tensor([1.0000, 0.5000])
    """
    return store_out("linalg.solve", run_4(SOLVE_EX, A, B, left, True)[0], out, (A, B))


# ---------------------------------------------------------------- inv
cdef Op INV_EX = Op("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
                    differentiable=1, checks_values=True, holomorphic=False)

@INV_EX.infer
def inv_ex_infer(TensorBase A, check_errors):
    check_square("linalg.inv", A)
    return matrices_beside(A, A.sizes[A.ndim_ - 2], A.sizes[A.ndim_ - 2]), batch_beside(A, INT32)

@INV_EX.kernel
def inv_ex_kernel(TensorBase inverse, TensorBase info, TensorBase A, bint check_errors):
    cdef TensorBase target = columns_for(inverse), plain_info = plain_for(info)
    cdef TensorBase pivots
    cdef Job job
    cdef ssize n = A.sizes[A.ndim_ - 1]
    copy_into(target, A)
    pivots = empty_pivots(A, n)
    start_job(&job, target)
    add_matrices(&job, pivots, 1)
    add_matrices(&job, plain_info, 0)
    run_job(invert_matrices, &job, n * n * n)
    put_back(inverse, target)
    put_back(info, plain_info)
    if check_errors:
        check_info("linalg.inv", info, SINGULAR)

@INV_EX.derivative("A")
def inv_ex_derivative(grads, inverse):
    """-A^-H grad A^-H, from 0 = d(A A^-1) = dA A^-1 + A dA^-1."""
    return -adjoint(inverse) @ (grads[0] @ adjoint(inverse))

cdef TensorBase empty_pivots(TensorBase A, ssize n):
    cdef TensorBase pivots = batch_beside(A, INT32, 1, n)
    give_memory(pivots)
    return pivots


def inv_ex(TensorBase A not None, *, bint check_errors=False, out=None):
    """`linalg.inv` that says in `info` of each matrix whether it is singular.

    Returns
    -------
    (inverse, info): info is int32, 0 or which element of U's diagonal, counted from 1, is the first that is 0; the inverse
        makes no sense then

    >>> import tensorlab
    >>> tensorlab.linalg.inv_ex(tensorlab.zeros(2, 2)).info
    tensor(1, dtype=tensorlab.int32)
    """
    results = run_2(INV_EX, A, check_errors)
    if out is not None:
        results = store_outs("linalg.inv_ex", results, out, (A,))
    return return_types.linalg_inv_ex(results)


def inv(TensorBase A not None, *, out=None):
    """The inverse of each matrix. To solve a system, call `linalg.solve`, which is more exact.

    Parameters
    ----------
    A : Tensor, shape (*, n, n)

    Raises
    ------
    LinAlgError
        If a matrix is singular.

    >>> import tensorlab
    >>> tensorlab.linalg.inv(tensorlab.tensor([[2., 1.], [1., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  2.]])
    """
    return store_out("linalg.inv", run_2(INV_EX, A, True)[0], out, (A,))


def inverse(TensorBase input not None, *, out=None):
    """The inverse of each matrix: `linalg.inv`.

    >>> import tensorlab
    >>> tensorlab.inverse(tensorlab.tensor([[2., 1.], [1., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  2.]])
    """
    return inv(input, out=out)


# ---------------------------------------------------------------- solve_triangular
cdef Op SOLVE_TRIANGULAR = Op("linalg_solve_triangular(Tensor A, Tensor B, *, bool upper, bool left=True, "
                              "bool unitriangular=False) -> Tensor", public={"A": "self"}, holomorphic=False)

@SOLVE_TRIANGULAR.infer
def solve_triangular_infer(TensorBase A, TensorBase B, upper, bint left, unitriangular):
    check_square("linalg.solve_triangular", A)
    check_alike("linalg.solve_triangular", A, B)
    check_matrix("linalg.solve_triangular", B, "B")
    return system_result("linalg.solve_triangular", A, B, left, True)

@SOLVE_TRIANGULAR.kernel
def solve_triangular_kernel(TensorBase out, TensorBase A, TensorBase B, bint upper, bint left, bint unitriangular):
    """A that lies row after row is given as its transpose."""
    cdef TensorBase x = columns_for(out)
    cdef int ndim = x.ndim_ - 2
    cdef bint by_rows = A.is_contiguous_
    cdef Job job
    copy_into(x, expanded(B, 2, ndim, x.sizes))
    A = columns_of(expanded(flipped(A) if by_rows else A, 2, ndim, x.sizes))
    start_job(&job, x)
    job.tensors = 0
    add_matrices(&job, A)
    add_matrices(&job, x)
    job.k = <int>A.sizes[ndim]
    job.flags[0] = b"L" if left else b"R"
    job.flags[1] = b"U" if upper != by_rows else b"L"
    job.flags[2] = b"T" if by_rows else b"N"
    job.flags[3] = b"U" if unitriangular else b"N"
    run_job(solve_triangles, &job, <ssize>job.m * job.n * job.k // 2)
    put_back(out, x)

@SOLVE_TRIANGULAR.derivative("A", "B")
def solve_triangular_derivative(grad, A, out, upper, left, unitriangular, wanted):
    """B gets A^-H grad; A gets -grad_B X^H, of which its triangle counts."""
    grad_B = run_5(SOLVE_TRIANGULAR, adjoint(A), grad, not upper, left, unitriangular)
    grad_A = None
    if wanted[0]:
        grad_A = -grad_B @ adjoint(out) if left else -adjoint(out) @ grad_B
        grad_A = grad_A.triu(int(unitriangular)) if upper else grad_A.tril(-int(unitriangular))
    return grad_A, grad_B


def solve_triangular(TensorBase A not None, TensorBase B not None, *, bint upper, bint left=True,
                     bint unitriangular=False, out=None):
    """Solve A X = B where A is triangular, by substitution; nothing outside of the triangle is read.

    Parameters
    ----------
    A : Tensor, shape (*, n, n)
    B : Tensor, shape (*, n, k); the batches broadcast
    upper : bool, which triangle of A counts
    left : bool; if False, X A = B is solved, with B of shape (*, k, n)
    unitriangular : bool, whether A's diagonal counts as ones

    >>> import tensorlab
    >>> A = tensorlab.tensor([[1., 0.], [1., 2.]])
    >>> tensorlab.linalg.solve_triangular(A, tensorlab.tensor([[1.], [5.]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    return store_out("linalg.solve_triangular", run_5(SOLVE_TRIANGULAR, A, B, upper, left, unitriangular), out, (A, B))
