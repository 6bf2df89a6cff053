"""Linear systems with a triangle: substitution, one unknown after the other."""
from tensorlab._core.dispatch.dispatch cimport run_5
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.iterator cimport copy_into, put_back
from tensorlab._core.tensor cimport TensorBase, result_beside
from tensorlab.ops.linalg.lapack_library cimport TRSM, lapack, trsm_function
from tensorlab.ops.linalg.matrices cimport flipped
from tensorlab.ops.linalg.matrix_batches cimport (
    Job, add_matrices, batch_shape, check_alike, check_matrix, check_square, columns_for, columns_of, columns_result,
    expanded, matrix_at, run_job, start_job
)

from tensorlab.errors import ShapeError
from tensorlab.ops.dimensions import adjoint


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
