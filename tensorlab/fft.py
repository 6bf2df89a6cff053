"""Fourier transforms: still to come."""

from tensorlab import _missing, _planned

__all__ = []

globals().update(
    _planned.names(
        __name__,
        """fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft
        ihfft2 ihfftn irfft irfft2 irfftn rfft rfft2 rfftfreq rfftn""",
        until="where no gradient is needed, give x.numpy() to scipy.fft; tensors have no "
        "complex types yet, so keep "
        "the real and the imaginary part of its result in two tensors.",
        fftshift="roll by half of the size: x.roll(n // 2, dim).",
        ifftshift="roll back by half of the size: x.roll(-(n // 2), dim).",
        fftfreq="call tensorlab.from_numpy(scipy.fft.fftfreq(n, d)).",
        rfftfreq="call tensorlab.from_numpy(scipy.fft.rfftfreq(n, d)).",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
