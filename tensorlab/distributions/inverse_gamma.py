"""The inverse gamma distribution."""

import math

from tensorlab.distributions import constraints
from tensorlab.distributions.gamma import Gamma
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.transforms import PowerTransform
from tensorlab.ops.pointwise.selection import where

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The distribution of 1 / x for a number x of the gamma distribution.

    Parameters
    ----------
    concentration : positive number or tensor of the batch shape
    rate : positive number or tensor of the batch shape

    >>> from tensorlab.distributions import InverseGamma
    >>> InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        base_dist = Gamma(concentration, rate, validate_args=validate_args)
        inverse = PowerTransform(-base_dist.rate.new_ones(()))
        super().__init__(base_dist, inverse, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(InverseGamma, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def concentration(self):
        return self.base_dist.concentration

    @property
    def rate(self):
        return self.base_dist.rate

    @property
    def mean(self):
        result = self.rate / (self.concentration - 1)
        return where(self.concentration > 1, result, math.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        a = self.concentration
        result = self.rate.square() / ((a - 1).square() * (a - 2))
        return where(a > 2, result, math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
