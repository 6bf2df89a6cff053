"""The binomial distribution."""

from tensorlab.autograd import no_grad
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import (
    broadcast_all,
    check_one_of,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from tensorlab.ops.pointwise.elementary import exp, log1p
from tensorlab.ops.pointwise.special import lgamma
from tensorlab.ops.ranges import arange
from tensorlab.ops.sampling import binomial

__all__ = ["Binomial"]


def _clamp_below(x):
    """Clamp to 0 and more, with a gradient of one half at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(Distribution):
    """The binomial distribution: how many of `total_count` trials succeed, with probability `probs` each.

    Source: Johnson, Kemp and Kotz, Univariate Discrete Distributions, chapter 3.

    Parameters
    ----------
    total_count : int or tensor of the batch shape
    probs : tensor of the batch shape, from 0 to 1
    logits : tensor of the batch shape, instead of `probs`

    >>> import tensorlab
    >>> from tensorlab.distributions import Binomial
    >>> Binomial(10, tensorlab.tensor([0.0, 0.5])).mean
    tensor([0., 5.])
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _expanded = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
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

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

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

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        ways = lgamma(value + 1) + lgamma(n - value + 1)
        # log(1 + exp(logits)), without an overflow for large ones
        softplus = _clamp_below(self.logits) + log1p(exp(-abs(self.logits)))
        return value * self.logits - ways - (n * softplus - lgamma(n + 1))

    def entropy(self):
        total_count = int(self.total_count.max())
        if not self.total_count.min() == total_count:
            raise NotImplementedError("Binomial: entropy needs one total_count for the whole batch")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        total_count = int(self.total_count.max())
        if not self.total_count.min() == total_count:
            raise NotImplementedError(
                "Binomial: enumerate_support needs one total_count for the whole batch"
            )
        values = arange(1 + total_count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
