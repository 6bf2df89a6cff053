"""Transforms of vectors and matrices, and of the parts of a tensor."""

import math

from tensorlab._core.dtypes import finfo
from tensorlab.distributions import constraints
from tensorlab.distributions.scalar_transforms import SigmoidTransform
from tensorlab.distributions.transform import Transform
from tensorlab.distributions.utils import (
    _sum_rightmost,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from tensorlab.linalg import cholesky
from tensorlab.nn.functional import logsigmoid, pad, softplus
from tensorlab.ops.joining import cat, stack
from tensorlab.ops.pointwise.bounds import clamp
from tensorlab.ops.pointwise.elementary import tanh
from tensorlab.ops.ranges import eye
from tensorlab.ops.scans import cumsum


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers as Cholesky factors of correlation matrices n x n.

    The numbers become partial correlations, by tanh; row by row they break off parts of what is
    left of the squared length 1. Source: Lewandowski, Kurowicka and Joe, Generating random
    correlation matrices, 2009.

    Examples
    --------
    >>> import tensorlab
    >>> L = CorrCholeskyTransform()(tensorlab.tensor([0.5]))
    >>> L @ L.T
    tensor([[1.0000, 0.4621],
            [0.4621, 1.0000]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = tanh(x)
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = pad((1 - cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2  # atanh

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        left = 1 - (y * y).cumsum(dim=-1)
        left = tril_matrix_to_vec(left, diag=-2)  # of the last number of a row nothing is left
        stretched = 0.5 * left.log().sum(-1)
        return stretched - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("CorrCholeskyTransform takes vectors, but the shape is ()")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(
                f"a matrix n x n takes n (n - 1) / 2 numbers; there is no n for {shape[-1]}"
            )
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape):
        _check_square(shape)
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


def _check_square(shape):
    if len(shape) < 2 or shape[-2] != shape[-1]:
        raise ValueError(f"expected the shape of square matrices, got {tuple(shape)}")


class SoftmaxTransform(Transform):
    """Vectors as points of the simplex, by exp and division by the sum; the inverse is the logarithm.

    Examples
    --------
    >>> import tensorlab
    >>> SoftmaxTransform()(tensorlab.tensor([0.0, 0.0, 0.0, 0.0]))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other):
        return isinstance(other, SoftmaxTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        probs = (x - x.max(-1, True)[0]).exp()
        return probs / probs.sum(-1, True)

    def _inverse(self, y):
        return y.log()

    def _check(self, shape):
        if len(shape) < 1:
            raise ValueError("SoftmaxTransform takes vectors, but the shape is ()")
        return shape

    forward_shape = inverse_shape = _check


class StickBreakingTransform(Transform):
    """Vectors of n numbers as points of the simplex in n + 1 dimensions: each breaks a part off what is left.

    Source: the Stan reference manual, section on the unit simplex.

    Examples
    --------
    >>> import tensorlab
    >>> y = StickBreakingTransform()(tensorlab.zeros(2))
    >>> y, y.sum()
    (tensor([0.3333, 0.3333, 0.3333]), tensor(1.0000))
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other):
        return isinstance(other, StickBreakingTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        z = SigmoidTransform()(x - offset.log())
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y):
        cropped = y[..., :-1]
        offset = y.shape[-1] - cropped.new_ones(cropped.shape[-1]).cumsum(-1)
        left = clamp(1 - cropped.cumsum(-1), min=finfo(y.dtype).tiny)
        return cropped.log() - left.log() + offset.log()

    def log_abs_det_jacobian(self, x, y):
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        x = x - offset.log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("StickBreakingTransform takes vectors, but the shape is ()")
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("StickBreakingTransform gives vectors, but the shape is ()")
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Transform):
    """Square matrices as lower triangular ones with a positive diagonal, by exp on the diagonal.

    Examples
    --------
    >>> import tensorlab
    >>> LowerCholeskyTransform()(tensorlab.tensor([[0.0, 7.0], [3.0, 0.0]]))
    tensor([[1., 0.],
            [3., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other):
        return isinstance(other, LowerCholeskyTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices as positive definite ones, by their Cholesky factors.

    Examples
    --------
    >>> import tensorlab
    >>> PositiveDefiniteTransform()(tensorlab.tensor([[0.0, 7.0], [3.0, 0.0]]))
    tensor([[ 1.,  3.],
            [ 3., 10.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other):
        return isinstance(other, PositiveDefiniteTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(cholesky(y))


class CatTransform(Transform):
    """Transforms side by side along a dimension: each takes a part of its own length.

    Parameters
    ----------
    tseq : sequence of Transform
    dim : int, the dimension
    lengths : sequence of int, how long each part is; 1 each by default
    cache_size : 0 or 1

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import AbsTransform, ExpTransform
    >>> both = CatTransform([ExpTransform(), AbsTransform()], lengths=[1, 2])
    >>> both(tensorlab.tensor([0.0, -1.0, -2.0]))
    tensor([1., 1., 2.])
    """

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        if not all(isinstance(t, Transform) for t in tseq):
            raise TypeError("CatTransform takes a sequence of transforms")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(f"{len(self.transforms)} transforms, but {len(self.lengths)} lengths")
        self.dim = dim

    @lazy_property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self):
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x):
        if not -x.dim() <= self.dim < x.dim():
            raise ValueError(f"dim {self.dim} is out of range for shape {tuple(x.shape)}")
        if x.size(self.dim) != self.length:
            raise ValueError(
                f"dimension {self.dim} must have size {self.length}, got shape {tuple(x.shape)}"
            )
        return x.split(self.lengths, self.dim)

    def _call(self, x):
        return cat(
            [t(p) for t, p in zip(self.transforms, self._parts(x), strict=True)], dim=self.dim
        )

    def _inverse(self, y):
        return cat(
            [t.inv(p) for t, p in zip(self.transforms, self._parts(y), strict=True)], dim=self.dim
        )

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for t, xs, ys in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            term = t.log_abs_det_jacobian(xs, ys)
            terms.append(_sum_rightmost(term, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return cat(terms, dim=dim) if dim < 0 else sum(terms)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """One transform for each slice along a dimension.

    Parameters
    ----------
    tseq : sequence of Transform
    dim : int, the dimension
    cache_size : 0 or 1

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import AbsTransform, ExpTransform
    >>> both = StackTransform([ExpTransform(), AbsTransform()])
    >>> both(tensorlab.tensor([[0.0, 0.0], [-1.0, -2.0]]))
    tensor([[1., 1.],
            [1., 2.]])
    """

    def __init__(self, tseq, dim=0, cache_size=0):
        if not all(isinstance(t, Transform) for t in tseq):
            raise TypeError("StackTransform takes a sequence of transforms")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    def with_cache(self, cache_size=1):
        return (
            self
            if self._cache_size == cache_size
            else StackTransform(self.transforms, self.dim, cache_size)
        )

    def _slices(self, x):
        if not -x.dim() <= self.dim < x.dim():
            raise ValueError(f"dim {self.dim} is out of range for shape {tuple(x.shape)}")
        if x.size(self.dim) != len(self.transforms):
            raise ValueError(
                f"dimension {self.dim} must have size {len(self.transforms)}, got shape {tuple(x.shape)}"
            )
        return x.unbind(self.dim)

    def _call(self, x):
        return stack(
            [t(s) for s, t in zip(self._slices(x), self.transforms, strict=True)], dim=self.dim
        )

    def _inverse(self, y):
        return stack(
            [t.inv(s) for s, t in zip(self._slices(y), self.transforms, strict=True)], dim=self.dim
        )

    def log_abs_det_jacobian(self, x, y):
        slices = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return stack([t.log_abs_det_jacobian(xs, ys) for t, xs, ys in slices], dim=self.dim)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
