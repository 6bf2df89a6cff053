"""The multinomial distribution."""

from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.binomial import Binomial
from tensorlab.distributions.categorical import Categorical
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import broadcast_all
from tensorlab.ops.creation import ones_like
from tensorlab.ops.pointwise.elementary import exp
from tensorlab.ops.pointwise.special import lgamma

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """The multinomial distribution: how often each of K categories comes up in `total_count` draws.

    Source: Johnson, Kotz and Balakrishnan, Discrete Multivariate Distributions, chapter 35.

    Parameters
    ----------
    total_count : int, one for the whole batch
    probs : tensor (..., K), not negative; made to add up to 1
    logits : tensor (..., K), instead of `probs`

    >>> import tensorlab
    >>> from tensorlab.distributions import Multinomial
    >>> Multinomial(8, tensorlab.tensor([1.0, 3.0])).mean
    tensor([2., 6.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError(
                f"Multinomial: total_count must be an int for the whole batch, not {type(total_count).__name__}"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        batch_shape = self._categorical.batch_shape
        super().__init__(
            batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args
        )

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Multinomial, _instance)
        batch_shape = Size(batch_shape)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = Binomial(total_count=self.total_count, probs=new.probs, validate_args=False)
        super(Multinomial, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def _param(self):
        return self._categorical._param

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def param_shape(self):
        return self._categorical.param_shape

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        sample_shape = Size(sample_shape)
        draws = self._categorical.sample(Size((self.total_count,)) + sample_shape)
        draws = draws.movedim(0, -1)
        counts = draws.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, draws, ones_like(draws))
        return counts.type_as(self.probs)

    def entropy(self):
        entropy = self._categorical.entropy()
        n = entropy.new_tensor(self.total_count)
        values = self._binomial.enumerate_support(expand=False)[1:]
        weights = exp(self._binomial.log_prob(values))
        repeated = (weights * lgamma(values + 1)).sum([0, -1])
        return n * entropy - lgamma(n + 1) + repeated

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1)
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        return ways + (logits * value).sum(-1)
