"""LU factorisation, for linear systems and determinants.

Each matrix is split once, A = P L U: P changes rows, L has ones on its diagonal and zeros above it, U has zeros below. A system
is then two triangles that are solved one after the other.

Source of the derivatives: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation", 2008, and for matrices that aren't square the same by blocks.
"""
from libc.stdint cimport int32_t, int64_t

from tensorlab._core.dispatch.dispatch cimport run_2, run_3, run_5
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out, store_outs
from tensorlab._core.dtypes cimport COMPLEX, INT32, INT64, is_in
from tensorlab._core.layout cimport MAX_NDIM, shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_into, plain, put_back
from tensorlab._core.tensor cimport TensorBase, memory_of, result_beside
from tensorlab.ops.linalg.lapack_library cimport GETRF, GETRS, getrf_function, getrs_function, lapack
from tensorlab.ops.linalg.matrices cimport flipped
from tensorlab.ops.linalg.matrix_batches cimport (
    Job, add_matrices, batch_beside, check_alike, check_matrix, check_square, columns_for, columns_of, expanded,
    first_failure, matrices_beside, matrix_at, plain_for, run_job, start_job
)
from tensorlab.ops.linalg.small_matrices cimport factor_lanes, in_lanes, solve_lanes
from tensorlab.ops.linalg.triangular cimport system_result

from tensorlab import return_types
from tensorlab.errors import DTypeError, LinAlgError, ShapeError
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.joining import cat
from tensorlab.ops.linalg.triangular import solve_triangular


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
    return (<object>x).detach().conj_physical()


cdef int check_info(str where, TensorBase info, str reason) except -1:
    """Raise if a factorisation failed; `reason` may name the row, counted from 1, as {info}."""
    failure = first_failure(info)
    if failure is not None:
        raise LinAlgError(f"{where}: {failure[0]} {reason.format(info=failure[1])}")
    return 0

SINGULAR = ("is singular: element {info} of the diagonal of U, counted from 1, is 0. Look at linalg.matrix_rank and "
            "linalg.cond; linalg.lstsq and linalg.pinv take such matrices")


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
    if pivots.dtype_ != INT32:
        raise DTypeError(f"lu_permutation: pivots is of {pivots.dtype}; expected int32")
    if pivots.ndim_ == 0 or pivots.sizes[pivots.ndim_ - 1] > rows:
        raise ShapeError(f"lu_permutation: pivots has shape {shape_text(pivots.ndim_, pivots.sizes)}; expected a last "
                         f"dimension of at most {rows}, the number of rows")
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
