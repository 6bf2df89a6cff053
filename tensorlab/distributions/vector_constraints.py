"""Sets of vectors and matrices."""

from tensorlab._core.dtypes import BY_NAME, finfo
from tensorlab.distributions.constraint import Constraint
from tensorlab.linalg import cholesky_ex, eigvalsh, norm
from tensorlab.ops.creation import full
from tensorlab.ops.pointwise.comparison import isclose

BOOL = BY_NAME["bool"]


class _OneHot(Constraint):
    """Vectors of zeros with a single one."""

    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of numbers that are not negative and add up to 1, within 1e-6."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts that add up to at most `upper_bound`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> constraints.multinomial(3).check(tensorlab.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    """Square matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value):
        is_lower = (value.tril() == value).flatten(-2).all(-1)
        return is_lower & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal and rows of length 1: factors of correlation matrices."""

    event_dim = 2

    def check(self, value):
        tolerance = finfo(value.dtype).eps * value.shape[-1] * 10
        length = norm(value.detach(), dim=-1)
        return _LowerCholesky().check(value) & (length - 1).abs().le(tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value):
        is_square = value.shape[-2] == value.shape[-1]
        return full(value.shape[:-2], is_square, dtype=BOOL, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value):
        is_square = super().check(value)
        if not is_square.all():
            return is_square
        return isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices whose eigenvalues are not negative."""

    def check(self, value):
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices whose eigenvalues are positive: those with a Cholesky factor."""

    def check(self, value):
        is_symmetric = super().check(value)
        if not is_symmetric.all():
            return is_symmetric
        return cholesky_ex(value).info.eq(0)
