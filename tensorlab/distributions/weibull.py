"""The Weibull distribution."""

from tensorlab.distributions import constraints
from tensorlab.distributions.exponential import Exponential
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.transforms import AffineTransform, PowerTransform
from tensorlab.distributions.utils import broadcast_all, euler_constant
from tensorlab.ops.creation import ones_like
from tensorlab.ops.pointwise.elementary import exp, log
from tensorlab.ops.pointwise.special import lgamma

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution: x > t has the probability exp(-(t / scale)**concentration).

    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, volume 1,
    chapter 21.

    Parameters
    ----------
    scale : positive number or tensor of the batch shape
    concentration : positive number or tensor of the batch shape

    >>> from tensorlab.distributions import Weibull
    >>> Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base_dist = Exponential(ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base_dist, transforms, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = (
            self.scale.expand(batch_shape),
            self.concentration.expand(batch_shape),
        )
        new.concentration_reciprocal = new.concentration.reciprocal()
        base_dist = self.base_dist.expand(batch_shape)
        transforms = [
            PowerTransform(exponent=new.concentration_reciprocal),
            AffineTransform(loc=0, scale=new.scale),
        ]
        super(Weibull, new).__init__(base_dist, transforms, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self):
        return self.scale * exp(lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self):
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self):
        k = self.concentration_reciprocal
        return self.scale.pow(2) * (exp(lgamma(1 + 2 * k)) - exp(2 * lgamma(1 + k)))

    def entropy(self):
        k = self.concentration_reciprocal
        return euler_constant * (1 - k) + log(self.scale * k) + 1
