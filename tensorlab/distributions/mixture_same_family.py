"""Mixtures of distributions of one family."""

from tensorlab._core.tensor import Size
from tensorlab.autograd import no_grad
from tensorlab.distributions import constraints
from tensorlab.distributions.categorical import Categorical
from tensorlab.distributions.constraints import MixtureSameFamilyConstraint
from tensorlab.distributions.distribution import Distribution
from tensorlab.ops.softmax import log_softmax
from tensorlab.ops.statistics import logsumexp

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: a draw from the component whose index a categorical distribution draws.

    Parameters
    ----------
    mixture_distribution : Categorical, of the index of the component
    component_distribution : Distribution, whose last batch dimension counts the components

    >>> import tensorlab
    >>> from tensorlab.distributions import Categorical, MixtureSameFamily, Normal
    >>> loc = tensorlab.tensor([0.0, 4.0])
    >>> MixtureSameFamily(Categorical(tensorlab.tensor([1.0, 3.0])), Normal(loc, 1.0)).mean
    tensor(3.)
    """

    arg_constraints: dict = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                f"mixture_distribution must be a Categorical, not {type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                f"component_distribution must be a Distribution, not {type(component_distribution).__name__}"
            )
        mixture_batch = mixture_distribution.batch_shape
        component_batch = component_distribution.batch_shape
        for m, c in zip(reversed(mixture_batch), reversed(component_batch[:-1]), strict=False):
            if 1 not in (m, c) and m != c:
                raise ValueError(
                    f"the batch shape of the mixture {tuple(mixture_batch)} doesn't fit that of the components "
                    f"{tuple(component_batch)} without its last dimension"
                )
        count, components = mixture_distribution.logits.shape[-1], component_batch[-1]
        if count != components:
            raise ValueError(
                f"the mixture has {count} categories, but there are {components} components"
            )
        self._num_component = components
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(component_batch[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        super(MixtureSameFamily, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The categorical distribution of the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components."""
        return self._component_distribution

    def _weights(self):
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self):
        return (self._weights() * self._component_distribution.mean).sum(dim=-1 - self._event_ndims)

    @property
    def variance(self):
        weights, dim = self._weights(), -1 - self._event_ndims
        within = (weights * self._component_distribution.variance).sum(dim=dim)
        apart = (self._component_distribution.mean - self._pad(self.mean)).pow(2.0)
        return within + (weights * apart).sum(dim=dim)

    def cdf(self, x):
        cdf = self._component_distribution.cdf(self._pad(x))
        return (cdf * self._mixture_distribution.probs).sum(dim=-1)

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self._component_distribution.log_prob(self._pad(x))
        return logsumexp(log_prob + log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=()):
        with no_grad():
            sample_shape = Size(sample_shape)
            dim = len(sample_shape) + len(self._batch_shape)
            index = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            index = index.expand(sample_shape + self._batch_shape)
            index = index.reshape(index.shape + (1,) * (self._event_ndims + 1))
            index = index.expand(index.shape[: dim + 1] + self._event_shape)
            return drawn.gather(dim, index).squeeze(dim)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self):
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
