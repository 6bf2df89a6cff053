"""The Cauchy distribution."""

import math

from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import are_numbers, broadcast_all
from tensorlab.ops.creation import full_like
from tensorlab.ops.pointwise.trigonometry import atan, tan

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The Cauchy distribution, with density 1 / (pi scale (1 + ((x - loc) / scale)**2)); it has no mean.

    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, volume 1,
    chapter 16.

    Parameters
    ----------
    loc : number or tensor of the batch shape, the median
    scale : positive number or tensor of the batch shape, half the width at half the height

    >>> import tensorlab
    >>> from tensorlab.distributions import Cauchy
    >>> Cauchy(0.0, 1.0).cdf(tensorlab.tensor(0.0))
    tensor(0.5000)
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
        return full_like(self.loc, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return full_like(self.loc, math.inf)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.loc + self.loc.new_empty(shape).cauchy_() * self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z**2).log1p()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
