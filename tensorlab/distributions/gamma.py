"""The gamma distribution."""

from tensorlab._core.interop.exchange import as_tensor
from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.exp_family import ExponentialFamily
from tensorlab.distributions.utils import are_numbers, broadcast_all, tiny
from tensorlab.ops.pointwise.elementary import log
from tensorlab.ops.pointwise.special import digamma, lgamma, xlogy
from tensorlab.ops.sampling import _standard_gamma
from tensorlab.special import gammainc

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution, with density rate**a x**(a - 1) exp(-rate x) / gamma(a) for x > 0.

    Samples are drawn by Marsaglia and Tsang, A simple method for generating gamma variables,
    ACM TOMS 2000; their gradient is that of the inverse cdf, found implicitly (Figurnov,
    Mohamed and Mnih, NeurIPS 2018).

    Parameters
    ----------
    concentration : positive number or tensor of the batch shape, the shape a
    rate : positive number or tensor of the batch shape, 1 / scale

    >>> from tensorlab.distributions import Gamma
    >>> Gamma(6.0, 2.0).mean
    tensor(3.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _expanded = {"concentration": 0, "rate": 0}

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        batch_shape = Size() if are_numbers(concentration, rate) else self.concentration.shape
        super().__init__(batch_shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate
        # In the memory of the result: the logarithm of 0 isn't finite.
        value.detach().clamp_(min=tiny(value.dtype))
        return value

    def log_prob(self, value):
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return xlogy(a, rate) + xlogy(a - 1, value) - rate * value - lgamma(a)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return gammainc(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - log(self.rate) + lgamma(a) + (1.0 - a) * digamma(a)

    @property
    def _natural_params(self):
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, x, y):
        return lgamma(x + 1) + (x + 1) * log(-y.reciprocal())
