"""The categorical distribution."""

import math

from tensorlab._core.dtypes import finfo
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import (
    check_one_of,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from tensorlab.ops.creation import full
from tensorlab.ops.meshgrid import broadcast_shapes
from tensorlab.ops.pointwise.bounds import clamp
from tensorlab.ops.random_factories import multinomial
from tensorlab.ops.ranges import arange

__all__ = ["Categorical"]


class Categorical(Distribution):
    """The distribution of an index from 0 to K - 1, with the probability `probs[..., index]`.

    Parameters
    ----------
    probs : tensor (..., K), not negative; made to add up to 1
    logits : tensor (..., K), logarithms of probabilities up to a constant: instead of `probs`

    >>> import tensorlab
    >>> from tensorlab.distributions import Categorical
    >>> Categorical(tensorlab.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _expanded = {"probs": 1, "logits": 1}

    def __init__(self, probs=None, logits=None, validate_args=None):
        check_one_of(self, probs, logits)
        name, value = ("logits", logits) if probs is None else ("probs", probs)
        if value.dim() < 1:
            raise ValueError(
                f"{type(self).__name__}: {name} must have a dimension of events at least, but is a scalar"
            )
        if probs is None:
            self.logits = logits - logits.logsumexp(-1, True)
        else:
            self.probs = probs / probs.sum(-1, True)
        self._num_events = value.size()[-1]
        super().__init__(value.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._num_events = self._num_events
        return new

    @property
    def _param(self):
        return self.probs if "probs" in self.__dict__ else self.logits

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self):
        """The logits of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        """The probabilities, from 0 to 1."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._param.size()

    @property
    def mean(self):
        return full(
            self._extended_shape(), float("nan"), dtype=self.probs.dtype, device=self.probs.device
        )

    @property
    def mode(self):
        return self.probs.argmax(dim=-1)

    @property
    def variance(self):
        return self.mean

    def sample(self, sample_shape=()):
        count = math.prod(sample_shape)
        probs = self.probs.detach().reshape(-1, self._num_events)
        drawn = multinomial(probs, count, True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value = value.long().unsqueeze(-1)
        logits = self.logits
        if value.shape[:-1] != self._batch_shape:
            shape = broadcast_shapes(value.shape[:-1], self._batch_shape)
            value, logits = value.expand(shape + (1,)), logits.expand(shape + logits.shape[-1:])
        return logits.gather(-1, value).squeeze(-1)

    def entropy(self):
        logits = clamp(self.logits, min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = arange(self._num_events, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
