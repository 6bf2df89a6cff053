"""How near matrices are to singular ones: rank and condition number."""

import math

from tensorlab._core.dispatch.out_argument import store_out
from tensorlab.errors import ShapeError
from tensorlab.ops.linalg.checks import check_matrices, check_square_matrices
from tensorlab.ops.linalg.matrix_norms import matrix_norm
from tensorlab.ops.linalg.pseudo_inverse import real_dtype, tolerance
from tensorlab.ops.linalg.solving import inv_ex
from tensorlab.ops.linalg.spectral import eigvalsh, svdvals


# ------------------------------------------------------------------------------ matrix_rank
def matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None, out=None):
    """How many singular values of each matrix aren't 0.

    Parameters
    ----------
    A : Tensor, shape (*, m, n)
    atol, rtol : float or Tensor, above which size a singular value counts: above
        `max(atol, rtol * largest)`. With neither, rtol is eps * max(m, n); with atol alone, 0
    tol : another name of atol
    hermitian : bool, whether A is symmetric, which is faster

    Returns
    -------
    Tensor, int64, shape (*)

    >>> import tensorlab
    >>> tensorlab.linalg.matrix_rank(tensorlab.ones(3, 3))
    tensor(1)
    """
    check_matrices("linalg.matrix_rank", A)
    if tol is not None:
        atol = tol
        rtol = 0.0
    plain = A.detach()
    if hermitian:
        check_square_matrices("linalg.matrix_rank", A)
    if A.numel() == 0:
        result = plain.new_zeros(A.shape[:-2]).long()
    else:
        sizes = eigvalsh(plain).abs() if hermitian else svdvals(plain)
        result = (sizes > tolerance(A, sizes, atol, rtol, "linalg.matrix_rank")).sum(-1)
    return store_out("linalg.matrix_rank", result, out, (A,))


# ------------------------------------------------------------------------------ cond
NORMS = ("fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2)


def cond(A, p=None, *, out=None):
    """The condition number of matrices: how much a solution of A x = b may change, relatively, if b does.

    A number of 10**d costs about d digits.

    Parameters
    ----------
    A : Tensor, shape (*, m, n); square unless p is None, 2 or -2
    p : None or 2: the largest singular value by the smallest; -2: the reverse; "fro", "nuc", inf,
        -inf, 1, -1: the norm of A times that of its inverse, and inf for singular matrices

    Returns
    -------
    Tensor, real, shape (*)

    >>> import tensorlab
    >>> tensorlab.linalg.cond(tensorlab.tensor([[1., 0.], [0., 100.]]))
    tensor(100.)
    """
    check_matrices("linalg.cond", A)
    if p is not None and p not in NORMS:
        raise ShapeError(f"linalg.cond: p is {p!r}; expected None or one of {NORMS}")
    if p not in (None, 2, -2):
        check_square_matrices("linalg.cond", A)
    if A.numel() == 0:
        result = A.new_zeros(A.shape[:-2]).to(real_dtype(A))
    elif p in (None, 2, -2):
        S = svdvals(A)
        result = S[..., -1] / S[..., 0] if p == -2 else S[..., 0] / S[..., -1]
    else:
        inverse, info = inv_ex(A)
        size = matrix_norm(A, p)
        result = (size * matrix_norm(inverse, p)).masked_fill((info > 0) & ~size.isnan(), math.inf)
    return store_out("linalg.cond", result, out, (A,))
