"""Eigenvalues and singular values: of symmetric matrices A = V diag(L) V^H, and of any A = U diag(S) V^H.

Neither is unique: each eigenvector may be multiplied by -1, and if two values are equal, any orthonormal basis of their space
does. A function of the vectors only has a derivative if it doesn't depend on that choice, and where values are equal, the
formulas divide by 0: the gradient is inf or nan then, as in PyTorch. Functions of the values alone have no such trouble.
"""
from libc.stdlib cimport free, malloc

from tensorlab._core.dispatch.dispatch cimport run_3, run_4
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out, store_outs
from tensorlab._core.dtypes cimport INT32, real_dtype
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport copy_into, put_back
from tensorlab._core.tensor cimport TensorBase, empty_beside, result_beside
from tensorlab.ops.linalg.lapack_library cimport (
    C, GESDD, SYEVD, complex_gesdd_function, gesdd_function, heevd_function, lapack, syevd_function
)
from tensorlab.ops.linalg.matrix_batches cimport (
    Job, add_matrices, batch_beside, check_matrix, check_square, columns_copy, columns_for,
    first_failure, matrices_beside, matrix_at, plain_for, real_size, run_job, start_job,
    wants_vectors, work_size
)
from tensorlab.ops.linalg.small_matrices cimport eigen_lanes, in_lanes, singular_lanes

from tensorlab import return_types
from tensorlab.errors import GradientError, LinAlgError, NoDataError, ShapeError
from tensorlab.ops.dimensions import adjoint


cdef TensorBase new_info(TensorBase x):
    cdef TensorBase info = batch_beside(x, INT32)
    return empty_beside(x, INT32, info.ndim_, info.sizes)


# ---------------------------------------------------------------- eigh
cdef void find_eigenvectors(void* context, ssize begin, ssize end) noexcept nogil:
    """Of symmetric matrices, in place. Tensors: A, eigenvalues, info; flags: with vectors or without, the triangle."""
    in_lanes(eigen_lanes, find_by_lapack, <Job*>context, begin, end)

cdef void find_by_lapack(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    cdef int n = job.n, ld = max(1, job.n), lwork = 1 + 6 * n + 2 * n * n + 64 * n, liwork = 3 + 5 * n
    cdef int lrwork = 1 + 5 * n + 2 * n * n
    cdef void* work = malloc(<ssize>lwork * job.size)
    cdef void* rwork = malloc(<ssize>lrwork * real_size(job))
    cdef int* iwork = <int*>malloc(<ssize>liwork * sizeof(int))
    cdef ssize i
    if work == NULL or iwork == NULL or rwork == NULL:
        job.out_of_memory = True
        end = begin
    for i in range(begin, end):
        if job.column < C:
            (<syevd_function>lapack[SYEVD][job.column])(
                &job.flags[0], &job.flags[1], &job.n, matrix_at(job, 0, i), &ld, matrix_at(job, 1, i), work, &lwork, iwork,
                &liwork, <int*>matrix_at(job, 2, i))
        else:
            (<heevd_function>lapack[SYEVD][job.column])(
                &job.flags[0], &job.flags[1], &job.n, matrix_at(job, 0, i), &ld, matrix_at(job, 1, i), work, &lwork, rwork,
                &lrwork, iwork, &liwork, <int*>matrix_at(job, 2, i))
    free(work)
    free(rwork)
    free(iwork)


cdef Op EIGH = Op("_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
                  checks_values=True, holomorphic=False)

@EIGH.infer
def eigh_infer(TensorBase A, UPLO, bint compute_v):
    cdef ssize nothing = 0, n
    check_square("linalg.eigh", A)
    if not isinstance(UPLO, str):
        raise TypeError(f"linalg.eigh: UPLO is {UPLO!r}; expected 'L' or 'U', the triangle that is read")
    if UPLO.upper() not in ("L", "U"):
        raise ShapeError(f"linalg.eigh: UPLO is {UPLO!r}; expected 'L' or 'U', the triangle that is read")
    n = A.sizes[A.ndim_ - 1]
    return (batch_beside(A, real_dtype(A.dtype_), 1, n),
            matrices_beside(A, n, n) if compute_v else result_beside(A, A.dtype_, 1, &nothing))

@EIGH.kernel
def eigh_kernel(TensorBase eigenvalues, TensorBase eigenvectors, TensorBase A, UPLO, bint compute_v):
    cdef TensorBase vectors = columns_for(eigenvectors) if compute_v else columns_copy(A)
    cdef TensorBase values = plain_for(eigenvalues), info = new_info(A)
    cdef ssize n = A.sizes[A.ndim_ - 1]
    cdef Job job
    if compute_v:
        copy_into(vectors, A)
    start_job(&job, vectors)
    add_matrices(&job, values, 1)
    add_matrices(&job, info, 0)
    job.flags[0] = b"V" if compute_v else b"N"
    job.flags[1] = b"U" if UPLO in ("U", "u") else b"L"
    run_job(find_eigenvectors, &job, 4 * n * n * n)
    failure = first_failure(info)
    if failure is not None:
        raise LinAlgError(f"linalg.eigh: {failure[0]} has no eigenvalues that the algorithm finds ({failure[1]} of its steps "
                          f"didn't converge); look for nan and inf among its elements")
    put_back(eigenvalues, values)
    if compute_v:
        put_back(eigenvectors, vectors)

@EIGH.derivative("A")
def eigh_derivative(grads, eigenvalues, eigenvectors):
    """V [diag(grad_L) + skew(V^H grad_V) / (L_j - L_i)] V^H.

    Source: M. Giles, "An extended collection of matrix derivative results", 2008, section 3.1.
    """
    grad_L, grad_V = grads[0], grads[1]
    V = eigenvectors
    if grad_V is None:
        return (V * grad_L.unsqueeze(-2)) @ adjoint(V)
    turned = adjoint(V) @ grad_V
    check_phases("linalg.eigh", turned)
    inner = divided_by_gaps(0.5 * (turned - adjoint(turned)), eigenvalues)
    if grad_L is not None:
        inner = inner + grad_L.to(inner.dtype).diag_embed()
    return V @ (inner @ adjoint(V))

def check_phases(where, turned):
    """Raise if a gradient depends on the phases of complex vectors, which aren't determined; those of `turned`'s diagonal."""
    if turned is None or not turned.is_complex():
        return
    phases = turned.detach().diagonal(0, -2, -1).imag
    try:
        depends = not phases.allclose(phases.new_zeros(()), 1e-2, 1e-2)
    except NoDataError:                                 # on meta, and of fake tensors
        return
    if depends:
        raise GradientError(f"{where}: the loss depends on the phases of the complex vectors, each of which may be multiplied "
                            f"by exp(i phi), so it has no derivative; let it depend on abs() of their elements, for example")

def divided_by_gaps(x, values):
    """x_ij / (values_j - values_i), with zeros on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    ones = gaps.detach().new_ones(values.shape).diag_embed()
    return x.tril(-1) / (gaps + ones) + x.triu(1) / (gaps + ones)


def eigh(TensorBase A not None, UPLO="L", *, out=None):
    """The eigenvalues and eigenvectors of symmetric matrices, A = V @ diag(L) @ V.mH.

    Parameters
    ----------
    A : Tensor, shape (*, n, n); only one triangle of it is read
    UPLO : "L" or "U", that triangle

    Returns
    -------
    (eigenvalues, eigenvectors), of shapes (*, n), in ascending order, and (*, n, n), a column each. The sign of a column isn't
        determined, nor are vectors of equal eigenvalues; the derivative has a meaning only where that doesn't matter

    Raises
    ------
    LinAlgError
        If the algorithm doesn't converge, as with nan among the elements.

    >>> import tensorlab
    >>> tensorlab.linalg.eigh(tensorlab.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
    """
    results = run_3(EIGH, A, UPLO, True)
    if out is not None:
        results = store_outs("linalg.eigh", results, out, (A,))
    return return_types.linalg_eigh(results)


def eigvalsh(TensorBase A not None, UPLO="L", *, out=None):
    """The eigenvalues of symmetric matrices, in ascending order; their derivative is always defined.

    Parameters
    ----------
    A : Tensor, shape (*, n, n); only one triangle of it is read
    UPLO : "L" or "U", that triangle

    >>> import tensorlab
    >>> tensorlab.linalg.eigvalsh(tensorlab.tensor([[2., 0.], [0., 1.]]))
    tensor([1., 2.])
    """
    return store_out("linalg.eigvalsh", run_3(EIGH, A, UPLO, wants_vectors(A))[0], out, (A,))


# ---------------------------------------------------------------- svd
cdef void find_singular_values(void* context, ssize begin, ssize end) noexcept nogil:
    """Tensors: A, which is overwritten, S, info, U, V^H; flag: which vectors are wanted."""
    in_lanes(singular_lanes, decompose_by_lapack, <Job*>context, begin, end)

cdef void decompose_by_lapack(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    cdef int ld = max(1, job.m), least = min(job.m, job.n), most = max(job.m, job.n), lwork = -1, info
    cdef int ldvh = max(1, job.n if job.flags[0] == b"A" else least)
    cdef double[4] asked
    cdef void* work = <void*>asked
    cdef void* rwork = NULL
    cdef int* iwork = <int*>malloc(8 * max(1, least) * sizeof(int))
    cdef ssize i
    if job.column >= C:
        rwork = malloc(max(1, least) * <ssize>max(5 * least + 7, 2 * most + 2 * least + 1) * real_size(job))
    if iwork != NULL:
        decompose(job, 0, ld, ldvh, work, &lwork, rwork, iwork, &info)
        lwork = work_size(job, work)
        work = malloc(<ssize>lwork * job.size)
    if iwork == NULL or work == NULL or (job.column >= C and rwork == NULL):
        job.out_of_memory = True
        end = begin
    for i in range(begin, end):
        decompose(job, i, ld, ldvh, work, &lwork, rwork, iwork, <int*>matrix_at(job, 2, i))
    if work != <void*>asked:
        free(work)
    free(rwork)
    free(iwork)


cdef void decompose(Job* job, ssize i, int ld, int ldvh, void* work, int* lwork, void* rwork, int* iwork,
                    int* info) noexcept nogil:
    cdef int ldu = max(1, job.m)
    cdef void* u = NULL if job.flags[0] == b"N" else matrix_at(job, 3, i)
    cdef void* vh = NULL if job.flags[0] == b"N" else matrix_at(job, 4, i)
    if job.column < C:
        (<gesdd_function>lapack[GESDD][job.column])(&job.flags[0], &job.m, &job.n, matrix_at(job, 0, i), &ld,
                                                    matrix_at(job, 1, i), u, &ldu, vh, &ldvh, work, lwork, iwork, info)
    else:
        (<complex_gesdd_function>lapack[GESDD][job.column])(
            &job.flags[0], &job.m, &job.n, matrix_at(job, 0, i), &ld, matrix_at(job, 1, i), u, &ldu, vh, &ldvh, work,
            lwork, rwork, iwork, info)


cdef Op SVD = Op("_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) "
                 "-> (Tensor U, Tensor S, Tensor Vh)", checks_values=True, holomorphic=False)

@SVD.infer
def svd_infer(TensorBase A, bint full_matrices, bint compute_uv, driver):
    cdef ssize nothing = 0, m, n, k
    check_matrix("linalg.svd", A)
    if driver is not None:
        raise ShapeError(f"linalg.svd: driver is {driver!r}; a driver can only be chosen on CUDA, so leave it out")
    m, n = A.sizes[A.ndim_ - 2], A.sizes[A.ndim_ - 1]
    k = min(m, n)
    S = batch_beside(A, real_dtype(A.dtype_), 1, k)
    if not compute_uv:
        return result_beside(A, A.dtype_, 1, &nothing), S, result_beside(A, A.dtype_, 1, &nothing)
    if full_matrices:
        return matrices_beside(A, m, m), S, matrices_beside(A, n, n)
    return matrices_beside(A, m, k), S, matrices_beside(A, k, n)

@SVD.kernel
def svd_kernel(TensorBase U, TensorBase S, TensorBase Vh, TensorBase A, bint full_matrices, bint compute_uv, driver):
    cdef TensorBase work = columns_copy(A), values = plain_for(S), info = new_info(A)
    cdef TensorBase left = None, right = None
    cdef ssize m = A.sizes[A.ndim_ - 2], n = A.sizes[A.ndim_ - 1]
    cdef Job job
    if compute_uv:
        left, right = columns_for(U), columns_for(Vh)
    if A.numel_ == 0:                                   # no singular values: any orthonormal basis is right
        if compute_uv:
            fill_identity(U)
            fill_identity(Vh)
        return
    start_job(&job, work)
    add_matrices(&job, values, 1)
    add_matrices(&job, info, 0)
    if compute_uv:
        add_matrices(&job, left)
        add_matrices(&job, right)
    job.flags[0] = b"N" if not compute_uv else b"A" if full_matrices else b"S"
    run_job(find_singular_values, &job, 8 * m * n * min(m, n))
    failure = first_failure(info)
    if failure is not None:
        raise LinAlgError(f"linalg.svd: {failure[0]} has no singular values that the algorithm finds (it says "
                          f"{failure[1]}); look for nan and inf among its elements")
    put_back(S, values)
    if compute_uv:
        put_back(U, left)
        put_back(Vh, right)

cdef int fill_identity(object x) except -1:
    x.zero_()
    x.diagonal(0, -2, -1).fill_(1)
    return 0

@SVD.derivative("A")
def svd_derivative(grads, U, S, Vh):
    """U [(skew(U^H grad_U) S + S skew(V^H grad_V)) / (S_j^2 - S_i^2) + diag(grad_S)] V^H, and what leaves their spaces.

    Source: J. Townsend, "Differentiating the singular value decomposition", 2016. Of full matrices, the columns that belong to
    singular values count.
    """
    grad_U, grad_S, grad_Vh = grads[0], grads[1], grads[2]
    m, n, k = U.size(-2), Vh.size(-1), S.size(-1)
    U, Vh = U[..., :k], Vh[..., :k, :]
    if grad_U is None and grad_Vh is None:
        return (U * grad_S.unsqueeze(-2)) @ Vh
    squares = S * S
    inner, phases = 0, None
    if grad_U is not None:
        grad_U = grad_U[..., :k]
        turned = adjoint(U) @ grad_U
        inner = divided_by_gaps(turned - adjoint(turned), squares) * S.unsqueeze(-2)
        if turned.is_complex():                              # of both vectors of a pair only one phase is free
            phases = turned
            inner = inner + (turned.diagonal(0, -2, -1).imag * 1j / S).diag_embed()
    if grad_Vh is not None:
        grad_Vh = grad_Vh[..., :k, :]
        turned = Vh @ adjoint(grad_Vh)
        inner = inner + S.unsqueeze(-1) * divided_by_gaps(turned - adjoint(turned), squares)
        phases = turned if phases is None else phases + turned
    check_phases("linalg.svd", phases)
    if grad_S is not None:
        inner = inner + grad_S.to(inner.dtype).diag_embed()
    if m > k and grad_U is not None:
        outside = grad_U / S.unsqueeze(-2)
        return (U @ inner + outside - U @ (adjoint(U) @ outside)) @ Vh
    if n > k and grad_Vh is not None:
        outside = grad_Vh / S.unsqueeze(-1)
        return U @ (inner @ Vh + outside - (outside @ adjoint(Vh)) @ Vh)
    return U @ (inner @ Vh)


def svd(TensorBase A not None, bint full_matrices=True, *, driver=None, out=None):
    """The singular value decomposition of matrices, A = U @ diag(S) @ Vh.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    full_matrices : bool; True: U is (*, m, m) and Vh (*, n, n); False: (*, m, k) and (*, k, n), with k = min(m, n)
    driver : None; other values are for CUDA

    Returns
    -------
    (U, S, Vh); S has shape (*, k), in descending order. The columns of U and the rows of Vh are orthonormal; their signs are not
        determined, and the derivative has a meaning only where that doesn't matter

    Raises
    ------
    LinAlgError
        If the algorithm doesn't converge, as with nan among the elements.

    >>> import tensorlab
    >>> tensorlab.linalg.svd(tensorlab.tensor([[3., 0.], [0., 4.]])).S
    tensor([4., 3.])
    """
    results = run_4(SVD, A, full_matrices, True, driver)
    if out is not None:
        results = store_outs("linalg.svd", results, out, (A,))
    return return_types.linalg_svd(results)


def svdvals(TensorBase A not None, *, driver=None, out=None):
    """The singular values of matrices, in descending order; their derivative is always defined.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    driver : None; other values are for CUDA

    >>> import tensorlab
    >>> tensorlab.linalg.svdvals(tensorlab.tensor([[3., 0.], [0., 4.]]))
    tensor([4., 3.])
    """
    return store_out("linalg.svdvals", run_4(SVD, A, False, wants_vectors(A), driver)[1], out, (A,))
