"""The extension `fft` of the array API standard: Fourier transforms, whose `axis` is our `dim`.

Source: https://data-apis.org/array-api/2024.12/extensions/fourier_transform_functions.html
"""

from tensorlab import fft as transforms
from tensorlab.fft import fftfreq, rfftfreq
from tensorlab.ops.complex_numbers import resolve_conj

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]


def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """The transform along an axis."""
    return transforms.fft(x, n, axis, norm)


def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `fft`."""
    return transforms.ifft(x, n, axis, norm)


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """The transform along several axes, all if None."""
    return transforms.fftn(x, s, axes, norm)


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of `fftn`."""
    return transforms.ifftn(x, s, axes, norm)


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The transform of real numbers, without the half that repeats the other one."""
    return transforms.rfft(x, n, axis, norm)


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `rfft`."""
    return transforms.irfft(x, n, axis, norm)


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The transform of real numbers along several axes, all if None."""
    return transforms.rfftn(x, s, axes, norm)


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    """The inverse of `rfftn`."""
    return transforms.irfftn(x, s, axes, norm)


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The real transform of a signal that repeats itself conjugated, of which half is given."""
    return transforms.hfft(x, n, axis, norm)


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of `hfft`."""
    return resolve_conj(transforms.ihfft(x, n, axis, norm))


def fftshift(x, /, *, axes=None):
    """The spectrum with frequency 0 in the middle."""
    return transforms.fftshift(x, axes)


def ifftshift(x, /, *, axes=None):
    """The inverse of `fftshift`."""
    return transforms.ifftshift(x, axes)
