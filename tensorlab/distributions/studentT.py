"""Student's t distribution."""

import math

from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.chi2 import Chi2
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import _standard_normal, are_numbers, broadcast_all
from tensorlab.ops.pointwise.elementary import log1p
from tensorlab.ops.pointwise.powers import rsqrt
from tensorlab.ops.pointwise.special import digamma, lgamma

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution: of a standard normal number over the root of a chi-squared one by its `df`.

    Source: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, volume 2,
    chapter 28.

    Parameters
    ----------
    df : positive number or tensor of the batch shape, the degrees of freedom
    loc : number or tensor of the batch shape, the median
    scale : positive number or tensor of the batch shape

    >>> from tensorlab.distributions import StudentT
    >>> StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _expanded = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        batch_shape = Size() if are_numbers(df, loc, scale) else self.df.size()
        super().__init__(batch_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._chi2 = self._chi2.expand(new._batch_shape)
        return new

    @property
    def mean(self):
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        m = self.scale.pow(2) * self.df / (self.df - 2)
        m = m.masked_fill((self.df <= 2) & (self.df > 1), math.inf)
        return m.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        x = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * rsqrt(z / self.df))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + lgamma(0.5 * self.df)
            - lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * log1p(y**2.0 / self.df) - normalizer

    def entropy(self):
        beta = lgamma(0.5 * self.df) + math.lgamma(0.5) - lgamma(0.5 * (self.df + 1))
        half = 0.5 * (self.df + 1)
        difference = digamma(half) - digamma(0.5 * self.df)
        return self.scale.log() + half * difference + 0.5 * self.df.log() + beta
