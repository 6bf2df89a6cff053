"""The Laplace distribution."""

import math

from tensorlab._core.dtypes import finfo
from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import are_numbers, broadcast_all
from tensorlab.ops.pointwise.elementary import expm1, log, log1p

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace, or double exponential, distribution, with density exp(-abs(x - loc) / scale) / (2 scale).

    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, volume 2,
    chapter 24.

    Parameters
    ----------
    loc : number or tensor of the batch shape, the mean
    scale : positive number or tensor of the batch shape, the mean distance from it

    >>> from tensorlab.distributions import Laplace
    >>> Laplace(0.0, 1.0).variance
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _expanded = {"loc": 0, "scale": 0}

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        batch_shape = Size() if are_numbers(loc, scale) else self.loc.shape
        super().__init__(batch_shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        u = self.loc.new_empty(shape).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * log1p(-u.abs())

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -log(2 * self.scale) - abs(value - self.loc) / self.scale

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        shift = value - self.loc
        return 0.5 - 0.5 * shift.sign() * expm1(-shift.abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * log1p(-2 * term.abs())

    def entropy(self):
        return 1 + log(2 * self.scale)
