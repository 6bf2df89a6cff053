"""The Dirichlet distribution."""

from tensorlab.distributions import constraints
from tensorlab.distributions.exp_family import ExponentialFamily
from tensorlab.nn.functional import one_hot
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.pointwise.special import digamma, lgamma, xlogy
from tensorlab.ops.sampling import _sample_dirichlet

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution over points of the simplex, with density proportional to prod x_i**(a_i - 1).

    The gradient of a draw is found implicitly (Figurnov, Mohamed and Mnih, NeurIPS 2018).
    Source: Kotz, Balakrishnan and Johnson, Continuous Multivariate Distributions, chapter 49.

    Parameters
    ----------
    concentration : positive tensor (..., events), the exponents a

    >>> import tensorlab
    >>> from tensorlab.distributions import Dirichlet
    >>> Dirichlet(tensorlab.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _expanded = {"concentration": 1}

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError(
                "Dirichlet: concentration must have a dimension of events at least, but is a scalar"
            )
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape=()):
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return xlogy(a - 1.0, value).sum(-1) + lgamma(a.sum(-1)) - lgamma(a).sum(-1)

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        at_corner = (self.concentration < 1).all(dim=-1)
        corner = one_hot(self.concentration.argmax(-1), self.event_shape[-1]).to(mode)
        return where(at_corner.unsqueeze(-1), corner, mode)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self):
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return (
            lgamma(a).sum(-1)
            - lgamma(total)
            - (k - total) * digamma(total)
            - ((a - 1.0) * digamma(a)).sum(-1)
        )

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - lgamma(x.sum(-1))
