"""Windows: how much each sample of a stretch of a signal counts, so that a transform sees no jump at its ends.

They are calculated in double, and rounded once to their type.
"""

import math
from functools import partial

from tensorlab._core.dtypes import BY_NAME
from tensorlab._core.tensor import TensorBase
from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.creation import empty
from tensorlab.ops.pointwise.bessel import i0
from tensorlab.ops.ranges import arange

FLOAT64 = BY_NAME["float64"]
HANN = (0.5, 0.5)
BLACKMAN = (0.42, 0.5, 0.08)


# ------------------------------------------------------------------------------ formulas
def places(length, periodic, device):
    """The places of the samples, in double, from 0; the last one, or in a periodic window the one after it, is at 1."""
    steps = length if periodic else length - 1
    return arange(length, dtype=FLOAT64, device=device) / max(steps, 1)


def sum_of_cosines(weights, length, periodic, device):
    """w0 - w1 cos(t) + w2 cos(2 t) - ..., t from 0 to 2 pi; a single sample is 1."""
    at = places(length, periodic, device)
    if length == 1:
        return at + 1
    terms = [(-1) ** k * weight * (2 * math.pi * k * at).cos() for k, weight in enumerate(weights)]
    return sum(terms[1:], terms[0])


def triangle(length, periodic, device):
    at = places(length, periodic, device)
    return at + 1 if length == 1 else 1 - (2 * at - 1).abs()


def kaiser(beta, length, periodic, device):
    """The most of its energy within a frequency, nearly. Source: Kaiser and Schafer 1980."""
    at = places(length, periodic, device)
    if length == 1:
        return at + 1
    height = beta * (1 - (2 * at - 1).square()).clamp(min=0).sqrt()
    return i0(height) / i0(at.new_tensor(float(beta)))


# ------------------------------------------------------------------------------ the functions of the package
OPTIONS = ("dtype", "layout", "device", "pin_memory", "requires_grad")


def check_options(where, given, known):
    for name in given:
        if name not in known:
            raise TypeError(
                f"{where}: unknown argument {name!r}; the options are {', '.join(known)}"
            )


def check_length(where, length):
    if isinstance(length, (bool, TensorBase)) or not hasattr(length, "__index__"):
        raise TypeError(f"{where}: the window's length must be an int, not {type(length).__name__}")


def made(where, window, length, periodic, options):
    """What `window(length, periodic, device)` gives, with the options of `empty`."""
    check_options(where, options, OPTIONS)
    check_length(where, length)
    if length < 0:
        raise ShapeError(f"{where}: the window's length is {length}; it must be at least 0")
    model = empty((0,), **options)
    if not model.dtype.is_floating_point:
        raise DTypeError(f"{where}: the window's type is {model.dtype}; a floating one is needed")
    values = window(length, periodic, model.device).to(model.dtype)
    return values.requires_grad_(model.requires_grad)


def bartlett_window(window_length, periodic=True, **options):
    """Return a triangle: from 0 up to 1 in the middle, and back.

    Parameters
    ----------
    window_length : int, the number of samples
    periodic : bool, for transforms: the sample after the last one would be 0 again. False for
        filters: symmetric
    dtype, layout, device, pin_memory, requires_grad : as of `empty`

    >>> import tensorlab
    >>> tensorlab.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return made("bartlett_window", triangle, window_length, periodic, options)


def blackman_window(window_length, periodic=True, **options):
    """Return Blackman's window, a sum of two cosines, for frequencies that differ much in strength.

    Parameters
    ----------
    window_length, periodic, and the options : as of `bartlett_window`

    >>> import tensorlab
    >>> tensorlab.blackman_window(4).round(decimals=2)
    tensor([-0.0000, 0.3400, 1.0000, 0.3400])
    """
    cosines = partial(sum_of_cosines, BLACKMAN)
    return made("blackman_window", cosines, window_length, periodic, options)


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, **options):
    """Return Hamming's window: `alpha - beta * cos(t)`, which doesn't end at 0.

    Parameters
    ----------
    alpha, beta : float
    window_length, periodic, and the options : as of `bartlett_window`

    >>> import tensorlab
    >>> tensorlab.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    cosines = partial(sum_of_cosines, (alpha, beta))
    return made("hamming_window", cosines, window_length, periodic, options)


def hann_window(window_length, periodic=True, **options):
    """Return Hann's window: one wave of a cosine, from 0 up to 1 and back.

    Parameters
    ----------
    window_length, periodic, and the options : as of `bartlett_window`

    >>> import tensorlab
    >>> tensorlab.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    cosines = partial(sum_of_cosines, HANN)
    return made("hann_window", cosines, window_length, periodic, options)


def kaiser_window(window_length, periodic=True, beta=12.0, **options):
    """Return Kaiser's window, whose shape `beta` chooses: 0 is a rectangle, and the larger, the narrower.

    Parameters
    ----------
    beta : float
    window_length, periodic, and the options : as of `bartlett_window`

    >>> import tensorlab
    >>> tensorlab.kaiser_window(4, beta=5.0)
    tensor([0.0367, 0.5529, 1.0000, 0.5529])
    """
    shaped = partial(kaiser, beta)
    return made("kaiser_window", shaped, window_length, periodic, options)
