"""Categorical draws made continuous."""

from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.categorical import Categorical
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.transforms import ExpTransform
from tensorlab.distributions.utils import broadcast_all, clamp_probs
from tensorlab.ops.creation import full_like
from tensorlab.ops.random_factories import rand

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithms of relaxed one-hot vectors: log softmax((logits + Gumbel numbers) / temperature).

    Source: Maddison, Mnih and Teh, The concrete distribution, ICLR 2017.

    Parameters
    ----------
    temperature : positive tensor
    probs : tensor (..., K), not negative; made to add up to 1
    logits : tensor (..., K), instead of `probs`

    >>> import tensorlab
    >>> from tensorlab.distributions.relaxed_categorical import ExpRelaxedCategorical
    >>> ExpRelaxedCategorical(tensorlab.tensor(1.0), tensorlab.ones(3)).event_shape
    tensorlab.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        batch_shape = Size(batch_shape)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)
        super(ExpRelaxedCategorical, new).__init__(
            batch_shape, self.event_shape, validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    @property
    def param_shape(self):
        return self._categorical.param_shape

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def probs(self):
        return self._categorical.probs

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbels = -((-(u.log())).log())
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        k = self.event_shape[-1]
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        constant = full_like(self.temperature, float(k)).lgamma() - self.temperature.log().mul(
            -(k - 1)
        )
        score = logits - value.mul(self.temperature)
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + constant


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex that are the closer to its corners, the lower the temperature, with a gradient.

    Source: Jang, Gu and Poole, Categorical reparameterization with Gumbel-softmax, ICLR 2017.

    Parameters
    ----------
    temperature : positive tensor
    probs : tensor (..., K), not negative; made to add up to 1
    logits : tensor (..., K), instead of `probs`

    >>> import tensorlab
    >>> from tensorlab.distributions import RelaxedOneHotCategorical
    >>> RelaxedOneHotCategorical(tensorlab.tensor(2.0), tensorlab.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base_dist = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base_dist, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(RelaxedOneHotCategorical, _instance)
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
