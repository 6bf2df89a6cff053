"""Transforms of numbers: each element on its own."""

import math
import numbers

from tensorlab._core.dtypes import finfo
from tensorlab._tensor import Tensor
from tensorlab.distributions import constraints
from tensorlab.distributions.transform import Transform, _with_events
from tensorlab.distributions.utils import _sum_rightmost, broadcast_all, lazy_property
from tensorlab.nn.functional import softplus
from tensorlab.ops.creation import full_like
from tensorlab.ops.meshgrid import broadcast_shapes
from tensorlab.ops.pointwise.bounds import clamp
from tensorlab.ops.pointwise.elementary import sigmoid
from tensorlab.ops.pointwise.hyperbolic import atanh


class ExpTransform(Transform):
    """y = exp(x).

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([0.0, 1.0])
    >>> y = ExpTransform()(x)
    >>> y, ExpTransform().log_abs_det_jacobian(x, y)
    (tensor([1.0000, 2.7183]), tensor([0., 1.]))
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def __eq__(self, other):
        return isinstance(other, ExpTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x**exponent, for positive x.

    Parameters
    ----------
    exponent : number or tensor, not 0
    cache_size : 0 or 1

    Examples
    --------
    >>> import tensorlab
    >>> PowerTransform(tensorlab.tensor(2.0))(tensorlab.tensor([1.0, 3.0]))
    tensor([1., 9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        return (
            self
            if self._cache_size == cache_size
            else PowerTransform(self.exponent, cache_size=cache_size)
        )

    @lazy_property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    def __hash__(self):
        return hash((type(self), id(self.exponent)))

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape):
        return broadcast_shapes(shape, self.exponent.shape)


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)).

    Examples
    --------
    >>> import tensorlab
    >>> SigmoidTransform().inv(tensorlab.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def __eq__(self, other):
        return isinstance(other, SigmoidTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        info = finfo(x.dtype)
        return clamp(sigmoid(x), min=info.tiny, max=1.0 - info.eps)

    def _inverse(self, y):
        info = finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)), which is x for large x.

    Examples
    --------
    >>> import tensorlab
    >>> SoftplusTransform()(tensorlab.tensor([-5.0, 0.0, 5.0]))
    tensor([0.0067, 0.6931, 5.0067])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def __eq__(self, other):
        return isinstance(other, SoftplusTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x). The ends -1 and 1 have no finite inverse: a cache keeps the x that they came from.

    Examples
    --------
    >>> import tensorlab
    >>> TanhTransform()(tensorlab.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def __eq__(self, other):
        return isinstance(other, TanhTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return atanh(y)

    def log_abs_det_jacobian(self, x, y):
        # log(1 - tanh(x)**2), written so that it keeps its digits for large x
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = abs(x), whose inverse gives the positive x.

    Examples
    --------
    >>> import tensorlab
    >>> AbsTransform()(tensorlab.tensor([-2.0, 3.0]))
    tensor([2., 3.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other):
        return isinstance(other, AbsTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """y = loc + scale * x.

    Parameters
    ----------
    loc, scale : numbers or tensors
    event_dim : int, of the dimensions of an event: 0 for numbers, 1 for vectors, 2 for matrices
    cache_size : 0 or 1

    Examples
    --------
    >>> import tensorlab
    >>> standard = AffineTransform(loc=10.0, scale=2.0)
    >>> x = standard(tensorlab.tensor([0.0, 1.0]))
    >>> x, standard.inv(x)
    (tensor([10., 12.]), tensor([0., 1.]))
    """

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self):
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return _with_events(constraints.real, self.event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return _with_events(constraints.real, self.event_dim)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other):
        return (
            isinstance(other, AffineTransform)
            and _are_equal(self.loc, other.loc)
            and _are_equal(self.scale, other.scale)
        )

    def __hash__(self):
        return hash(type(self))

    @property
    def sign(self):
        if isinstance(self.scale, numbers.Real):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        shape, scale = x.shape, self.scale
        if isinstance(scale, numbers.Real):
            result = full_like(x, math.log(abs(scale)))
        else:
            result = abs(scale).log()
        if self.event_dim:
            result = _sum_rightmost(
                result.expand(broadcast_shapes(shape, result.shape)), self.event_dim
            )
            shape = shape[: -self.event_dim]
        return result.expand(broadcast_shapes(shape, result.shape))

    def forward_shape(self, shape):
        return broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    def inverse_shape(self, shape):
        return self.forward_shape(shape)


def _are_equal(a, b):
    equal = a == b
    return bool(equal.all()) if isinstance(equal, Tensor) else equal


class CumulativeDistributionTransform(Transform):
    """y = cdf(x) of a distribution, which makes its draws uniform.

    Parameters
    ----------
    distribution : Distribution with cdf and icdf
    cache_size : 0 or 1

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import Normal
    >>> CumulativeDistributionTransform(Normal(0.0, 1.0))(tensorlab.tensor([0.0, 1.96]))
    tensor([0.5000, 0.9750])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
