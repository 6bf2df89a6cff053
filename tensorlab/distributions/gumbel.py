"""The Gumbel distribution."""

import math

from tensorlab._core.dtypes import finfo
from tensorlab.distributions import constraints
from tensorlab.distributions.transformed_distribution import TransformedDistribution
from tensorlab.distributions.transforms import AffineTransform, ExpTransform
from tensorlab.distributions.uniform import Uniform
from tensorlab.distributions.utils import are_numbers, broadcast_all, euler_constant
from tensorlab.ops.creation import full_like, ones_like

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The Gumbel distribution, of the largest of many numbers: its cdf is exp(-exp(-(x - loc) / scale)).

    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, volume 2,
    chapter 22.

    Parameters
    ----------
    loc : number or tensor of the batch shape, the mode
    scale : positive number or tensor of the batch shape

    >>> from tensorlab.distributions import Gumbel
    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        spacing = finfo(self.loc.dtype)
        if are_numbers(loc, scale):
            base_dist = Uniform(spacing.tiny, 1 - spacing.eps, validate_args=validate_args)
        else:
            base_dist = Uniform(
                full_like(self.loc, spacing.tiny),
                full_like(self.loc, 1 - spacing.eps),
                validate_args=validate_args,
            )
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        super().__init__(base_dist, transforms, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self):
        return self.loc + self.scale * euler_constant

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)
