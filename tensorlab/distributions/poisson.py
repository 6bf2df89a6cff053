"""The Poisson distribution."""

from tensorlab._core.tensor import Size
from tensorlab.autograd import no_grad
from tensorlab.distributions import constraints
from tensorlab.distributions.exp_family import ExponentialFamily
from tensorlab.distributions.utils import are_numbers, broadcast_all
from tensorlab.ops.pointwise.elementary import exp, log
from tensorlab.ops.sampling import poisson

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The Poisson distribution over counts, with probability rate**k exp(-rate) / k!.

    Source: Johnson, Kemp and Kotz, Univariate Discrete Distributions, chapter 4.

    Parameters
    ----------
    rate : number or tensor of the batch shape, not negative, the mean

    >>> from tensorlab.distributions import Poisson
    >>> Poisson(4.0).variance
    tensor(4.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _expanded = {"rate": 0}

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        batch_shape = Size() if are_numbers(rate) else self.rate.shape
        super().__init__(batch_shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate

    @property
    def mode(self):
        return self.rate.floor()

    @property
    def variance(self):
        return self.rate

    def sample(self, sample_shape=()):
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (log(self.rate),)

    def _log_normalizer(self, x):
        return exp(x)
