"""Solutions of linear systems, and inverses, by LU factorisation (lu.pyx).

The derivatives follow from the differential of what defines a result, A X = B or A A^-1 = I (M. Giles, "An extended collection of
matrix derivative results for forward and reverse mode algorithmic differentiation", 2008). They solve with A again, and never
multiply by its inverse.
"""
from libc.stdlib cimport free, malloc

from tensorlab._core.dispatch.dispatch cimport run_2, run_4, run_5
from tensorlab._core.dispatch.levels cimport will_differentiate_again
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out, store_outs
from tensorlab._core.dtypes cimport INT32
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.iterator cimport copy_into, put_back
from tensorlab._core.tensor cimport TensorBase, alias_as, give_memory, result_beside
from tensorlab.ops.linalg.lapack_library cimport GETRF, GETRI, getrf_function, getri_function, lapack
from tensorlab.ops.linalg.lu cimport LU_SOLVE, check_info, factor_into, solve_into
from tensorlab.ops.linalg.matrix_batches cimport (
    Job, add_matrices, batch_beside, check_alike, check_numbers, check_square, columns_for, columns_result, expanded,
    matrices_beside, matrix_at, plain_for, run_job, start_job
)
from tensorlab.ops.linalg.small_matrices cimport in_lanes, invert_lanes
from tensorlab.ops.linalg.triangular cimport system_result

from tensorlab import return_types
from tensorlab.errors import ShapeError
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.linalg.lu import SINGULAR


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
