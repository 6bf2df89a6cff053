"""The generalized Pareto distribution."""

from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import are_numbers, broadcast_all
from tensorlab.ops.creation import full_like, ones_like, zeros_like
from tensorlab.ops.dimensions import broadcast_to
from tensorlab.ops.pointwise.comparison import isclose
from tensorlab.ops.pointwise.elementary import exp, expm1, log, log1p
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.random_factories import rand

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution: of what exceeds a high threshold.

    The probability of more than x is (1 + concentration z)**(-1 / concentration) with z = (x -
    loc) / scale, and exp(-z) where the concentration is 0. Source: Johnson, Kotz and
    Balakrishnan, Continuous Univariate Distributions, volume 1, section 20.

    Parameters
    ----------
    loc : number or tensor of the batch shape, the smallest value
    scale : positive number or tensor of the batch shape
    concentration : number or tensor of the batch shape; below 0 there is a largest value

    >>> from tensorlab.distributions import GeneralizedPareto
    >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _expanded = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        batch_shape = Size() if are_numbers(loc, scale, concentration) else self.loc.size()
        super().__init__(batch_shape, validate_args=validate_args)

    def _is_zero(self):
        return isclose(self.concentration, zeros_like(self.concentration))

    def _z(self, x):
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z, is_zero = self._z(value), self._is_zero()
        safe = where(is_zero, ones_like(self.concentration), self.concentration)
        power = 1 / safe + ones_like(z)
        outside = where(z < 0, full_like(z, -float("inf")), zeros_like(z))
        return where(is_zero, -z, -power * log1p(z * safe)) + outside - self.scale.log()

    def log_survival_function(self, value):
        """Return the logarithm of the probability of more than `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z, is_zero = self._z(value), self._is_zero()
        safe = where(is_zero, ones_like(self.concentration), self.concentration)
        return where(is_zero, -z, -log1p(safe * z) / safe)

    def log_cdf(self, value):
        """Return the logarithm of the cdf."""
        return log1p(-exp(self.log_survival_function(value)))

    def cdf(self, value):
        return exp(self.log_cdf(value))

    def icdf(self, value):
        is_zero = self._is_zero()
        safe = where(is_zero, ones_like(self.concentration), self.concentration)
        log_survival = log1p(-value)
        above_zero = where(is_zero, -log_survival, expm1(-safe * log_survival) / safe)
        return self.loc + self.scale * above_zero

    @property
    def mean(self):
        c = self.concentration
        safe = where(c < 1, c, 0.5)
        return where(c < 1, self.loc + self.scale / (1 - safe), full_like(c, float("inf")))

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        c = self.concentration
        safe = where(c < 0.5, c, 0.25)
        variance = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return where(c < 0.5, variance, full_like(c, float("inf")))

    def entropy(self):
        return broadcast_to(log(self.scale) + self.concentration + 1, self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        lower, c = self.loc, self.concentration
        safe = where(c < 0, c, -ones_like(c))
        upper = where(c < 0, lower - self.scale / safe, full_like(c, float("inf")))
        return constraints.interval(lower, upper)
