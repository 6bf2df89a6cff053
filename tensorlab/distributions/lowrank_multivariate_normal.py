"""The normal distribution of vectors with few factors."""

import math

from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
from tensorlab.distributions.utils import _standard_normal, lazy_property
from tensorlab.linalg import cholesky, solve_triangular
from tensorlab.ops.meshgrid import broadcast_shapes
from tensorlab.ops.ranges import eye
from tensorlab.ops.triangles import diag_embed

__all__ = ["LowRankMultivariateNormal"]


def _capacitance_tril(factor, diag):
    """Return the Cholesky factor of I + W^T D**-1 W, a matrix of the small rank."""
    scaled = factor.mT / diag.unsqueeze(-2)
    identity = eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return cholesky(scaled @ factor + identity)


def _log_det(diag, capacitance_tril):
    """Return log det(W W^T + D), by the lemma of the determinant of matrices."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + diag.log().sum(-1)


def _mahalanobis(factor, diag, x, capacitance_tril):
    """Return x^T (W W^T + D)**-1 x, by Woodbury's identity."""
    scaled = factor.mT / diag.unsqueeze(-2)
    return (x.pow(2) / diag).sum(-1) - _batch_mahalanobis(capacitance_tril, _batch_mv(scaled, x))


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with the covariance W W^T + D, where D is diagonal and W has few columns.

    All it computes is as cheap as a matrix of the rank of W, by Woodbury's identity and the
    matrix determinant lemma.

    Parameters
    ----------
    loc : tensor (..., n), the mean
    cov_factor : tensor (..., n, rank), W
    cov_diag : positive tensor (..., n), the diagonal of D

    >>> import tensorlab
    >>> from tensorlab.distributions import LowRankMultivariateNormal
    >>> LowRankMultivariateNormal(tensorlab.zeros(2), tensorlab.ones(2, 1), tensorlab.ones(2)).covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError(
                "LowRankMultivariateNormal: loc must have one dimension at least, but is a scalar"
            )
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2 or cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must have the shape (..., {event_shape[0]}, rank), got {tuple(cov_factor.shape)}"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(
                f"cov_diag must have the shape (..., {event_shape[0]}), got {tuple(cov_diag.shape)}"
            )
        try:
            batch_shape = broadcast_shapes(
                loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
            )
        except RuntimeError as error:
            raise ValueError(
                f"the batch shapes of loc {tuple(loc.shape)}, cov_factor {tuple(cov_factor.shape)} and cov_diag "
                f"{tuple(cov_diag.shape)} can't be broadcast"
            ) from error
        self.loc = loc.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch_shape + event_shape)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        batch_shape = Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        new.cov_diag = self.cov_diag.expand(batch_shape + self.event_shape)
        new.cov_factor = self.cov_factor.expand(batch_shape + self.cov_factor.shape[-2:])
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        super(LowRankMultivariateNormal, new).__init__(
            batch_shape, self.event_shape, validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance matrix."""
        # D + W W^T = D^(1/2) (I + V V^T) D^(1/2) with V = D^(-1/2) W: the middle one keeps its digits
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        v = self._unbroadcasted_cov_factor / root
        identity = eye(v.shape[-2], dtype=v.dtype, device=v.device)
        factor = root * cholesky(v @ v.mT + identity)
        return factor.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self):
        """The covariance matrix."""
        factor = self._unbroadcasted_cov_factor
        matrix = factor @ factor.mT + diag_embed(self._unbroadcasted_cov_diag)
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance matrix, by Woodbury's identity."""
        diag = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diag.unsqueeze(-2)
        a = solve_triangular(self._capacitance_tril, scaled, upper=False)
        matrix = diag_embed(diag.reciprocal()) - a.mT @ a
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        of_factors = shape[:-1] + self.cov_factor.shape[-1:]
        eps_w = _standard_normal(of_factors, dtype=self.loc.dtype, device=self.loc.device)
        eps_d = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return (
            self.loc
            + _batch_mv(self._unbroadcasted_cov_factor, eps_w)
            + self._unbroadcasted_cov_diag.sqrt() * eps_d
        )

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        factor, diag = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        distance = _mahalanobis(factor, diag, value - self.loc, self._capacitance_tril)
        log_det = _log_det(diag, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        log_det = _log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy.expand(self._batch_shape)
