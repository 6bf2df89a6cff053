"""Bernoulli draws made continuous."""

from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.transforms import SigmoidTransform
from tensorlab.distributions.utils import (
    are_numbers,
    broadcast_all,
    check_one_of,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from tensorlab.ops.random_factories import rand

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Distribution):
    """The logits of relaxed Bernoulli draws: (logits + a logistic number) / temperature.

    Source: Maddison, Mnih and Teh, The concrete distribution, ICLR 2017.

    Parameters
    ----------
    temperature : positive number or tensor
    probs : number or tensor of the batch shape, from 0 to 1
    logits : number or tensor of the batch shape, instead of `probs`

    >>> import tensorlab
    >>> from tensorlab.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    >>> LogitRelaxedBernoulli(tensorlab.tensor(1.0), 0.5).log_prob(tensorlab.tensor(0.0)).exp()
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _expanded = {"probs": 0, "logits": 0}

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
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

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new.temperature = self.temperature
        return new

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

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1 that are the closer to 0 and 1, the lower the temperature, with a gradient.

    Source: Jang, Gu and Poole, Categorical reparameterization with Gumbel-softmax, ICLR 2017.

    Parameters
    ----------
    temperature : positive tensor
    probs : number or tensor of the batch shape, from 0 to 1
    logits : number or tensor of the batch shape, instead of `probs`

    >>> import tensorlab
    >>> from tensorlab.distributions import RelaxedBernoulli
    >>> RelaxedBernoulli(tensorlab.tensor(2.0), tensorlab.tensor([0.1, 0.9])).probs
    tensor([0.1000, 0.9000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base_dist = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base_dist, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(RelaxedBernoulli, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def temperature(self):
        return self.base_dist.temperature

    @property
    def logits(self):
        return self.base_dist.logits

    @property
    def probs(self):
        return self.base_dist.probs
