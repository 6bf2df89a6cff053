"""Orthogonal factors: QR, and the reflections that LAPACK makes Q of.

A reflection is H = I - tau v v^H, where v begins with zeros and a 1; what follows that 1 lies below the diagonal of the matrix
that `geqrf` returns, in v's column. Q = H_1 H_2 ... H_k.
"""
from libc.stdlib cimport free, malloc

from tensorlab._core.dispatch.dispatch cimport run_1, run_2, run_5
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport store_out, store_outs
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.iterator cimport copy_into, plain, put_back
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, result_beside
from tensorlab.ops.linalg.lapack_library cimport (
    C, GEQRF, ORGQR, ORMQR, geqrf_function, lapack, orgqr_function, ormqr_function
)
from tensorlab.ops.linalg.matrix_batches cimport (
    Job, add_matrices, batch_beside, check_alike, check_matrix, columns_copy, columns_for,
    matrices_beside, matrix_at, plain_for, run_job, start_job
)
from tensorlab.ops.linalg.small_reflections cimport multiply_in_lanes, reflect_in_lanes

from tensorlab import return_types
from tensorlab.errors import GradientError, ShapeError
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.joining import cat
from tensorlab.ops.linalg.cholesky import mirrored
from tensorlab.ops.linalg.triangular import solve_triangular

cdef enum:
    PANEL = 64                  # columns that LAPACK works on at once, and so the workspace it likes


# ---------------------------------------------------------------- geqrf
cdef void reflect_matrices(void* context, ssize begin, ssize end) noexcept nogil:
    """R and reflections of each, in place. Tensors: A, tau."""
    reflect_in_lanes(reflect_by_lapack, <Job*>context, begin, end)

cdef void reflect_by_lapack(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    cdef geqrf_function geqrf = <geqrf_function>lapack[GEQRF][job.column]
    cdef int ld = max(1, job.m), lwork = max(1, job.n) * PANEL, info
    cdef void* work = malloc(<ssize>lwork * job.size)
    cdef ssize i
    if work == NULL:
        job.out_of_memory = True
        return
    for i in range(begin, end):
        geqrf(&job.m, &job.n, matrix_at(job, 0, i), &ld, matrix_at(job, 1, i), work, &lwork, &info)
    free(work)


cdef int reflect(TensorBase columns, TensorBase tau) except -1:
    cdef Job job
    start_job(&job, columns)
    add_matrices(&job, tau, 1)
    return run_job(reflect_matrices, &job, <ssize>job.m * job.n * min(job.m, job.n))


cdef Op GEQRF_OP = Op("geqrf(Tensor x) -> (Tensor a, Tensor tau)")

@GEQRF_OP.infer
def geqrf_infer(TensorBase x):
    check_matrix("geqrf", x, "input")
    m, n = x.sizes[x.ndim_ - 2], x.sizes[x.ndim_ - 1]
    return matrices_beside(x, m, n), batch_beside(x, x.dtype_, 1, min(m, n))

@GEQRF_OP.kernel
def geqrf_kernel(TensorBase a, TensorBase tau, TensorBase x):
    cdef TensorBase target = columns_for(a), plain_tau = plain_for(tau)
    copy_into(target, x)
    reflect(target, plain_tau)
    put_back(a, target)
    put_back(tau, plain_tau)

@GEQRF_OP.derivative("x")
def geqrf_derivative(grads):
    raise GradientError("geqrf: the reflections have no derivative here, as in PyTorch; call linalg.qr, which has one")


def geqrf(TensorBase input not None, *, out=None):
    """The QR factorisation in LAPACK's form: R, and Q as reflections. `linalg.qr` returns Q and R themselves.

    Parameters
    ----------
    input : Tensor, shape (*, m, n)

    Returns
    -------
    (a, tau): R in the upper triangle of `a`, the reflections below it; a factor for each of them, shape (*, min(m, n))

    >>> import tensorlab
    >>> tensorlab.geqrf(tensorlab.tensor([[3.], [4.]])).tau
    tensor([1.6000])
    """
    results = run_1(GEQRF_OP, input)
    if out is not None:
        results = store_outs("geqrf", results, out, (input,))
    return return_types.geqrf(results)


# ---------------------------------------------------------------- householder_product
cdef void multiply_reflections(void* context, ssize begin, ssize end) noexcept nogil:
    """The first n columns of Q, over the k reflections. Tensors: reflections, tau."""
    multiply_in_lanes(multiply_by_lapack, <Job*>context, begin, end)

cdef void multiply_by_lapack(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    cdef orgqr_function orgqr = <orgqr_function>lapack[ORGQR][job.column]
    cdef int ld = max(1, job.m), lwork = max(1, job.n) * PANEL, info
    cdef void* work = malloc(<ssize>lwork * job.size)
    cdef ssize i
    if work == NULL:
        job.out_of_memory = True
        return
    for i in range(begin, end):
        orgqr(&job.m, &job.n, &job.k, matrix_at(job, 0, i), &ld, matrix_at(job, 1, i), work, &lwork, &info)
    free(work)


cdef int multiply(TensorBase columns, TensorBase tau) except -1:
    cdef Job job
    start_job(&job, columns)
    add_matrices(&job, tau, 1)
    job.k = <int>tau.sizes[tau.ndim_ - 1]
    return run_job(multiply_reflections, &job, <ssize>job.m * job.n * job.k)


cdef int check_reflections(str where, TensorBase x, TensorBase tau) except -1:
    if x.ndim_ < 2:
        check_matrix(where, x, "input")
    check_alike(where, x, tau, "input", "tau")
    cdef ssize n = x.sizes[x.ndim_ - 1]
    cdef int i
    cdef bint is_right = tau.ndim_ == x.ndim_ - 1
    if is_right:
        for i in range(tau.ndim_ - 1):
            is_right = is_right and tau.sizes[i] == x.sizes[i]
    if not is_right:
        raise ShapeError(f"{where}: tau has shape {tuple(tau.shape)} and input {tuple(x.shape)}; expected the same batch, "
                         f"and one dimension more in input")
    if tau.sizes[tau.ndim_ - 1] > n:
        raise ShapeError(f"{where}: there are {tau.sizes[tau.ndim_ - 1]} factors in tau, and input has {n} columns, a "
                         f"reflection each; expected no more than that")
    return check_matrix(where, x, "input")              # the type, after the shapes, as PyTorch


cdef Op HOUSEHOLDER_PRODUCT = Op("linalg_householder_product(Tensor x, Tensor tau) -> Tensor", public={"x": "input"},
                                 holomorphic=False)

@HOUSEHOLDER_PRODUCT.infer
def householder_product_infer(TensorBase x, TensorBase tau):
    check_reflections("linalg.householder_product", x, tau)
    m, n = x.sizes[x.ndim_ - 2], x.sizes[x.ndim_ - 1]
    if m < n:
        raise ShapeError(f"linalg.householder_product: input has {m} rows and {n} columns; expected no more columns than "
                         f"rows, as an m x m matrix Q has no more")
    return matrices_beside(x, m, n)

@HOUSEHOLDER_PRODUCT.kernel
def householder_product_kernel(TensorBase out, TensorBase x, TensorBase tau):
    cdef TensorBase target = columns_for(out)
    copy_into(target, x)
    multiply(target, plain(tau))
    put_back(out, target)


def reflections_backward(grad, x, tau, other, transpose):
    """The gradients of x, tau and `other` through Q @ other, or Q^H @ other, one reflection after the other.

    Of one, out = y - tau v (v^H y), they are: -conj(tau) grad (v^H y)^H - tau y (v^H grad)^H, of which what lies below the
    diagonal counts; -(v^H grad) (v^H y)^H; and grad - conj(tau) v (v^H grad).
    """
    k = tau.size(-1)
    vectors = x[..., :k].tril(-1) + x.detach().new_zeros(x.size(-2), k).fill_diagonal_(1)
    columns, grad_vectors, grad_factors = list(vectors.split(1, -1)) if k else [], [None] * k, [None] * k
    factors = [tau[..., i, None, None].conj() if transpose else tau[..., i, None, None] for i in range(k)]
    order = list(range(k)) if transpose else list(range(k - 1, -1, -1))
    seen = []                                           # what each reflection was applied to
    for i in order:
        seen.append(other)
        other = other - factors[i] * (columns[i] @ (adjoint(columns[i]) @ other))
    for j in range(k - 1, -1, -1):
        i, y = order[j], seen[j]
        row, grad_row = adjoint(columns[i]) @ y, adjoint(columns[i]) @ grad
        grad_vectors[i] = -(factors[i].conj() * (grad @ adjoint(row)) + factors[i] * (y @ adjoint(grad_row)))
        grad_factors[i] = -(grad_row @ adjoint(row)).squeeze(-1)
        grad = grad - factors[i].conj() * (columns[i] @ grad_row)
    if k == 0:
        return 0 * x, 0 * tau, grad + (x[..., :k].sum() + tau.sum())    # sums of nothing, which lead to x and tau
    grad_tau = cat(grad_factors, -1)
    below = cat(grad_vectors, -1).tril(-1)
    if k < x.size(-1):
        below = cat([below, x.detach().new_zeros(x.shape)[..., k:]], -1)
    return below, grad_tau.conj() if transpose else grad_tau, grad

@HOUSEHOLDER_PRODUCT.derivative("x", "tau")
def householder_product_derivative(grad, x, tau):
    identity = x.detach().new_zeros(x.shape)
    identity.diagonal(0, -2, -1).fill_(1)
    return reflections_backward(grad, x, tau, identity, False)[:2]


def householder_product(TensorBase A not None, TensorBase tau not None, *, out=None):
    """The first n columns of the product of reflections, as `geqrf` returns them: the Q of a QR factorisation.

    Parameters
    ----------
    A : Tensor, shape (*, m, n), the reflections below its diagonal
    tau : Tensor, shape (*, k), with k <= n <= m, the factor of each

    >>> import tensorlab
    >>> tensorlab.linalg.householder_product(*tensorlab.geqrf(tensorlab.tensor([[3.], [4.]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    return store_out("linalg.householder_product", run_2(HOUSEHOLDER_PRODUCT, A, tau), out, (A, tau))


def orgqr(TensorBase input not None, TensorBase tau not None, *, out=None):
    """The product of reflections: `linalg.householder_product`.

    >>> import tensorlab
    >>> tensorlab.orgqr(*tensorlab.geqrf(tensorlab.tensor([[3.], [4.]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    return householder_product(input, tau, out=out)


# ---------------------------------------------------------------- ormqr
cdef void multiply_by_reflections(void* context, ssize begin, ssize end) noexcept nogil:
    """Q times a matrix, in place. Tensors: the matrix (m, n), reflections (the order of Q, k), tau; flags: side, Q or Q^H."""
    cdef Job* job = <Job*>context
    cdef ormqr_function ormqr = <ormqr_function>lapack[ORMQR][job.column]
    cdef int order = job.m if job.flags[0] == b"L" else job.n
    cdef int ld = max(1, job.m), ldq = max(1, order), lwork = max(1, max(job.m, job.n)) * PANEL + 65 * PANEL, info
    cdef void* work = malloc(<ssize>lwork * job.size)
    cdef ssize i
    if work == NULL:
        job.out_of_memory = True
        return
    for i in range(begin, end):
        ormqr(&job.flags[0], &job.flags[1], &job.m, &job.n, &job.k, matrix_at(job, 1, i), &ldq, matrix_at(job, 2, i),
              matrix_at(job, 0, i), &ld, work, &lwork, &info)
    free(work)


cdef Op ORMQR_OP = Op("ormqr(Tensor x, Tensor tau, Tensor other, bool left=True, bool transpose=False) -> Tensor",
                      public={"tau": "input2", "other": "input3"}, holomorphic=False)

cdef int check_ormqr(TensorBase x, TensorBase tau, TensorBase other, bint left) except -1:
    cdef int i
    check_reflections("ormqr", x, tau)
    check_matrix("ormqr", other, "other")
    check_alike("ormqr", x, other, "input", "other")
    if other.ndim_ != x.ndim_:
        raise ShapeError(f"ormqr: input has shape {tuple(x.shape)} and other {tuple(other.shape)}; expected the same batch")
    for i in range(x.ndim_ - 2):
        if x.sizes[i] != other.sizes[i]:
            raise ShapeError(f"ormqr: input has shape {tuple(x.shape)} and other {tuple(other.shape)}; expected the same "
                             f"batch")
    order = other.sizes[other.ndim_ - 2 if left else other.ndim_ - 1]
    if x.sizes[x.ndim_ - 2] != order:
        raise ShapeError(f"ormqr: Q is of order {x.sizes[x.ndim_ - 2]}, and other has {order} "
                         f"{'rows' if left else 'columns'}; expected as many")
    if tau.sizes[tau.ndim_ - 1] != min(order, x.sizes[x.ndim_ - 1]):
        raise ShapeError(f"ormqr: there are {tau.sizes[tau.ndim_ - 1]} factors in tau, and input has shape {tuple(x.shape)}; "
                         f"expected a factor for each of its {min(order, x.sizes[x.ndim_ - 1])} reflections")
    return 0

@ORMQR_OP.infer
def ormqr_infer(TensorBase x, TensorBase tau, TensorBase other, bint left, transpose):
    check_ormqr(x, tau, other, left)
    return matrices_beside(other, other.sizes[other.ndim_ - 2], other.sizes[other.ndim_ - 1])

@ORMQR_OP.kernel
def ormqr_kernel(TensorBase out, TensorBase x, TensorBase tau, TensorBase other, bint left, bint transpose):
    cdef TensorBase target = columns_for(out)
    cdef Job job
    copy_into(target, other)
    x, tau = columns_copy(x), plain(tau)                # LAPACK writes ones into the reflections for a while
    start_job(&job, target)
    add_matrices(&job, x)
    add_matrices(&job, tau, 1)
    job.k = <int>tau.sizes[tau.ndim_ - 1]
    job.flags[0] = b"L" if left else b"R"
    job.flags[1] = b"N" if not transpose else b"T" if job.column < C else b"C"
    run_job(multiply_by_reflections, &job, <ssize>job.m * job.n * job.k)
    put_back(out, target)

@ORMQR_OP.derivative("x", "tau", "other")
def ormqr_derivative(grad, x, tau, other, left, transpose):
    if left:
        return reflections_backward(grad, x, tau, other, transpose)
    grad_x, grad_tau, grad_other = reflections_backward(adjoint(grad), x, tau, adjoint(other), not transpose)
    return grad_x, grad_tau, adjoint(grad_other)         # (other Q)^H = Q^H other^H


def ormqr(TensorBase input not None, TensorBase tau not None, TensorBase other not None, bint left=True,
          bint transpose=False, *, out=None):
    """The product of a matrix with the Q of a QR factorisation, which isn't formed.

    Parameters
    ----------
    input, tau : Tensor, shapes (*, m, n) and (*, k), reflections and their factors, as `geqrf` returns them
    other : Tensor, shape (*, m, p), or (*, p, m) with left=False
    left : bool, whether Q stands on the left
    transpose : bool, whether Q^H stands for Q

    >>> import tensorlab
    >>> x = tensorlab.tensor([[3.], [4.]])
    >>> tensorlab.ormqr(*tensorlab.geqrf(x), x, transpose=True)
    tensor([[-5.],
            [ 0.]])
    """
    return store_out("ormqr", run_5(ORMQR_OP, input, tau, other, left, transpose), out, (input, tau, other))


# ---------------------------------------------------------------- qr
cdef Op QR = Op("linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", holomorphic=False)

MODES = ("reduced", "complete", "r")

@QR.infer
def qr_infer(TensorBase A, mode):
    cdef ssize nothing = 0
    check_matrix("linalg.qr", A)
    if not isinstance(mode, str):
        raise TypeError(f"linalg.qr: mode is {mode!r}; expected one of {', '.join(MODES)}")
    if mode not in MODES:
        raise ShapeError(f"linalg.qr: mode is {mode!r}; expected one of {', '.join(MODES)}")
    m, n = A.sizes[A.ndim_ - 2], A.sizes[A.ndim_ - 1]
    k = m if mode == "complete" else min(m, n)
    Q = result_beside(A, A.dtype_, 1, &nothing) if mode == "r" else matrices_beside(A, m, k)
    return Q, matrices_beside(A, k, n)

@QR.kernel
def qr_kernel(TensorBase Q, TensorBase R, TensorBase A, mode):
    """R is the upper triangle of what geqrf leaves, and Q is made of the rest."""
    cdef TensorBase work = columns_copy(A), target
    cdef ssize m = A.sizes[A.ndim_ - 2], n = A.sizes[A.ndim_ - 1], rows = R.sizes[R.ndim_ - 2], k
    cdef TensorBase tau = batch_beside(A, A.dtype_, 1, min(m, n))
    tau = empty_beside(A, A.dtype_, tau.ndim_, tau.sizes)
    reflect(work, tau)
    copy_into(R, cut(work, min(rows, m), n).triu())
    if mode != "r":
        target = columns_for(Q)
        k = min(target.sizes[target.ndim_ - 1], n)
        copy_into(cut(target, m, k), cut(work, m, k))
        multiply(target, tau)
        put_back(Q, target)

cdef TensorBase cut(TensorBase x, ssize rows, ssize columns):
    """The upper left part of matrices."""
    cdef ssize[MAX_NDIM] sizes
    cdef int i
    for i in range(x.ndim_ - 2):
        sizes[i] = x.sizes[i]
    sizes[x.ndim_ - 2], sizes[x.ndim_ - 1] = rows, columns
    return alias_as(x, x.ndim_, sizes, x.strides, x.data_)

@QR.derivative("A")
def qr_derivative(grads, Q, R, mode):
    """[grad_Q + Q mirrored(triu(grad_R R^H - Q^H grad_Q))] R^-H of matrices with no more columns than rows.

    Of a wider one, the first columns have that R, and the others are Q^H A. Source: H. Liao, J. Liu, L. Wang and T. Xiang,
    "Differentiable programming tensor networks", 2019, and J. Roberts and L. Roberts, "QR and LQ decomposition matrix
    backpropagation algorithms for square, wide, and deep matrices", 2020.
    """
    if mode == "r":
        raise GradientError("linalg.qr: the derivative needs Q, which isn't computed with mode='r'; call it with "
                            "mode='reduced'")
    m, n, grad_Q, grad_R = Q.size(-2), R.size(-1), grads[0], grads[1]
    if mode == "complete" and m > n:
        raise GradientError(f"linalg.qr: with mode='complete', a matrix of {m} rows and {n} columns has no derivative, as "
                            f"the last {m - n} columns of Q aren't determined; call it with mode='reduced'")
    inner = 0
    if grad_R is not None:
        inner = grad_R @ adjoint(R)
    if grad_Q is not None:
        inner = inner - adjoint(Q) @ grad_Q
    if m >= n:
        result = Q @ mirrored(adjoint(inner))
        if grad_Q is not None:
            result = result + grad_Q
        return solve_triangular(adjoint(R), result, upper=False, left=False)
    turned = (adjoint(inner) - inner).tril(-1)
    if inner.is_complex():
        turned = turned - (inner.diagonal(0, -2, -1).imag * 1j).diag_embed()
    first = solve_triangular(adjoint(R[..., :m]), Q @ turned, upper=False, left=False)
    result = cat([first, first.new_zeros(R.shape).narrow(-1, 0, n - m)], -1)
    return result if grad_R is None else result + Q @ grad_R


def qr(TensorBase A not None, mode="reduced", *, out=None):
    """The QR factorisation of matrices, A = Q @ R: the columns of Q are orthonormal, R is upper triangular.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    mode : "reduced": Q is (*, m, k) and R (*, k, n), with k = min(m, n); "complete": Q is (*, m, m) and R (*, m, n);
        "r": only R is computed, and Q is empty

    >>> import tensorlab
    >>> tensorlab.linalg.qr(tensorlab.tensor([[3.], [4.]])).R
    tensor([[-5.]])
    """
    results = run_2(QR, A, mode)
    if out is not None:
        results = store_outs("linalg.qr", results, out, (A,))
    return return_types.linalg_qr(results)
