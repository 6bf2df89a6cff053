"""The log-normal distribution."""

from tensorlab.distributions import constraints
from tensorlab.distributions.normal import Normal
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The distribution of numbers whose logarithm is normal.

    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, volume 1,
    chapter 14.

    Parameters
    ----------
    loc : number or tensor of the batch shape, the mean of the logarithm
    scale : positive number or tensor of the batch shape, its standard deviation

    >>> from tensorlab.distributions import LogNormal
    >>> LogNormal(0.0, 1.0).mode
    tensor(0.3679)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base_dist = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base_dist, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LogNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def loc(self):
        return self.base_dist.loc

    @property
    def scale(self):
        return self.base_dist.scale

    @property
    def mean(self):
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self):
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self):
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc
