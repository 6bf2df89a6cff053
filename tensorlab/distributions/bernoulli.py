"""The Bernoulli distribution."""

from tensorlab._core.tensor import Size
from tensorlab.autograd import no_grad
from tensorlab.distributions import constraints
from tensorlab.distributions.exp_family import ExponentialFamily
from tensorlab.distributions.utils import (
    are_numbers,
    broadcast_all,
    check_one_of,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from tensorlab.nn.functional import binary_cross_entropy_with_logits
from tensorlab.ops.pointwise.elementary import exp, log1p, logit
from tensorlab.ops.random import bernoulli
from tensorlab.ops.ranges import arange

__all__ = ["Bernoulli"]


class Bernoulli(ExponentialFamily):
    """The Bernoulli distribution: 1 with probability `probs`, else 0.

    Parameters
    ----------
    probs : number or tensor of the batch shape, from 0 to 1
    logits : number or tensor of the batch shape, log(probs / (1 - probs)): instead of `probs`

    >>> import tensorlab
    >>> from tensorlab.distributions import Bernoulli
    >>> Bernoulli(0.25).log_prob(tensorlab.tensor(1.0)).exp()
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    _expanded = {"probs": 0, "logits": 0}

    def __init__(self, probs=None, logits=None, validate_args=None):
        check_one_of(self, probs, logits)
        given = logits if probs is None else probs
        (value,) = broadcast_all(given)
        if probs is None:
            self.logits = value
        else:
            self.probs = value
        super().__init__(
            Size() if are_numbers(given) else value.size(), validate_args=validate_args
        )

    @property
    def _param(self):
        return self.probs if "probs" in self.__dict__ else self.logits

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = float("nan")
        return mode

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

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
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        values = arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    @property
    def _natural_params(self):
        return (logit(self.probs),)

    def _log_normalizer(self, x):
        return log1p(exp(x))
