"""The normal distribution of vectors."""

import math

from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import _standard_normal, lazy_property
from tensorlab.linalg import cholesky, solve_triangular
from tensorlab.ops.linalg.cholesky import cholesky_inverse
from tensorlab.ops.meshgrid import broadcast_shapes
from tensorlab.ops.ranges import eye
from tensorlab.ops.rearranging import flip

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix, vector):
    """Multiply batches of matrices and vectors."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor, x):
    """Return the squared length of factor**-1 x."""
    return solve_triangular(factor, x.unsqueeze(-1), upper=False).pow(2).sum([-2, -1])


def _precision_to_scale_tril(precision):
    """Return the Cholesky factor of the inverse: that of the matrix turned round, inverted and turned back."""
    flipped = cholesky(flip(precision, (-2, -1)))
    inverse = flip(flipped, (-2, -1)).mT
    identity = eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_triangular(inverse, identity, upper=False)


def one_matrix(distribution, matrices):
    """Return the name and value of the one matrix that is given."""
    given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
    if len(given) != 1:
        shown = " and ".join(given) or "none"
        raise ValueError(
            f"{type(distribution).__name__} takes one of {', '.join(matrices)}, but {shown} was given"
        )
    ((name, matrix),) = given.items()
    if matrix.dim() < 2:
        raise ValueError(
            f"{type(distribution).__name__}: {name} must have two dimensions at least, got shape {tuple(matrix.shape)}"
        )
    return name, matrix


def factor_of(name, matrix):
    """Return the Cholesky factor of the covariance that the matrix of this name stands for."""
    if name == "scale_tril":
        return matrix
    return cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors of n numbers, with a covariance matrix.

    Source: Kotz, Balakrishnan and Johnson, Continuous Multivariate Distributions, chapter 45.

    Parameters
    ----------
    loc : tensor (..., n), the mean
    covariance_matrix : tensor (..., n, n), positive definite
    precision_matrix : tensor (..., n, n), its inverse: instead of it
    scale_tril : tensor (..., n, n), its Cholesky factor: instead of it; the cheapest of the
        three

    >>> import tensorlab
    >>> from tensorlab.distributions import MultivariateNormal
    >>> MultivariateNormal(tensorlab.zeros(2), 4 * tensorlab.eye(2)).stddev
    tensor([2., 2.])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc,
        covariance_matrix=None,
        precision_matrix=None,
        scale_tril=None,
        validate_args=None,
    ):
        if loc.dim() < 1:
            raise ValueError(
                "MultivariateNormal: loc must have one dimension at least, but is a scalar"
            )
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        name, matrix = one_matrix(self, matrices)
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + matrix.shape[-2:]))
        self.loc = loc.expand(batch_shape + loc.shape[-1:])
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MultivariateNormal, _instance)
        batch_shape = Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(
                    new,
                    name,
                    self.__dict__[name].expand(batch_shape + self.event_shape + self.event_shape),
                )
        super(MultivariateNormal, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance matrix."""
        return self._unbroadcasted_scale_tril.expand(
            self._batch_shape + self._event_shape + self._event_shape
        )

    @lazy_property
    def covariance_matrix(self):
        """The covariance matrix."""
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(
            self._batch_shape + self._event_shape + self._event_shape
        )

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance matrix."""
        return cholesky_inverse(self._unbroadcasted_scale_tril).expand(
            self._batch_shape + self._event_shape + self._event_shape
        )

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return (
            self._unbroadcasted_scale_tril.pow(2)
            .sum(-1)
            .expand(self._batch_shape + self._event_shape)
        )

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        eps = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return (
            -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()
        )

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self):
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape)
