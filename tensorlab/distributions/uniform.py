"""The uniform distribution."""

from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import are_numbers, broadcast_all
from tensorlab.ops.creation import full_like
from tensorlab.ops.pointwise.elementary import log
from tensorlab.ops.random_factories import rand

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution on the interval from `low` to `high`.

    Parameters
    ----------
    low : number or tensor of the batch shape, included
    high : number or tensor of the batch shape, above `low`, not included

    Raises
    ------
    ValueError
        If a `low` isn't less than its `high`.

    >>> from tensorlab.distributions import Uniform
    >>> Uniform(0.0, 4.0).mean
    tensor(2.)
    """

    has_rsample = True
    _expanded = {"low": 0, "high": 0}

    @property
    def arg_constraints(self):
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        batch_shape = Size() if are_numbers(low, high) else self.low.shape
        super().__init__(batch_shape, validate_args=validate_args)

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def mode(self):
        return full_like(self.high, float("nan"))

    @property
    def stddev(self):
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self):
        return (self.high - self.low).pow(2) / 12

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        unit = rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + unit * (self.high - self.low)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        above = self.low.le(value).type_as(self.low)
        below = self.high.gt(value).type_as(self.low)
        return log(above * below) - log(self.high - self.low)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return log(self.high - self.low)
