"""The Kumaraswamy distribution."""

from tensorlab.distributions import constraints
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.transforms import AffineTransform, PowerTransform
from tensorlab.distributions.uniform import Uniform
from tensorlab.distributions.utils import broadcast_all, euler_constant
from tensorlab.ops.creation import full_like
from tensorlab.ops.pointwise.elementary import exp, log
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.pointwise.special import digamma, lgamma

__all__ = ["Kumaraswamy"]


def _moment(a, b, n):
    """Return the n-th moment, b beta(1 + n / a, b)."""
    first = 1 + n / a
    return exp(b.log() + lgamma(first) + lgamma(b) - lgamma(b + first))


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution, with the cdf 1 - (1 - x**a)**b from 0 to 1; much like the beta distribution.

    Source: Jones, Kumaraswamy's distribution, Statistical Methodology 2009.

    Parameters
    ----------
    concentration1 : positive number or tensor of the batch shape, a
    concentration0 : positive number or tensor of the batch shape, b

    >>> from tensorlab.distributions import Kumaraswamy
    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base_dist = Uniform(
            full_like(self.concentration0, 0),
            full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base_dist, transforms, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self):
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        mode = a.reciprocal() * ((a - 1).log() - (a * b - 1).log())
        return where((a < 1) | (b < 1), float("nan"), mode.exp())

    @property
    def variance(self):
        return _moment(self.concentration1, self.concentration0, 2) - pow(self.mean, 2)

    def entropy(self):
        t1 = 1 - self.concentration1.reciprocal()
        t0 = 1 - self.concentration0.reciprocal()
        harmonic = digamma(self.concentration0 + 1) + euler_constant
        return t0 + t1 * harmonic - log(self.concentration1) - log(self.concentration0)
