"""Pictures of another size: `interpolate` in all its modes, one axis after the other.

Along an axis, each new place is a weighted sum of a few old ones. Which ones and how much they weigh depends only on
the two sizes, so it is worked out once, in NumPy: `places` and `weights`, one row for each term of the sum.
"""

import math
import operator
import warnings

import numpy as np

from tensorlab._core.dtypes import DTYPES
from tensorlab._core.graph.saved import call_unpacked
from tensorlab._core.interop.exchange import tensor
from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops.pooling.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)

UINT8 = DTYPES[1]
DIMS = {"linear": 3, "bilinear": 4, "bicubic": 4, "lanczos": 4, "trilinear": 5}
ANY_DIMS = ("nearest", "nearest-exact", "area")
AVERAGES = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resample a batch of signals, pictures or volumes.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, length), (batch, channels, height, width) or with
        depth in front of height
    size : int or sequence of int, the new sizes
    scale_factor : float or sequence of float, new size over old size; one of both is given
    mode : "nearest", "nearest-exact", "area", or by the number of axes "linear", "bilinear",
        "bicubic", "trilinear"
    align_corners : bool; whether the middles of the corner pixels, rather than their outer
        edges, keep their places
    recompute_scale_factor : bool; take the ratio of the rounded sizes for the scale
    antialias : bool; when a picture shrinks, widen the filter ("bilinear", "bicubic" and
        "lanczos", which needs it)

    Returns
    -------
    Tensor of the same dtype

    Raises
    ------
    ValueError
        If sizes, scales or options do not belong together.
    NotImplementedError
        If the mode is not known or is for another number of dimensions.
    ShapeError
        If a size is 0.

    Notes
    -----
    Source of the cubic: Keys 1981, "Cubic Convolution Interpolation for Digital Image Processing", with a = -0.75, and
    -0.5 with antialias.

    >>> import tensorlab
    >>> x = tensorlab.tensor([[[0., 4.]]])
    >>> tensorlab.nn.functional.interpolate(x, scale_factor=2, mode="linear")
    tensor([[[0., 1., 3., 4.]]])
    """
    check_options(input, mode, align_corners, antialias)
    axes = input.dim() - 2
    sizes, scales = sizes_and_scales(input, size, scale_factor, recompute_scale_factor, mode)
    if min(sizes) <= 0 or 0 in input.shape[1:]:
        raise ShapeError(
            f"interpolate: from shape {tuple(input.shape)} to sizes {tuple(sizes)}; expected sizes above 0"
        )
    if mode == "area":
        return AVERAGES[input.dim()](input, tuple(sizes))
    check_dtype(input, mode, antialias)
    is_bytes = input.dtype is UINT8 and mode not in ANY_DIMS
    x, kind = input, np.float64 if is_bytes or input.element_size() == 8 else np.float32
    for axis in reversed(range(axes)):
        options = mode, bool(align_corners), antialias, kind
        x = call_unpacked(along, x, axis + 2, sizes[axis], scales[axis], *options)
    return x.clone() if x is input else x.to(input.dtype)


def check_options(input, mode, align_corners, antialias):
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            f"interpolate: align_corners is {align_corners}, which has no meaning with mode {mode!r}; leave it out"
        )
    if input.dim() not in (3, 4, 5) or (mode not in ANY_DIMS and mode not in DIMS):
        raise NotImplementedError(
            f"interpolate: mode {mode!r} for an input of {input.dim()} dimensions; expected 3 to 5 dimensions and one "
            f"of {', '.join([*ANY_DIMS, *DIMS])}"
        )
    if antialias and (mode not in ("bilinear", "bicubic", "lanczos") or input.dim() != 4):
        raise ValueError(
            f"interpolate: antialias is for bilinear, bicubic and lanczos and 4 dimensions, not for mode {mode!r} and "
            f"{input.dim()}"
        )
    if DIMS.get(mode, input.dim()) != input.dim():
        raise NotImplementedError(
            f"interpolate: mode {mode!r} needs {DIMS[mode]} dimensions, but the input has {input.dim()}"
        )
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError("interpolate: mode 'lanczos' needs antialias=True and no align_corners")


def sizes_and_scales(input, size, scale_factor, recompute_scale_factor, mode):
    """Return the new sizes, and for each axis the scale that was given, or None."""
    axes = input.dim() - 2
    if (size is None) == (scale_factor is None):
        raise ValueError(
            f"interpolate: size is {size} and scale_factor {scale_factor}; give one of both"
        )
    given = size if scale_factor is None else scale_factor
    listed = list(given) if isinstance(given, (list, tuple)) else [given] * axes
    if len(listed) != axes:
        raise ValueError(
            f"interpolate: {given} for an input of shape {tuple(input.shape)}; expected {axes} numbers, one for each "
            "dimension after the channels"
        )
    if scale_factor is None:
        if recompute_scale_factor:
            raise ValueError("interpolate: recompute_scale_factor has no meaning with a size")
        try:
            listed = [operator.index(one) for one in listed]
        except (TypeError, RuntimeError):
            raise TypeError(f"interpolate: size is {size}; expected ints") from None
        return listed, [None] * axes
    sizes = [math.floor(n * s) for n, s in zip(input.shape[2:], listed, strict=True)]
    is_exact = recompute_scale_factor or mode == "area"
    return sizes, [None if is_exact else 1 / float(scale) for scale in listed]


def check_dtype(input, mode, antialias):
    """Refuse a type that has no sums: integers but bytes in pictures, and half numbers with antialias."""
    takes_bytes = mode in ("nearest", "nearest-exact") or DIMS[mode] == 4
    is_half = input.element_size() == 2
    if input.is_floating_point() and not (antialias and is_half):
        return
    if input.dtype is UINT8 and takes_bytes:
        return
    expected = "float32 or float64" if antialias else "a floating type"
    raise UnsupportedDType(
        f"interpolate: the input is of type {input.dtype}; with mode {mode!r}"
        f"{' and antialias' if antialias else ''} expected {expected}{' or uint8' if takes_bytes else ''}"
    )


def along(x, dim, size, step, mode, align_corners, antialias, kind):
    """Resample along one dimension; `step` is the old distance between new places, if it was given."""
    old = x.size(dim)
    # As in PyTorch, a size that stays is left alone in some modes, whatever the scale.
    is_kept = antialias or mode.endswith("linear") or (mode == "nearest" and x.dim() == 4)
    is_bytes = x.dtype is UINT8 and mode not in ANY_DIMS
    if old == size and (step in (None, 1.0) or is_kept or is_bytes):
        return x
    if align_corners:
        step = (old - 1) / max(size - 1, 1)
    elif step is None:
        step = old / size
    add = weighted_bytes if is_bytes else weighted_sum
    if antialias:
        places, weights = filter_terms(old, size, step, mode)
        return add(x, dim, places, weights if is_bytes else shared(places, weights), kind)
    new = np.arange(size, dtype=kind)
    if mode in ("nearest", "nearest-exact"):
        shift = kind(0.5 if mode == "nearest-exact" else 0)
        places = np.minimum(np.floor((new + shift) * kind(step)).astype(np.int64), old - 1)
        return x.index_select(dim, tensor(places).to(x.device))
    middle = new * kind(step) if align_corners else kind(step) * (new + kind(0.5)) - kind(0.5)
    terms = (cubic_terms if mode == "bicubic" else linear_terms)(middle, old)
    return add(x, dim, *terms, kind)


def weighted_sum(x, dim, places, weights, kind):
    """Return the sum over k of weights[k] times x at places[k]."""
    shape = [-1] + [1] * (x.dim() - 1 - dim)
    out = None
    for place, weight in zip(places, weights, strict=True):
        taken = x.index_select(dim, tensor(place).to(x.device))
        term = taken * tensor(weight.astype(kind)).to(x.device).reshape(shape)
        out = term if out is None else out + term
    return out


def weighted_bytes(x, dim, places, weights, kind):
    """Return the same of bytes as bytes, in integers: weights in units of 2**-bits, the largest just below 2**15."""
    weights = np.array(weights, dtype=kind)
    for k in range(1, len(weights)):  # a pixel at the edge has the weights of those outside, too
        is_again = places[k] == places[k - 1]
        weights[k] += weights[k - 1] * is_again
        weights[k - 1] *= ~is_again
    bits = 22
    while int(weights.max() * 2**bits + 0.5) >= 2**15:
        bits -= 1
    units = np.trunc(weights * 2**bits + np.copysign(0.5, weights))
    total = weighted_sum(x.int(), dim, places, units, np.int32)
    return ((total + 2 ** (bits - 1)) >> bits).clamp(0, 255).byte()


def linear_terms(middle, old):
    """Return the two neighbours of each place, and their weights."""
    left = middle.astype(np.int64).clip(max=old - 1)  # a place above -1 becomes 0
    share = (middle - left).clip(0)
    return (left, np.minimum(left + 1, old - 1)), (1 - share, share)


def cubic_terms(middle, old):
    """Return the four neighbours of each place, and their weights."""
    left = np.floor(middle).astype(np.int64)
    share = middle - left
    places = [np.clip(left + k, 0, old - 1) for k in (-1, 0, 1, 2)]
    return places, [cubic(np.abs(share - k), -0.75) for k in (-1, 0, 1, 2)]


def cubic(distance, a):
    """Keys' equation 4 for distances from 0 to 2."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


FILTERS = {  # how far they reach, and their shape
    "bilinear": (1, lambda d: np.maximum(0, 1 - d)),
    "bicubic": (2, lambda d: cubic(d, -0.5)),
    "lanczos": (3, lambda d: np.where(d < 3, np.sinc(d) * np.sinc(d / 3), 0)),
}


def filter_terms(old, size, step, mode):
    """Return the places under a filter, as wide as new pixels where they are the larger ones, and their weights.

    Where the filter has fewer places than elsewhere, it repeats its first with weight 0.
    """
    reach, shape = FILTERS[mode]
    width = max(step, 1.0)
    centre = step * (np.arange(size) + 0.5)
    first = np.maximum((centre - reach * width + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + reach * width + 0.5).astype(np.int64), old) - 1
    places = first + np.arange((last - first).max() + 1)[:, None]
    is_under = places <= last
    weights = shape(np.abs(places - centre + 0.5) / width) * is_under
    return np.where(is_under, places, first), weights / weights.sum(0)


def shared(places, weights):
    """Return weights of which that of a first place is divided among its repeats, for 0 times inf would be nan."""
    is_first = places == places[0]
    return np.where(is_first, weights[0] / is_first.sum(0), weights)


# ------------------------------------------------------------------------------ older names
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """`interpolate`, under its older name; deprecated.

    Examples
    --------
    >>> import warnings
    >>> import tensorlab
    >>> with warnings.catch_warnings(action="ignore"):  # write interpolate instead
    ...     y = upsample(tensorlab.tensor([[[1.0, 2.0]]]), scale_factor=2)
    >>> y
    tensor([[[1., 1., 2., 2.]]])
    """
    warn("upsample", "interpolate")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """`interpolate` with mode "nearest"; deprecated.

    Examples
    --------
    >>> import warnings
    >>> import tensorlab
    >>> with warnings.catch_warnings(action="ignore"):  # write interpolate instead
    ...     y = upsample_nearest(tensorlab.tensor([[[1.0, 2.0]]]), scale_factor=2)
    >>> y
    tensor([[[1., 1., 2., 2.]]])
    """
    warn("upsample_nearest", "interpolate")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """`interpolate` with mode "bilinear" and aligned corners; deprecated.

    Examples
    --------
    >>> import warnings
    >>> import tensorlab
    >>> with warnings.catch_warnings(action="ignore"):  # write interpolate instead
    ...     y = upsample_bilinear(tensorlab.tensor([[[[1.0, 2.0]]]]), size=(1, 3))
    >>> y
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """
    warn("upsample_bilinear", "interpolate(mode='bilinear', align_corners=True)")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def warn(old, new):
    warnings.warn(
        f"nn.functional.{old} is deprecated; use {new} instead", UserWarning, stacklevel=3
    )
