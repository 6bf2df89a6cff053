"""stft and istft: the Fourier transforms of short pieces of a signal, and the signal that has them.

A signal is cut into frames that overlap. Each is multiplied by a window, which is small at both ends, and transformed:

    signal   ----------------------------
    frames   |------|
                |------|                     n_fft numbers each, hop_length apart
                   |------|  ...

Back again, the inverse transforms are multiplied by the window once more, added up where they overlap, and divided by
the sum of the squared windows there: that is the signal whose frames are nearest to those given (Griffin and Lim 1984,
"Signal estimation from modified short-time Fourier transform").
"""

import warnings

from tensorlab._core.dispatch.levels import without_boxes
from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops.complex_views import view_as_real
from tensorlab.ops.creation import ones
from tensorlab.ops.fourier import c2c, c2r, r2c
from tensorlab.ops.padding import pad
from tensorlab.ops.ranges import arange

SMALLEST_OVERLAP = 1e-11


# ---------------------------------------------------------------- reading arguments
def lengths(where, n_fft, hop_length, win_length):
    """Return the distance of frames and the length of the window; a quarter of n_fft, and n_fft, unless given."""
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if hop_length <= 0:
        raise RuntimeError(f"{where}: hop_length is {hop_length}; expected at least 1")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(
            f"{where}: win_length is {win_length}; expected 1 to n_fft, which is {n_fft}"
        )
    return hop_length, win_length


def full_window(where, window, win_length, n_fft, like):
    """Return a window of n_fft numbers: the one given, or ones, with zeros on both sides."""
    if window is None:
        window = ones(win_length, dtype=like.dtype.to_real(), device=like.device)
    elif window.dim() != 1 or window.shape[0] != win_length:
        raise RuntimeError(
            f"{where}: the window has shape {tuple(window.shape)}; expected ({win_length},), win_length numbers"
        )
    before = (n_fft - win_length) // 2
    if win_length < n_fft:
        window = pad(window, (before, n_fft - win_length - before))
    return window


def refuse_type(where, x):
    if not (x.is_floating_point() or x.is_complex()):
        raise UnsupportedDType(
            f"{where}: expects floating or complex numbers, not {x.dtype}; convert with .float() first"
        )


# ---------------------------------------------------------------- stft
def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """The Fourier transforms of frames of a signal, or of a batch of signals.

    Parameters
    ----------
    input : Tensor, shape (length,) or (batch, length), real or complex
    n_fft : int, numbers of a frame
    hop_length : int, from one frame to the next; n_fft // 4 unless given
    win_length : int, numbers of the window, which stands in the middle of the frame; n_fft
        unless given
    window : Tensor, shape (win_length,); ones unless given, which PyTorch advises against
    center : bool, pad the signal on both sides, so that frame t has the number t * hop_length
        in its middle
    pad_mode : how, see `nn.functional.pad`
    normalized : bool, divide by sqrt(n_fft)
    onesided : bool, leave out the half that repeats the other, conjugated; True unless given,
        if all is real
    return_complex : bool; must be given if all is real. False: real and imaginary part in a
        last dimension
    align_to_window : bool, without `center`: frames count from the window's beginning, not from theirs

    Returns
    -------
    Tensor, shape (batch, frequencies, frames), complex; without the first if `input` has no batch

    Raises
    ------
    RuntimeError
        If `return_complex` is missing, or lengths and shapes do not fit.

    >>> import tensorlab
    >>> x = tensorlab.ones(8)
    >>> tensorlab.stft(x, 4, window=tensorlab.hann_window(4), return_complex=True).shape
    tensorlab.Size([3, 9])
    """
    refuse_type("stft", input)
    if input.dim() not in (1, 2):
        raise ShapeError(
            f"stft: input has shape {tuple(input.shape)}; expected (length,) or (batch, length)"
        )
    all_real = not input.is_complex() and not (window is not None and window.is_complex())
    if return_complex is None:
        if all_real:
            raise RuntimeError(
                "stft: return_complex must be given for real input: True, or False for a last dimension of two"
            )
        return_complex = True
    onesided = all_real if onesided is None else onesided
    if onesided and not all_real:
        raise RuntimeError("stft: onesided=True needs a real input and a real window")
    if center and align_to_window is not None:
        raise RuntimeError("stft: align_to_window is for center=False only")
    hop_length, win_length = lengths("stft", n_fft, hop_length, win_length)
    signals = input if input.dim() == 2 else input.unsqueeze(0)
    if center:
        side = n_fft // 2
        signals = pad(signals.unsqueeze(1), (side, side), mode=pad_mode).squeeze(1)
    elif align_to_window:
        before = (n_fft - win_length) // 2
        signals = pad(signals, (-before, n_fft - win_length - before)) if before else signals
    if not 0 < n_fft <= signals.shape[1]:
        raise RuntimeError(
            f"stft: n_fft is {n_fft}, and the signal has {signals.shape[1]} numbers; expected 1 to as many"
        )
    frames = signals.unfold(1, n_fft, hop_length)
    if window is not None or win_length < n_fft:
        frames = frames * full_window("stft", window, win_length, n_fft, input)
    if frames.is_complex():
        result = c2c(frames, (2,), int(normalized), True)
    else:
        result = r2c(frames, (2,), int(normalized), onesided)
    result = result.transpose(1, 2)
    result = result if input.dim() == 2 else result.squeeze(0)
    return result if return_complex else view_as_real(result)


# ---------------------------------------------------------------- istft
def istft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """The signal that has these transforms of its frames: the inverse of `stft`, with its arguments.

    Parameters
    ----------
    input : Tensor, shape (frequencies, frames) or (batch, frequencies, frames), complex
    length : int, numbers to return; unless given, as many as frames cover
    return_complex : bool, return a complex signal; `onesided` must then be False

    Returns
    -------
    Tensor, shape (length,) or (batch, length)

    Raises
    ------
    RuntimeError
        If the windows leave a gap between frames, or shapes do not fit.

    >>> import tensorlab
    >>> x, w = tensorlab.arange(8.0), tensorlab.hann_window(4)
    >>> tensorlab.istft(tensorlab.stft(x, 4, window=w, return_complex=True), 4, window=w).round()
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    if not input.is_complex():
        raise UnsupportedDType(
            f"istft: expects complex numbers, not {input.dtype}; make them with view_as_complex"
        )
    if input.dim() not in (2, 3) or input.numel() == 0:
        raise ShapeError(
            f"istft: input has shape {tuple(input.shape)}; expected (frequencies, frames) or a batch of them"
        )
    hop_length, win_length = lengths("istft", n_fft, hop_length, win_length)
    spectra = input if input.dim() == 3 else input.unsqueeze(0)
    frequencies, count = spectra.shape[1:]
    onesided = frequencies != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if frequencies != expected:
        raise ShapeError(
            f"istft: input has {frequencies} frequencies; n_fft={n_fft} with onesided={onesided} needs {expected}"
        )
    if return_complex and onesided:
        raise RuntimeError("istft: a complex signal needs all frequencies; give onesided=False")
    window = full_window("istft", window, win_length, n_fft, input)
    if window.is_complex() and not return_complex:
        raise RuntimeError(
            "istft: a complex window gives a complex signal; give return_complex=True"
        )
    frames = inverse_of_frames(spectra.transpose(1, 2), n_fft, normalized, onesided, return_complex)
    signal = overlapped(frames * window, hop_length)
    weight = overlapped((window * window).expand(1, count, n_fft), hop_length)
    begin = n_fft // 2 if center else 0
    end = signal.shape[1] - begin
    if length is not None:
        end = begin + length
    signal, weight = signal[:, begin:end], weight[:, begin:end]
    if weight.numel() == 0 or without_boxes(weight).abs().min().item() <= SMALLEST_OVERLAP:
        raise RuntimeError(
            "istft: the windows leave numbers that no frame tells of; use a window that isn't 0 there, a smaller "
            "hop_length, or center=True"
        )
    signal = signal / weight
    if length is not None and signal.shape[1] < length:
        warnings.warn(
            f"istft: frames cover {signal.shape[1]} of {length} numbers; the others are 0",
            stacklevel=2,
        )
        signal = pad(signal, (0, length - signal.shape[1]))
    return signal if input.dim() == 3 else signal.squeeze(0)


def inverse_of_frames(spectra, n_fft, normalized, onesided, return_complex):
    """Return the inverse transform of each frame, of shape (batch, frames, n_fft)."""
    factor = 1 if normalized else 2
    if return_complex:
        return c2c(spectra, (2,), factor, False)
    if not onesided:
        spectra = spectra[:, :, : n_fft // 2 + 1]
    return c2r(spectra, (2,), factor, n_fft)


def overlapped(frames, hop_length):
    """Add frames up where they overlap: (batch, frames, n) becomes (batch, length)."""
    batch, count, n = frames.shape
    first = arange(count, device=frames.device) * hop_length
    positions = first.unsqueeze(1) + arange(n, device=frames.device)
    signal = frames.new_zeros(batch, n + hop_length * (count - 1))
    return signal.index_add(1, positions.reshape(-1), frames.reshape(batch, -1))
