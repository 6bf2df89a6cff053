"""Few singular values or eigenvalues of a large matrix, which is only multiplied with.

Random vectors, multiplied by a matrix a few times, soon lie in the space of its largest
singular values; a small matrix says the rest. Source: N. Halko, P. Martinsson and J. Tropp,
"Finding structure with randomness", 2009.
"""

from tensorlab._core.dtypes import finfo
from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.joining import cat
from tensorlab.ops.linalg.checks import check_matrices, check_square_matrices
from tensorlab.ops.linalg.cholesky import cholesky
from tensorlab.ops.linalg.orthogonal import qr
from tensorlab.ops.linalg.spectral import eigh, svd
from tensorlab.ops.linalg.triangular import solve_triangular
from tensorlab.ops.random_factories import randn


def svd_lowrank(A, q=6, niter=2, M=None):
    """The singular value decomposition of a matrix of low rank, or what is largest of it, at random.

    A is about U @ diag(S) @ V.mH.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    q : int, how many singular values; a little more than the rank
    niter : int, how often a random basis is improved
    M : Tensor, optional, of a shape that broadcasts to A's, subtracted from A first

    Returns
    -------
    (U, S, V), of shapes (*, m, q), (*, q) and (*, n, q)

    >>> import tensorlab
    >>> tensorlab.svd_lowrank(tensorlab.ones(4, 4), q=1)[1].round(decimals=3)
    tensor([4.])
    """
    check_matrices("svd_lowrank", A)
    q = 6 if q is None else q
    if M is not None:
        A = A - M.broadcast_to(A.shape)
    is_wide = A.size(-2) < A.size(-1)
    if is_wide:
        A = adjoint(A)
    Q = _basis_of_largest(A, q, niter)
    U, S, Vh = svd(adjoint(Q) @ A, False)
    U, V = Q @ U, adjoint(Vh)
    return (V, S, U) if is_wide else (U, S, V)


def _basis_of_largest(A, q, niter):
    Q = qr(A @ randn(A.size(-1), q, dtype=A.dtype, device=A.device)).Q
    for _ in range(2 if niter is None else niter):
        Q = qr(adjoint(A) @ Q).Q
        Q = qr(A @ Q).Q
    return Q


def pca_lowrank(A, q=None, center=True, niter=2):
    """The largest principal components of data, at random: `svd_lowrank` of A without the mean of its rows.

    Parameters
    ----------
    A : Tensor, shape (*, observations, features)
    q : int, how many; at most 6 unless given
    center : bool, subtract the mean of each feature
    niter : int, how often a random basis is improved

    Returns
    -------
    (U, S, V): the columns of V are the components, and A @ V[:, :k] projects onto the first k

    >>> import tensorlab
    >>> tensorlab.pca_lowrank(tensorlab.tensor([[1., 1.], [2., 2.], [3., 3.]]), q=1)[1].round(decimals=3)
    tensor([2.])
    """
    check_matrices("pca_lowrank", A)
    most = min(A.shape[-2:])
    if q is None:
        q = min(6, most)
    elif not 0 <= q <= most:
        raise ValueError(f"pca_lowrank: q is {q}; expected 0 to {most}, the smaller size of A")
    if niter < 0:
        raise ValueError(f"pca_lowrank: niter is {niter}; expected 0 or more")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


# ------------------------------------------------------------------------------ lobpcg
def lobpcg(
    A,
    k=None,
    B=None,
    X=None,
    n=None,
    iK=None,
    niter=None,
    tol=None,
    largest=None,
    method=None,
    tracker=None,
    ortho_iparams=None,
    ortho_fparams=None,
    ortho_bparams=None,
):
    """The k largest or smallest eigenvalues of A v = lambda B v, with A symmetric and B positive definite.

    In each step the eigenvectors are looked for in the space of the last ones, their residuals and the
    last steps: locally optimal block preconditioned conjugate gradients. Where a gradient is wanted, all
    eigenvectors are computed. Source: A. Knyazev, "Toward the optimal preconditioned eigensolver", 2001.

    Parameters
    ----------
    A : Tensor, shape (*, m, m), symmetric
    k : int, how many; the columns of X, or 1, unless given
    B : Tensor, shape (*, m, m), optional
    X : Tensor, shape (*, m, n), optional: first guesses, random unless given
    n : int, how many columns a random X has; k unless given
    iK : Tensor, shape (*, m, m), optional: something like the inverse of A
    niter : int, the most steps; 1000 unless given
    tol : float, the size of residuals, relative to A, at which it ends
    largest : bool, the largest (default) or the smallest eigenvalues
    method : "ortho" or "basic"; one algorithm serves both here
    tracker, ortho_iparams, ortho_fparams, ortho_bparams : not used

    Returns
    -------
    (E, X), of shapes (*, k) and (*, m, k)

    >>> import tensorlab
    >>> tensorlab.lobpcg(tensorlab.diag(tensorlab.arange(9.)), k=1)[0].round(decimals=3)
    tensor([8.])
    """
    check_square_matrices("lobpcg", A)
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"lobpcg: method is {method!r}; expected 'ortho' or 'basic'")
    size = A.size(-1)
    if k is None:
        k = 1 if X is None else X.size(-1)
    n = k if n is None else n
    if X is not None:
        n = X.size(-1)
    if size < 3 * n:
        raise ValueError(
            f"lobpcg: A is of order {size} and {n} vectors are looked for; expected an order of at least "
            f"{3 * n}, so call linalg.eigh for such a small matrix"
        )
    largest = True if largest is None else largest
    if A.requires_grad or (B is not None and B.requires_grad):
        return _dense_eigenvectors(A, B, k, largest)
    if A.dim() > 2:
        parts = [
            lobpcg(
                A.flatten(0, -3)[i],
                k,
                None if B is None else B.expand(A.shape).flatten(0, -3)[i],
                None if X is None else X.flatten(0, -3)[i],
                n,
                None if iK is None else iK.expand(A.shape).flatten(0, -3)[i],
                niter,
                tol,
                largest,
            )
            for i in range(A.shape[:-2].numel())
        ]
        E = cat([one[0] for one in parts]).reshape(*A.shape[:-2], k)
        vectors = cat([one[1] for one in parts]).reshape(*A.shape[:-2], size, k)
        return E, vectors
    X = randn(size, n, dtype=A.dtype, device=A.device) if X is None else X
    tol = finfo(A.dtype).eps ** 0.5 if tol is None else tol
    return _conjugate_gradients(
        A, B, X, iK, k, 1000 if niter is None or niter < 0 else niter, tol, largest
    )


def _dense_eigenvectors(A, B, k, largest):
    """All eigenvectors, of which k are kept; a B is split by Cholesky and taken out on both sides."""
    if B is None:
        E, V = eigh(A)
    else:
        L = cholesky(B)
        left = solve_triangular(L, A, upper=False)
        E, V = eigh(solve_triangular(adjoint(L), left, upper=True, left=False))
        V = solve_triangular(adjoint(L), V, upper=True)
    if largest:
        return E[..., -k:].flip(-1), V[..., -k:].flip(-1)
    return E[..., :k], V[..., :k]


def _conjugate_gradients(A, B, X, iK, k, niter, tol, largest):
    sign = -1 if largest else 1
    norm = A.norm()
    E = residuals = directions = None
    for step in range(niter + 1):
        parts = [part for part in (X, residuals, directions) if part is not None]
        basis = _orthonormal(cat(parts, -1), B)
        values, vectors = eigh(sign * (adjoint(basis) @ (A @ basis)))
        count = X.size(-1)
        chosen = vectors[:, :count]
        new = basis @ chosen
        if step > 0:  # what each new vector has besides the last ones, which are orthonormal
            directions = new - X @ (adjoint(X if B is None else B @ X) @ new)
        X, E = new, sign * values[:count]
        residuals = A @ X - (X if B is None else B @ X) * E
        if (residuals[:, :k].norm() <= tol * norm).item():
            break
        if iK is not None:
            residuals = iK @ residuals
    return E[:k], X[:, :k]


def _orthonormal(x, B):
    """A basis of the columns' space, orthonormal in the product of B; directions that rounding made are left out."""
    lengths = x.norm(dim=0, keepdim=True)
    x = (x / lengths.where(lengths > 0, 1))[:, (lengths > 0).squeeze(0)]
    products = adjoint(x) @ (x if B is None else B @ x)
    values, vectors = eigh(products)
    kept = values > values[-1] * finfo(x.dtype).eps * 10 * x.size(-1)
    values, vectors = values[kept], vectors[:, kept]
    x = x @ (vectors / values.sqrt())
    products = adjoint(x) @ (x if B is None else B @ x)
    return solve_triangular(adjoint(cholesky(products)), x, upper=True, left=False)
