"""Transforms of random numbers, with the logarithm of how they stretch space.

A transform maps its `domain` to its `codomain`, both constraints. `log_abs_det_jacobian(x, y)` is the logarithm of
the absolute determinant of the derivative of y with respect to x, one number an event.
"""

import functools
import math
import numbers
import operator
import weakref

import tensorlab as torch
from tensorlab.distributions import constraints
from tensorlab.distributions.utils import (
    _sum_rightmost,
    broadcast_all,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

softplus = torch.nn.functional.softplus
pad = torch.nn.functional.pad


class Transform:
    """A map with a derivative that is known: `_call`, `_inverse` and `log_abs_det_jacobian` in a class of its own.

    Parameters
    ----------
    cache_size : 0 or 1: with 1 the last x and y are kept, so that the inverse of y is x itself

    Raises
    ------
    ValueError
        If `cache_size` is another number.

    >>> import tensorlab
    >>> from tensorlab.distributions import ExpTransform
    >>> ExpTransform().inv(tensorlab.tensor(1.0))
    tensor(0.)
    """

    bijective = False
    domain: constraints.Constraint
    codomain: constraints.Constraint

    def __init__(self, cache_size=0):
        if cache_size not in {0, 1}:
            raise ValueError(f"cache_size must be 0 or 1, not {cache_size!r}")
        self._cache_size = cache_size
        self._inv = None
        if cache_size == 1:
            self._cached_x_y = None, None
        super().__init__()

    def __getstate__(self):
        state = self.__dict__.copy()
        state["_inv"] = None  # a weak reference can't be pickled
        return state

    @property
    def event_dim(self):
        """The dimensions of an event of the domain, if the codomain has as many."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError(
            "event_dim isn't one number: ask for domain.event_dim or codomain.event_dim"
        )

    @property
    def inv(self):
        """The inverse transform, whose own inverse is this one."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self):
        """The sign of the derivative, 1 or -1, of a transform of numbers that is monotonic."""
        raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size=1):
        """Return the transform with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self).__name__}.with_cache is not implemented")

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x):
        """Return y."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__} doesn't define _call")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__} doesn't define _inverse")

    def log_abs_det_jacobian(self, x, y):
        """Return log abs det dy/dx, of the shape of x without the dimensions of an event."""
        raise NotImplementedError(
            f"{type(self).__name__} has no log_abs_det_jacobian: it isn't bijective"
        )

    def forward_shape(self, shape):
        """Return the shape of y for a shape of x."""
        return shape

    def inverse_shape(self, shape):
        """Return the shape of x for a shape of y."""
        return shape

    def __repr__(self):
        return type(self).__name__ + "()"


class _InverseTransform(Transform):
    """A transform the other way round."""

    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def __getstate__(self):
        return self.__dict__.copy()

    def with_cache(self, cache_size=1):
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __hash__(self):
        return hash((type(self), self._inv))

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Transforms one after another.

    Parameters
    ----------
    parts : list of Transform, the first one is applied first
    cache_size : 0 or 1, of each part

    >>> import tensorlab
    >>> from tensorlab.distributions import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0)])(tensorlab.tensor(0.0))
    tensor(3.)
    """

    def __init__(self, parts, cache_size=0):
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def __hash__(self):
        return hash((type(self), *self.parts))

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        domain = self.parts[0].domain
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim += part.domain.event_dim - part.codomain.event_dim
            event_dim = max(event_dim, part.domain.event_dim)
        return _with_events(domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        codomain = self.parts[-1].codomain
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim += part.codomain.event_dim - part.domain.event_dim
            event_dim = max(event_dim, part.codomain.event_dim)
        return _with_events(codomain, event_dim)

    @lazy_property
    def bijective(self):
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self):
        return functools.reduce(operator.mul, [part.sign for part in self.parts], 1)

    @property
    def inv(self):
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size=1):
        return (
            self
            if self._cache_size == cache_size
            else ComposeTransform(self.parts, cache_size=cache_size)
        )

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return torch.zeros_like(x)
        steps = [x]
        for part in self.parts[:-1]:
            steps.append(part(steps[-1]))
        steps.append(y)
        terms, event_dim = [], self.domain.event_dim
        for part, before, after in zip(self.parts, steps[:-1], steps[1:], strict=True):
            term = part.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return (
            f"{type(self).__name__}(\n    "
            + ",\n    ".join(repr(part) for part in self.parts)
            + "\n)"
        )


def _with_events(constraint, event_dim):
    extra = event_dim - constraint.event_dim
    return constraints.independent(constraint, extra) if extra > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of which some batch dimensions count as dimensions of the event.

    Parameters
    ----------
    base_transform : Transform
    reinterpreted_batch_ndims : int, how many more of the last dimensions belong to an event
    cache_size : 0 or 1

    >>> import tensorlab
    >>> from tensorlab.distributions import ExpTransform, IndependentTransform
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(tensorlab.ones(3), None)
    tensor(3.)
    """

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size
        )

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _check(self, x, constraint):
        if x.dim() < constraint.event_dim:
            raise ValueError(
                f"{self!r} takes at least {constraint.event_dim} dimensions, got shape {tuple(x.shape)}"
            )

    def _call(self, x):
        self._check(x, self.domain)
        return self.base_transform(x)

    def _inverse(self, y):
        self._check(y, self.codomain)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(
            self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims
        )

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """A change of the shape of an event; the last dimensions of an input must be `in_shape`.

    Parameters
    ----------
    in_shape, out_shape : Size, of as many elements
    cache_size : 0 or 1

    >>> import tensorlab
    >>> from tensorlab.distributions import ReshapeTransform
    >>> tuple(ReshapeTransform((4,), (2, 2))(tensorlab.ones(3, 4)).shape)
    (3, 2, 2)
    """

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape, self.out_shape = torch.Size(in_shape), torch.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"in_shape {tuple(in_shape)} and out_shape {tuple(out_shape)} have different numbers of elements"
            )
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x):
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.size()[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape, old, new):
    batch = len(shape) - len(old)
    if batch < 0 or tuple(shape[batch:]) != tuple(old):
        raise ValueError(f"expected a shape that ends with {tuple(old)}, got {tuple(shape)}")
    return shape[:batch] + new


class ExpTransform(Transform):
    """y = exp(x)."""

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
        return torch.broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape):
        return torch.broadcast_shapes(shape, self.exponent.shape)


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x))."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def __eq__(self, other):
        return isinstance(other, SigmoidTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        info = torch.finfo(x.dtype)
        return torch.clamp(torch.sigmoid(x), min=info.tiny, max=1.0 - info.eps)

    def _inverse(self, y):
        info = torch.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)), which is x for large x."""

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
    """y = tanh(x). The ends -1 and 1 have no finite inverse: a cache keeps the x that they came from."""

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
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        # log(1 - tanh(x)**2), written so that it keeps its digits for large x
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = abs(x), whose inverse gives the positive x."""

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
            result = torch.full_like(x, math.log(abs(scale)))
        else:
            result = torch.abs(scale).log()
        if self.event_dim:
            result = _sum_rightmost(
                result.expand(torch.broadcast_shapes(shape, result.shape)), self.event_dim
            )
            shape = shape[: -self.event_dim]
        return result.expand(torch.broadcast_shapes(shape, result.shape))

    def forward_shape(self, shape):
        return torch.broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    def inverse_shape(self, shape):
        return self.forward_shape(shape)


def _are_equal(a, b):
    equal = a == b
    return bool(equal.all()) if isinstance(equal, torch.Tensor) else equal


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers as Cholesky factors of correlation matrices n x n.

    The numbers become partial correlations, by tanh; row by row they break off parts of what is left of the squared
    length 1. Source: Lewandowski, Kurowicka and Joe, Generating random correlation matrices, 2009.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = torch.tanh(x)
        eps = torch.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + torch.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = pad((1 - torch.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
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
    """Vectors as points of the simplex, by exp and division by the sum; the inverse is the logarithm."""

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
        left = torch.clamp(1 - cropped.cumsum(-1), min=torch.finfo(y.dtype).tiny)
        return cropped.log() - left.log() + offset.log()

    def log_abs_det_jacobian(self, x, y):
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        x = x - offset.log()
        return (-x + torch.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("StickBreakingTransform takes vectors, but the shape is ()")
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("StickBreakingTransform gives vectors, but the shape is ()")
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Transform):
    """Square matrices as lower triangular ones with a positive diagonal, by exp on the diagonal."""

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
    """Square matrices as positive definite ones, by their Cholesky factors."""

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
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class CatTransform(Transform):
    """Transforms side by side along a dimension: each takes a part of its own length.

    Parameters
    ----------
    tseq : sequence of Transform
    dim : int, the dimension
    lengths : sequence of int, how long each part is; 1 each by default
    cache_size : 0 or 1
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
        return torch.cat(
            [t(p) for t, p in zip(self.transforms, self._parts(x), strict=True)], dim=self.dim
        )

    def _inverse(self, y):
        return torch.cat(
            [t.inv(p) for t, p in zip(self.transforms, self._parts(y), strict=True)], dim=self.dim
        )

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for t, xs, ys in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            term = t.log_abs_det_jacobian(xs, ys)
            terms.append(_sum_rightmost(term, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)

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
        return torch.stack(
            [t(s) for s, t in zip(self._slices(x), self.transforms, strict=True)], dim=self.dim
        )

    def _inverse(self, y):
        return torch.stack(
            [t.inv(s) for s, t in zip(self._slices(y), self.transforms, strict=True)], dim=self.dim
        )

    def log_abs_det_jacobian(self, x, y):
        slices = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return torch.stack([t.log_abs_det_jacobian(xs, ys) for t, xs, ys in slices], dim=self.dim)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """y = cdf(x) of a distribution, which makes its draws uniform.

    Parameters
    ----------
    distribution : Distribution with cdf and icdf
    cache_size : 0 or 1
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
