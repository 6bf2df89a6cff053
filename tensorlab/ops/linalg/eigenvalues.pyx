"""Eigenvalues and eigenvectors of any square matrix, A = V diag(L) V^-1; both are complex, of real matrices, too."""
from libc.stdlib cimport free, malloc

from tensorlab._core.dispatch.dispatch cimport run_2
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out, store_outs
from tensorlab._core.dtypes cimport INT32, complex_dtype, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport put_back
from tensorlab._core.tensor cimport TensorBase, empty_beside, result_beside
from tensorlab.ops.linalg.lapack_library cimport C, D, GEEV, complex_geev_function, geev_function, lapack
from tensorlab.ops.linalg.matrix_batches cimport (
    Job, add_matrices, batch_beside, check_square, columns_copy, columns_for, columns_result,
    first_failure, matrix_at, plain_for, real_size, run_job, start_job, wants_vectors, work_size
)

from tensorlab import return_types
from tensorlab.errors import LinAlgError
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.linalg.solving import solve
from tensorlab.ops.linalg.spectral import check_phases, divided_by_gaps


# ---------------------------------------------------------------- loops
cdef void find_eigenvectors(void* context, ssize begin, ssize end) noexcept nogil:
    """Tensors: A, which is overwritten, eigenvalues, info, eigenvectors; flag: whether vectors are wanted.

    Of a real matrix, LAPACK writes the parts of the eigenvalues to two arrays, and vectors packed into real columns.
    """
    cdef Job* job = <Job*>context
    cdef ssize n = max(1, job.n), i
    cdef int lwork = -1, info
    cdef double[4] asked
    cdef void* work = <void*>asked
    cdef char* parts = <char*>malloc((2 + n) * n * real_size(job))
    if parts != NULL:
        find_one(job, 0, parts, work, &lwork, &info)
        lwork = work_size(job, work)
        work = malloc(<ssize>lwork * job.size)
    if parts == NULL or work == NULL:
        job.out_of_memory = True
        end = begin
    for i in range(begin, end):
        find_one(job, i, parts, work, &lwork, <int*>matrix_at(job, 2, i))
        if job.column == D:
            unpack(<double*>parts, job.n, <double*>matrix_at(job, 1, i), vectors_at[double](job, i, NULL))
        elif job.column < C:
            unpack(<float*>parts, job.n, <float*>matrix_at(job, 1, i), vectors_at[float](job, i, NULL))
    if work != <void*>asked:
        free(work)
    free(parts)


cdef inline real* vectors_at(Job* job, ssize i, real* as_this) noexcept nogil:
    return <real*>matrix_at(job, 3, i) if job.flags[0] == b"V" else NULL


cdef void find_one(Job* job, ssize i, char* parts, void* work, int* lwork, int* info) noexcept nogil:
    cdef char none = b"N"
    cdef int ld = max(1, job.n)
    cdef ssize step = ld * real_size(job)
    cdef void* vectors = matrix_at(job, 3, i) if job.flags[0] == b"V" else NULL
    if job.column < C:
        (<geev_function>lapack[GEEV][job.column])(
            &none, &job.flags[0], &job.n, matrix_at(job, 0, i), &ld, parts, parts + step, NULL, &ld, parts + 2 * step, &ld,
            work, lwork, info)
    else:
        (<complex_geev_function>lapack[GEEV][job.column])(
            &none, &job.flags[0], &job.n, matrix_at(job, 0, i), &ld, matrix_at(job, 1, i), NULL, &ld, vectors, &ld, work,
            lwork, parts, info)


cdef void unpack(real* parts, int n, real* values, real* vectors) noexcept nogil:
    """Eigenvalues that aren't real come in pairs with their conjugates, next to each other.

    Of the vectors of a pair, which are conjugates, too, one column holds the real part of the first, and the next column its
    imaginary part.
    """
    cdef real* packed = parts + 2 * n
    cdef int i, j = 0
    for j in range(n):
        values[2 * j], values[2 * j + 1] = parts[j], parts[n + j]
    j = 0
    while vectors != NULL and j < n:
        if parts[n + j] == 0 or j + 1 == n:
            for i in range(n):
                vectors[2 * (j * n + i)], vectors[2 * (j * n + i) + 1] = packed[j * n + i], 0
            j += 1
        else:
            for i in range(n):
                vectors[2 * (j * n + i)] = vectors[2 * ((j + 1) * n + i)] = packed[j * n + i]
                vectors[2 * (j * n + i) + 1] = packed[(j + 1) * n + i]
                vectors[2 * ((j + 1) * n + i) + 1] = -packed[(j + 1) * n + i]
            j += 2


# ---------------------------------------------------------------- eig
cdef Op EIG = Op("linalg_eig(Tensor x, bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)", aten=None,
                 checks_values=True, holomorphic=False)

@EIG.infer
def eig_infer(TensorBase x, bint compute_v):
    cdef ssize nothing = 0
    cdef int dtype
    check_square("linalg.eig", x)
    dtype = complex_dtype(x.dtype_)
    return (batch_beside(x, dtype, 1, x.sizes[x.ndim_ - 1]),
            columns_result(x, dtype, x.ndim_, x.sizes) if compute_v else result_beside(x, dtype, 1, &nothing))

@EIG.kernel
def eig_kernel(TensorBase eigenvalues, TensorBase eigenvectors, TensorBase x, bint compute_v):
    cdef TensorBase work = columns_copy(x), values = plain_for(eigenvalues), info = batch_beside(x, INT32)
    cdef TensorBase vectors = columns_for(eigenvectors) if compute_v else None
    cdef Job job
    info = empty_beside(x, INT32, info.ndim_, info.sizes)
    if not (<object>work).isfinite().all().item():
        raise LinAlgError("linalg.eig: there are infinities or nan among the elements, so there are no eigenvalues")
    start_job(&job, work)
    add_matrices(&job, values, 1)
    add_matrices(&job, info, 0)
    if compute_v:
        add_matrices(&job, vectors)
    job.flags[0] = b"V" if compute_v else b"N"
    run_job(find_eigenvectors, &job, 25 * <ssize>job.n * job.n * job.n)
    failure = first_failure(info)
    if failure is not None:
        raise LinAlgError(f"linalg.eig: {failure[0]} has eigenvalues that the algorithm doesn't find ({failure[1]} of its steps "
                          f"didn't converge)")
    put_back(eigenvalues, values)
    if compute_v:
        put_back(eigenvectors, vectors)

@EIG.derivative("x")
def eig_derivative(grads, eigenvalues, eigenvectors):
    """V^-H [diag(grad_L) + (V^H grad_V - V^H V diag(Re(V^H grad_V))) / conj(L_j - L_i)] V^H, with vectors of length 1.

    Source: C. Boeddeker, P. Hanebrink, L. Drude, J. Heymann and R. Haeb-Umbach, "On the computation of complex-valued gradients
    with application to statistically optimum beamforming", 2017, section 4.
    """
    grad_L, grad_V, V = grads[0], grads[1], eigenvectors
    if grad_V is None:
        inner = grad_L.unsqueeze(-1) * adjoint(V)
    else:
        turned = adjoint(V) @ grad_V
        check_phases("linalg.eig", turned)
        lengths = turned.diagonal(0, -2, -1).real.unsqueeze(-2)
        inner = divided_by_gaps(turned - adjoint(V) @ (V * lengths), eigenvalues.conj())
        if grad_L is not None:
            inner = inner + grad_L.diag_embed()
        inner = inner @ adjoint(V)
    return solve(adjoint(V), inner)                     # of which a real x takes the real part


def eig(TensorBase A not None, *, out=None):
    """The eigenvalues and eigenvectors of square matrices, A = V @ diag(L) @ inv(V).

    Parameters
    ----------
    A : Tensor, shape (*, n, n). Of symmetric matrices, `linalg.eigh` finds them sooner, and they are real

    Returns
    -------
    (eigenvalues, eigenvectors), complex, of shapes (*, n), in no order, and (*, n, n), a column of length 1 each. Its phase isn't
        determined; the derivative has a meaning only where that doesn't matter, and where all eigenvalues differ

    Raises
    ------
    LinAlgError
        If there are infinities or nan among the elements, or the algorithm doesn't converge.

    >>> import tensorlab
    >>> tensorlab.linalg.eig(tensorlab.tensor([[0., 1.], [-1., 0.]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """
    results = run_2(EIG, A, True)
    if out is not None:
        results = store_outs("linalg.eig", results, out, (A,))
    return return_types.linalg_eig(results)


def eigvals(TensorBase A not None, *, out=None):
    """The eigenvalues of square matrices, complex and in no order.

    Parameters
    ----------
    A : Tensor, shape (*, n, n). Those of symmetric matrices are real: `linalg.eigvalsh`

    >>> import tensorlab
    >>> tensorlab.linalg.eigvals(tensorlab.tensor([[0., 1.], [-1., 0.]]))
    tensor([0.+1.j, 0.-1.j])
    """
    return store_out("linalg.eigvals", run_2(EIG, A, wants_vectors(A))[0], out, (A,))
