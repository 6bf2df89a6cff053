"""The Wishart distribution."""

import math
import numbers
import warnings

from tensorlab._core.dtypes import finfo
from tensorlab._core.interop.exchange import tensor
from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.chi2 import Chi2
from tensorlab.distributions.exp_family import ExponentialFamily
from tensorlab.distributions.multivariate_normal import factor_of, one_matrix
from tensorlab.distributions.utils import lazy_property
from tensorlab.linalg import slogdet
from tensorlab.ops.linalg.cholesky import cholesky_inverse, cholesky_solve
from tensorlab.ops.meshgrid import broadcast_shapes
from tensorlab.ops.multivariate_gamma import mvlgamma
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.pointwise.special import digamma
from tensorlab.ops.random_factories import randn
from tensorlab.ops.ranges import arange
from tensorlab.ops.triangles import tril_indices

__all__ = ["Wishart"]


def _digamma_sum(x, p):
    """Return the derivative of mvlgamma(x, p)."""
    steps = arange(p, dtype=x.dtype, device=x.device)
    return digamma(x.unsqueeze(-1) - 0.5 * steps).sum(-1)


def _clamp_above_eps(x):
    return x.clamp(min=finfo(x.dtype).eps)


class Wishart(ExponentialFamily):
    """The Wishart distribution of positive definite matrices: of the sum of df outer products of normal vectors.

    Samples are drawn by Bartlett's decomposition.
    Source: Muirhead, Aspects of Multivariate Statistical Theory, section 3.2.

    Parameters
    ----------
    df : number or tensor of the batch shape, above n - 1
    covariance_matrix : tensor (..., n, n), positive definite: of the vectors
    precision_matrix : tensor (..., n, n), its inverse: instead of it
    scale_tril : tensor (..., n, n), its Cholesky factor: instead of it

    >>> import tensorlab
    >>> from tensorlab.distributions import Wishart
    >>> Wishart(3.0, tensorlab.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        name, matrix = one_matrix(self, matrices)
        if isinstance(df, numbers.Number):
            df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = broadcast_shapes(df.shape, matrix.shape[:-2])
        event_shape = matrix.shape[-2:]
        self.df = df.expand(batch_shape)
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(
                f"Wishart: df must be above n - 1 = {event_shape[-1] - 1}, but is {df.tolist()}"
            )
        setattr(self, name, matrix.expand(batch_shape + event_shape))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if self.df.lt(event_shape[-1]).any():
            warnings.warn(
                f"Wishart: df is below n = {event_shape[-1]}, where draws are close to singular matrices",
                stacklevel=2,
            )
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        self._dist_chi2 = self._chi2()

    def _chi2(self):
        """The squares of the diagonal of Bartlett's factor."""
        steps = arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.unsqueeze(-1) - steps.expand(self._batch_shape + (-1,)))

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = Size(batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new.df = self.df.expand(batch_shape)
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(batch_shape + self.event_shape))
        super(Wishart, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        new._dist_chi2 = new._chi2()
        return new

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance matrix."""
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self):
        """The covariance matrix."""
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance matrix."""
        return cholesky_inverse(self._unbroadcasted_scale_tril).expand(
            self._batch_shape + self._event_shape
        )

    @property
    def mean(self):
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self):
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, float("nan"))
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self):
        v = self.covariance_matrix
        diag = v.diagonal(dim1=-2, dim2=-1)
        return self.df.view(self._batch_shape + (1, 1)) * (
            v.pow(2) + diag.unsqueeze(-1) * diag.unsqueeze(-2)
        )

    def _bartlett_sampling(self, sample_shape=()):
        p = self._event_shape[-1]
        noise = _clamp_above_eps(self._dist_chi2.rsample(sample_shape).sqrt()).diag_embed(
            dim1=-2, dim2=-1
        )
        rows, columns = tril_indices(p, p, offset=-1)
        noise[..., rows, columns] = randn(
            Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,),
            dtype=noise.dtype,
            device=noise.device,
        )
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape=(), max_try_correction=None):
        """Draw samples; singular ones, which rounding may give, are drawn again.

        Parameters
        ----------
        sample_shape : Size
        max_try_correction : int, optional: how often at most; 10 times by default
        """
        if max_try_correction is None:
            max_try_correction = 10
        sample = self._bartlett_sampling(sample_shape)
        for _ in range(max_try_correction):
            is_singular = ~self.support.check(sample)
            if not is_singular.any():
                break
            again = self._bartlett_sampling(sample_shape)
            sample = where(is_singular[..., None, None], again, sample)
        return sample

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        solved = cholesky_solve(value, self._unbroadcasted_scale_tril)
        return (
            -nu * (p * math.log(2) / 2 + log_det)
            - mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * slogdet(value).logabsdet
            - solved.diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2
        )

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return (
            (p + 1) * (p * math.log(2) / 2 + log_det)
            + mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _digamma_sum(nu / 2, p=p)
            + nu * p / 2
        )

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        shape = y + (p + 1) / 2
        return shape * (-slogdet(-2 * x).logabsdet + math.log(2) * p) + mvlgamma(shape, p=p)
