"""The negative binomial distribution."""

from tensorlab.autograd import no_grad
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.gamma import Gamma
from tensorlab.distributions.utils import (
    broadcast_all,
    check_one_of,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from tensorlab.nn.functional import logsigmoid
from tensorlab.ops.pointwise.elementary import exp, sigmoid
from tensorlab.ops.pointwise.special import lgamma
from tensorlab.ops.sampling import poisson

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Distribution):
    """The negative binomial distribution: how many trials succeed before `total_count` of them have failed.

    It is a Poisson distribution whose rate has a gamma distribution.
    Source: Johnson, Kemp and Kotz, Univariate Discrete Distributions, chapter 5.

    Parameters
    ----------
    total_count : number or tensor of the batch shape, not negative, of any fraction
    probs : tensor of the batch shape, from 0 to below 1: of a success
    logits : tensor of the batch shape, instead of `probs`

    >>> import tensorlab
    >>> from tensorlab.distributions import NegativeBinomial
    >>> NegativeBinomial(3, tensorlab.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _expanded = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        check_one_of(self, probs, logits)
        count, value = broadcast_all(total_count, logits if probs is None else probs)
        self.total_count = count.type_as(value)
        if probs is None:
            self.logits = value
        else:
            self.probs = value
        super().__init__(value.size(), validate_args=validate_args)

    @property
    def _param(self):
        return self.probs if "probs" in self.__dict__ else self.logits

    @property
    def mean(self):
        return self.total_count * exp(self.logits)

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / sigmoid(-self.logits)

    @lazy_property
    def logits(self):
        """The logits of the probabilities."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        """The probabilities, from 0 to 1."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._param.size()

    @lazy_property
    def _gamma(self):
        return Gamma(self.total_count, exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=()):
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        plain = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = -lgamma(n + value) + lgamma(1.0 + value) + lgamma(n)
        # A count of 0 is sure to give 0: lgamma(0) would be infinite on both sides.
        return plain - ways.masked_fill(n + value == 0.0, 0.0)
