"""The LKJ distribution of correlation matrices."""

import math

from tensorlab._core.dtypes import finfo
from tensorlab._core.tensor import Size
from tensorlab.distributions import constraints
from tensorlab.distributions.beta import Beta
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import broadcast_all
from tensorlab.ops.joining import cat
from tensorlab.ops.multivariate_gamma import mvlgamma
from tensorlab.ops.pointwise.bounds import clamp
from tensorlab.ops.pointwise.powers import sqrt
from tensorlab.ops.pointwise.special import lgamma
from tensorlab.ops.random_factories import randn
from tensorlab.ops.ranges import arange
from tensorlab.ops.triangles import diag_embed

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """The LKJ distribution of correlation matrices, as their Cholesky factors.

    The density of a correlation matrix is proportional to det**(concentration - 1). Samples are
    drawn by the onion method. Source: Lewandowski, Kurowicka and Joe, Generating random
    correlation matrices, 2009.

    Parameters
    ----------
    dim : int, at least 2, the size of the matrices
    concentration : positive number or tensor of the batch shape: 1 is uniform

    >>> from tensorlab.distributions import LKJCholesky
    >>> LKJCholesky(3, 0.5).event_shape
    tensorlab.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"LKJCholesky: dim must be an int of at least 2, not {dim!r}")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # Row k of the factor has the squared length y beside the diagonal, a beta number.
        first = self.concentration + 0.5 * (self.dim - 2)
        offset = arange(
            self.dim - 1, dtype=self.concentration.dtype, device=self.concentration.device
        )
        offset = cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, first.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        super(LKJCholesky, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape=()):
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        w = sqrt(y) * direction
        eps = finfo(w.dtype).tiny
        diagonal = clamp(1 - (w**2).sum(dim=-1), min=eps).sqrt()
        return w + diag_embed(diagonal)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        density = (order * diagonal.log()).sum(dim=-1)
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        normalizer = mvlgamma(alpha - 0.5, n) - lgamma(alpha) * n + 0.5 * n * math.log(math.pi)
        return density - normalizer
