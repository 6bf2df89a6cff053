"""The half-Cauchy distribution."""

import math

from tensorlab._core.interop.exchange import as_tensor
from tensorlab.distributions import constraints
from tensorlab.distributions.cauchy import Cauchy
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.transforms import AbsTransform
from tensorlab.ops.creation import full_like, zeros_like
from tensorlab.ops.pointwise.selection import where

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The distribution of the absolute value of a Cauchy number of median 0.

    Parameters
    ----------
    scale : positive number or tensor of the batch shape, of the Cauchy distribution: the median

    >>> import tensorlab
    >>> from tensorlab.distributions import HalfCauchy
    >>> HalfCauchy(2.0).cdf(tensorlab.tensor(2.0))
    tensor(0.5000)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        base_dist = Cauchy(0, scale, validate_args=False)
        super().__init__(base_dist, AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(HalfCauchy, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def scale(self):
        return self.base_dist.scale

    @property
    def mean(self):
        return full_like(self.scale, math.inf)

    @property
    def mode(self):
        return zeros_like(self.scale)

    @property
    def variance(self):
        return self.base_dist.variance

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value = as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return where(value >= 0, log_prob, -math.inf)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
