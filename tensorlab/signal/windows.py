"""Windows: how much each sample of a stretch of a signal counts.

They are called as SciPy's, and are symmetric unless `sym=False`.
The options of all of them are `dtype` (float32 or float64), `layout`, `device` and `requires_grad`.
"""

import math
from functools import partial

from tensorlab import _missing
from tensorlab._core.device import strided
from tensorlab._core.dtypes import BY_NAME, get_default_dtype
from tensorlab.ops.windows import (
    BLACKMAN,
    HANN,
    check_length,
    check_options,
    places,
    sum_of_cosines,
    triangle,
)
from tensorlab.ops.windows import kaiser as kaiser_values

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

OPTIONS = ("dtype", "layout", "device", "requires_grad")
HAMMING = (0.54, 1 - 0.54)
NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


def made(where, window, length, sym, options):
    """What `window(length, periodic, device)` gives, with the options of this module."""
    check_options(where, options, OPTIONS)
    check_length(where, length)
    if length < 0:
        raise ValueError(f"{where}: the window's length is {length}; it must be at least 0")
    dtype = options.get("dtype") or get_default_dtype()
    if dtype not in (BY_NAME["float32"], BY_NAME["float64"]):
        raise ValueError(f"{where}: dtype must be float32 or float64, not {dtype}")
    layout = options.get("layout", strided)
    if layout is not strided:
        raise ValueError(f"{where}: a window is a strided tensor, and layout is {layout}")
    values = window(length, not sym, options.get("device")).to(dtype)
    return values.requires_grad_(options.get("requires_grad", False))


def offsets(length, periodic, device):
    """How far each sample is from the middle."""
    at = places(length, periodic, device) * max(length if periodic else length - 1, 1)
    return at - (length if periodic and length > 1 else length - 1) / 2


def bartlett(M, *, sym=True, **options):
    """Return a triangle: from 0 up to 1 in the middle, and back.

    Parameters
    ----------
    M : int, the number of samples
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return made("bartlett", triangle, M, sym, options)


def blackman(M, *, sym=True, **options):
    """Return Blackman's window, a sum of two cosines, for frequencies that differ much in strength.

    Parameters
    ----------
    M : int, the number of samples
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.blackman(5).round(decimals=2)
    tensor([-0.0000, 0.3400, 1.0000, 0.3400, -0.0000])
    """
    return made("blackman", partial(sum_of_cosines, BLACKMAN), M, sym, options)


def cosine(M, *, sym=True, **options):
    """Return half a wave of a sine, whose ends are half a sample away from 0.

    Parameters
    ----------
    M : int, the number of samples
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.cosine(4)
    tensor([0.3827, 0.9239, 0.9239, 0.3827])
    """
    return made("cosine", half_wave, M, sym, options)


def half_wave(length, periodic, device):
    period = length + 1 if periodic and length > 1 else length
    at = places(length, periodic, device) * max(length if periodic else length - 1, 1)
    return ((at + 0.5) * (math.pi / max(period, 1))).sin()


def exponential(M, *, center=None, tau=1.0, sym=True, **options):
    """Return a window that falls as `exp(-distance / tau)` on both sides of its centre.

    Parameters
    ----------
    M : int, the number of samples
    center : float, the middle unless given; only with sym=False
    tau : float, above 0: the distance at which it has fallen to 1 / e
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.exponential(5)
    tensor([0.1353, 0.3679, 1.0000, 0.3679, 0.1353])
    """
    if tau <= 0:
        raise ValueError(f"exponential: tau is {tau}; it must be above 0")
    if sym and center is not None:
        raise ValueError(
            "exponential: a symmetric window has its centre in the middle; give sym=False with center"
        )
    shift = 0.0 if center is None else (M if M > 1 else M - 1) / 2 - center
    return made("exponential", partial(falling, shift, tau), M, sym, options)


def falling(shift, tau, length, periodic, device):
    return (-(offsets(length, periodic, device) + shift).abs() / tau).exp()


def gaussian(M, *, std=1.0, sym=True, **options):
    """Return the bell curve of a normal distribution.

    Parameters
    ----------
    M : int, the number of samples
    std : float, above 0, in samples
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.gaussian(5)
    tensor([0.1353, 0.6065, 1.0000, 0.6065, 0.1353])
    """
    if std <= 0:
        raise ValueError(f"gaussian: std is {std}; it must be above 0")
    return made("gaussian", partial(bell, std), M, sym, options)


def bell(std, length, periodic, device):
    return (-(offsets(length, periodic, device) / std).square() / 2).exp()


def general_cosine(M, *, a, sym=True, **options):
    """Return a sum of cosines: `a[0] - a[1] * cos(t) + a[2] * cos(2 * t) - ...`, for t from 0 to 2 pi.

    Parameters
    ----------
    M : int, the number of samples
    a : list or tuple of float, the weights
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    if not isinstance(a, (list, tuple)):
        raise TypeError(
            f"general_cosine: the weights a must be a list or tuple, not {type(a).__name__}"
        )
    if not a:
        raise ValueError("general_cosine: the weights a are empty; give at least one")
    return made("general_cosine", partial(sum_of_cosines, a), M, sym, options)


def general_hamming(M, *, alpha=0.54, sym=True, **options):
    """Return `alpha - (1 - alpha) * cos(t)`, for t from 0 to 2 pi.

    Parameters
    ----------
    M : int, the number of samples
    alpha : float
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.general_hamming(5, alpha=0.6)
    tensor([0.2000, 0.6000, 1.0000, 0.6000, 0.2000])
    """
    cosines = partial(sum_of_cosines, (alpha, 1 - alpha))
    return made("general_hamming", cosines, M, sym, options)


def hamming(M, *, sym=True, **options):
    """Return Hamming's window, which doesn't end at 0: its largest side lobe is small.

    Parameters
    ----------
    M : int, the number of samples
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.hamming(5)
    tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return made("hamming", partial(sum_of_cosines, HAMMING), M, sym, options)


def hann(M, *, sym=True, **options):
    """Return Hann's window: one wave of a cosine, from 0 up to 1 and back.

    Parameters
    ----------
    M : int, the number of samples
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return made("hann", partial(sum_of_cosines, HANN), M, sym, options)


def kaiser(M, *, beta=12.0, sym=True, **options):
    """Return Kaiser's window, whose shape `beta` chooses: 0 is a rectangle, and the larger, the narrower.

    Parameters
    ----------
    M : int, the number of samples
    beta : float, at least 0
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.kaiser(5, beta=5.0)
    tensor([0.0367, 0.5529, 1.0000, 0.5529, 0.0367])
    """
    if beta < 0:
        raise ValueError(f"kaiser: beta is {beta}; it must be at least 0")
    return made("kaiser", partial(kaiser_values, beta), M, sym, options)


def nuttall(M, *, sym=True, **options):
    """Return Nuttall's window, a sum of three cosines with very small side lobes.

    Parameters
    ----------
    M : int, the number of samples
    sym : bool, symmetric, for filters; False for transforms: periodic
    dtype (float32 or float64), layout, device, requires_grad : as of `empty`

    >>> from tensorlab.signal import windows
    >>> windows.nuttall(5)
    tensor([3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04])
    """
    return made("nuttall", partial(sum_of_cosines, NUTTALL), M, sym, options)


__getattr__ = _missing.refusing(__name__)
