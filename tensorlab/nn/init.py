"""Initial values of parameters.

A layer sums over `fan_in` inputs, and its gradient over `fan_out` outputs.  For values to keep
their size through depth, the variance of the weights must be about 1 / fan; the functions differ in
which fan they take, and in the gain by which they make up for what the nonlinearity takes away.

All of them write into the tensor given, outside autograd, and return it.  They draw from the
generator in the same order as PyTorch, so equal seeds give equal weights.
"""

import math
import warnings

import numpy as np

from .._core.interop.arrays import from_numpy
from ..autograd import no_grad
from ..ops.creation import empty, empty_like
from ..ops.pointwise.selection import where
from ..ops.random_factories import randperm

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

CONVOLUTIONS = tuple(f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3))
LINEAR = ("linear", *CONVOLUTIONS, "sigmoid")


def calculate_gain(nonlinearity, param=None):
    """Return the factor that makes up for what a nonlinearity takes from the standard deviation.

    Parameters
    ----------
    nonlinearity : "linear", the name of a convolution such as "conv2d" or "conv_transpose2d", "sigmoid",
        "tanh", "relu", "leaky_relu" or "selu"
    param : float, the negative slope of "leaky_relu" (0.01)

    Raises
    ------
    ValueError
        If the name is none of these, or the slope is not a number.

    Examples
    --------
    >>> round(calculate_gain("relu"), 4)
    1.4142
    """
    if nonlinearity in LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"calculate_gain: the negative slope is {slope!r}; expected a number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4  # empirical, for self-normalising networks; PyTorch's value
    raise ValueError(
        f"calculate_gain: nonlinearity is {nonlinearity!r}; expected one of "
        f"{', '.join(LINEAR)}, tanh, relu, leaky_relu, selu"
    )


def _calculate_fan_in_and_fan_out(tensor):
    """Return how many inputs one output sums over, and how many outputs one input reaches."""
    if tensor.dim() < 2:
        raise ValueError(
            f"init: a tensor of shape {tuple(tensor.shape)} has no fan in and fan out; they need "
            "2 dimensions or more, (out, in, kernel sizes...)"
        )
    kernel_size = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel_size, tensor.shape[0] * kernel_size


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fill with numbers uniform in [a, b).

    Examples
    --------
    >>> import tensorlab
    >>> weight = uniform_(tensorlab.empty(1000), -1.0, 1.0)
    >>> bool((weight.abs() <= 1).all())
    True
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fill with normal numbers.

    Examples
    --------
    >>> import tensorlab
    >>> weight = normal_(tensorlab.empty(1000), std=0.1)
    >>> round(weight.std().item(), 1)
    0.1
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor, val):
    """Fill with one value.

    Examples
    --------
    >>> import tensorlab
    >>> constant_(tensorlab.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Fill with 1.

    Examples
    --------
    >>> import tensorlab
    >>> ones_(tensorlab.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Fill with 0.

    Examples
    --------
    >>> import tensorlab
    >>> zeros_(tensorlab.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor):
    """Fill a matrix with 1 on the diagonal and 0 elsewhere, so that a Linear layer copies.

    Raises
    ------
    ValueError
        If the tensor is not a matrix.

    Examples
    --------
    >>> import tensorlab
    >>> eye_(tensorlab.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError(f"eye_: x has shape {tuple(tensor.shape)}; expected a matrix")
    with no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Fill with uniform numbers of variance gain**2 * 2 / (fan_in + fan_out).

    Raises ValueError for a tensor of fewer than two dimensions.
    Source: Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward
    neural networks", equation 16.

    Examples
    --------
    >>> import tensorlab
    >>> weight = xavier_uniform_(tensorlab.empty(3, 3))
    >>> bool((weight.abs() <= 1).all())  # the bound is sqrt(6 / (3 + 3))
    True
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)  # variance of U(-b, b) is b**2 / 3
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Fill with normal numbers of variance gain**2 * 2 / (fan_in + fan_out).

    Raises ValueError for a tensor of fewer than two dimensions.
    Source: Glorot and Bengio 2010, as for xavier_uniform_.

    Examples
    --------
    >>> import tensorlab
    >>> weight = xavier_normal_(tensorlab.empty(200, 200))
    >>> round(weight.std().item(), 2)  # sqrt(2 / (200 + 200))
    0.07
    """
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _xavier_std(tensor, gain):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill with uniform numbers of variance gain**2 / fan.

    Parameters
    ----------
    tensor : Tensor of two or more dimensions, (out, in, ...)
    a : float, the negative slope if `nonlinearity` is "leaky_relu"
    mode : "fan_in" keeps the size of values going forward, "fan_out" that of gradients going back
    nonlinearity : a name that `calculate_gain` knows
    generator : Generator, the default one if not given

    Raises
    ------
    ValueError
        If the tensor has fewer than two dimensions, or a name is not known.

    Notes
    -----
    Source: He et al. 2015, "Delving Deep into Rectifiers", equations 10 and 14.

    Examples
    --------
    >>> import tensorlab
    >>> weight = kaiming_uniform_(tensorlab.empty(3, 6), nonlinearity="relu")
    >>> bool((weight.abs() <= 1).all())  # the bound is sqrt(2) * sqrt(3 / 6), about 1
    True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Fill with normal numbers of variance gain**2 / fan; arguments as for kaiming_uniform_.

    Examples
    --------
    >>> import tensorlab
    >>> weight = kaiming_normal_(tensorlab.empty(200, 200), nonlinearity="relu")
    >>> round(weight.std().item(), 1)  # sqrt(2 / 200)
    0.1
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    """Return gain / sqrt(fan), or None with a warning for a tensor without elements."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"init: mode is {mode!r}; expected 'fan_in' or 'fan_out'")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    fan = fan_in if mode == "fan_in" else fan_out
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def orthogonal_(tensor, gain=1, generator=None):
    """Fill with a matrix whose rows or columns are orthonormal, times `gain`.

    Dimensions behind the first count as one.  Values keep their length on the way through.

    Raises
    ------
    ValueError
        If the tensor has fewer than two dimensions.

    Notes
    -----
    Q of the QR decomposition of a random normal matrix, its signs chosen so that every such Q is
    equally likely.  Source: Saxe, McClelland and Ganguli 2014, "Exact solutions to the nonlinear
    dynamics of learning in deep linear neural networks", section 3; the signs: Mezzadri 2007, "How
    to generate random matrices from the classical compact groups", section 5.

    Examples
    --------
    >>> import tensorlab
    >>> weight = orthogonal_(tensorlab.empty(3, 5))
    >>> tensorlab.allclose(weight @ weight.T, tensorlab.eye(3), atol=1e-6)
    True
    """
    if tensor.dim() < 2:
        raise ValueError(
            f"orthogonal_: a tensor of shape {tuple(tensor.shape)} has no rows and columns; it needs "
            f"2 dimensions or more"
        )
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows, columns = tensor.size(0), tensor.numel() // tensor.size(0)
    drawn = empty(rows, columns, dtype=tensor.dtype, device="cpu").normal_(
        0, 1, generator=generator
    )
    tall = drawn.t() if rows < columns else drawn
    q, r = np.linalg.qr(tall.numpy())
    q = q * np.sign(np.diagonal(r))
    with no_grad():
        tensor.view(rows, columns).copy_(from_numpy(q.T if rows < columns else q))
        return tensor.mul_(gain)


def dirac_(tensor, groups=1):
    """Fill a convolution's weight so that it copies its input channels, as far as it has outputs.

    Parameters
    ----------
    tensor : Tensor of 3 to 5 dimensions, (out, in / groups, kernel sizes...)
    groups : int; each group of outputs copies its own inputs

    Raises
    ------
    ValueError
        If there are other dimensions, or the outputs cannot be split into the groups.

    Examples
    --------
    >>> import tensorlab
    >>> dirac_(tensorlab.empty(2, 2, 3))
    tensor([[[0., 1., 0.],
             [0., 0., 0.]],
    <BLANKLINE>
            [[0., 0., 0.],
             [0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(
            f"dirac_: only tensors with 3, 4, or 5 dimensions are supported, not {tensor.dim()}"
        )
    if tensor.size(0) % groups:
        raise ValueError(
            f"dirac_: dim 0 must be divisible by groups, but it is {tensor.size(0)} for {groups} groups"
        )
    outputs = tensor.size(0) // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for first in range(0, tensor.size(0), outputs):
            for channel in range(min(outputs, tensor.size(1))):
                tensor[(first + channel, channel, *middle)] = 1
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Fill a matrix with normal numbers, and set a share of each column to 0.

    Parameters
    ----------
    tensor : Tensor, shape (rows, columns)
    sparsity : float from 0 to 1, the share of zeros, rounded up to whole elements
    std : float
    generator : Generator of the normal numbers; the places of zeros come from the default one, as in PyTorch

    Raises
    ------
    ValueError
        If the tensor is not a matrix.

    Notes
    -----
    Source: Martens 2010, "Deep learning via Hessian-free optimization", section 5.

    Examples
    --------
    >>> import tensorlab
    >>> weight = sparse_(tensorlab.empty(10, 4), sparsity=0.5)
    >>> (weight == 0).sum(0)
    tensor([5, 5, 5, 5])
    """
    if tensor.dim() != 2:
        raise ValueError(
            f"sparse_: only tensors with 2 dimensions are supported, not {tensor.dim()}"
        )
    rows, columns = tensor.shape
    zeros_in_column = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:zeros_in_column], column] = 0
    return tensor


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Fill with normal numbers, none of which is outside [a, b].

    Numbers outside are drawn again. Where few would be inside, uniform candidates from [a, b] are kept with the
    density as their probability instead. Warns if the mean is more than two deviations outside [a, b].

    Examples
    --------
    >>> import tensorlab
    >>> weight = trunc_normal_(tensorlab.empty(1000))
    >>> bool((weight.abs() <= 2).all())
    True
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "trunc_normal_: the mean is more than 2 std from [a, b]; the distribution of values may "
            "be incorrect",
            stacklevel=2,
        )
    below_a, below_b = ((1 + math.erf((x - mean) / std / math.sqrt(2))) / 2 for x in (a, b))
    with no_grad():
        if below_b - below_a > 0.3:
            return _redrawn_outside(tensor, mean, std, a, b, generator)
        return _kept_by_density(tensor, mean, std, a, b, generator)


def _redrawn_outside(tensor, mean, std, a, b, generator):
    low, high = (tensor.new_tensor(bound).item() for bound in (a, b))  # as the dtype rounds them
    tensor.normal_(mean, std, generator=generator)
    outside = (tensor < low) | (tensor > high)
    while outside.any():
        again = empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(where(outside, again, tensor))
        outside = (tensor < low) | (tensor > high)
    return tensor


def _kept_by_density(tensor, mean, std, a, b, generator):
    highest = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2  # log density at its peak in [a, b]
    is_pending = None
    while is_pending is None or is_pending.any():
        candidates = empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(candidates if is_pending is None else where(is_pending, candidates, tensor))
        log_density = candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(highest)
        is_refused = empty_like(tensor).uniform_(generator=generator).log_() > log_density
        is_pending = is_refused if is_pending is None else is_pending & is_refused
    return tensor


def _older_name(function):
    """Return a function under its name of before, without the underscore, that warns."""
    new = function.__name__
    old = new.removesuffix("_")

    def older(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    older.__name__ = older.__qualname__ = old
    sizes = "3, 3, 3" if old == "dirac" else "3, 3"
    more = {"constant": ", 0.5", "sparse": ", 0.1"}.get(old, "")
    older.__doc__ = f"""Deprecated name of `{new}`.

Examples
--------
>>> import tensorlab
>>> weight = tensorlab.empty({sizes})
>>> tensorlab.nn.init.{new}(weight{more}) is weight
True
"""
    return older


uniform = _older_name(uniform_)
normal = _older_name(normal_)
constant = _older_name(constant_)
eye = _older_name(eye_)
dirac = _older_name(dirac_)
xavier_uniform = _older_name(xavier_uniform_)
xavier_normal = _older_name(xavier_normal_)
kaiming_uniform = _older_name(kaiming_uniform_)
kaiming_normal = _older_name(kaiming_normal_)
orthogonal = _older_name(orthogonal_)
sparse = _older_name(sparse_)
