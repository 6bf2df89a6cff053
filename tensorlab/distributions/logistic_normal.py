"""The logistic-normal distribution."""

from tensorlab.distributions import constraints
from tensorlab.distributions.normal import Normal
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Points of the simplex that normal numbers give by breaking a stick.

    Source: Aitchison and Shen, Logistic-normal distributions, Biometrika 1980.

    Parameters
    ----------
    loc : tensor (..., n), the means of the normal numbers
    scale : positive tensor (..., n), their standard deviations

    >>> import tensorlab
    >>> from tensorlab.distributions import LogisticNormal
    >>> LogisticNormal(tensorlab.zeros(2), tensorlab.ones(2)).event_shape
    tensorlab.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base_dist = Normal(loc, scale, validate_args=validate_args)
        if not base_dist.batch_shape:
            base_dist = base_dist.expand([1])
        super().__init__(base_dist, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LogisticNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def loc(self):
        return self.base_dist.base_dist.loc

    @property
    def scale(self):
        return self.base_dist.base_dist.scale
