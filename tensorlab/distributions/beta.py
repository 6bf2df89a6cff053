"""The beta distribution."""

from tensorlab._core.interop.exchange import tensor
from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.dirichlet import Dirichlet
from tensorlab.distributions.exp_family import ExponentialFamily
from tensorlab.distributions.utils import are_numbers, broadcast_all
from tensorlab.ops.joining import stack
from tensorlab.ops.pointwise.special import lgamma

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The beta distribution, with density proportional to x**(a - 1) (1 - x)**(b - 1) from 0 to 1.

    It is the first number of a Dirichlet distribution of two.
    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, volume 2,
    chapter 25.

    Parameters
    ----------
    concentration1 : positive number or tensor of the batch shape, a
    concentration0 : positive number or tensor of the batch shape, b

    >>> from tensorlab.distributions import Beta
    >>> Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        if are_numbers(concentration1, concentration0):
            both = tensor([float(concentration1), float(concentration0)])
        else:
            both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Beta, _instance)
        batch_shape = Size(batch_shape)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        super(Beta, new).__init__(batch_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self):
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self):
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(stack([value, 1.0 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()

    @property
    def concentration1(self):
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self):
        return self._dirichlet.concentration[..., 1]

    @property
    def _natural_params(self):
        return (self.concentration1, self.concentration0)

    def _log_normalizer(self, x, y):
        return lgamma(x) + lgamma(y) - lgamma(x + y)
