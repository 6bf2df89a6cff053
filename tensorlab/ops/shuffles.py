"""Elements that move between channels and places: pixel_shuffle, pixel_unshuffle, channel_shuffle.

Each splits a dimension in two or more, exchanges the parts, and joins them: a view, another view, and a copy. The copy
has memory of its own in every case, even where nothing moves.
"""

from tensorlab._core.device import contiguous_format
from tensorlab.errors import ShapeError


def pixel_shuffle(input, upscale_factor):
    """Make of r**2 channels one whose height and width are r times as large, where r is `upscale_factor`.

    Element (c, r * i + a, r * j + b) of the result is element (r * r * c + r * a + b, i, j) of the input.

    Parameters
    ----------
    input : Tensor, shape (*, channels * r**2, height, width), any dtype
    upscale_factor : int, above 0

    Returns
    -------
    Tensor, shape (*, channels, height * r, width * r), of the same dtype, with memory of its own

    Raises
    ------
    ShapeError
        If the input has fewer than 3 dimensions, or channels that r**2 does not divide, or r is not above 0.

    Notes
    -----
    Source: Shi et al. 2016, "Real-Time Single Image and Video Super-Resolution Using an Efficient
    Sub-Pixel Convolutional Neural Network", equation 4.

    >>> import tensorlab
    >>> x = tensorlab.arange(8).view(4, 1, 2)
    >>> tensorlab.nn.functional.pixel_shuffle(x, 2)
    tensor([[[0, 2, 1, 3],
             [4, 6, 5, 7]]])
    """
    r = _checked_factor("pixel_shuffle", input, "upscale_factor", upscale_factor)
    *batch, channels, height, width = input.shape
    if channels % (r * r) != 0:
        raise ShapeError(
            f"pixel_shuffle: the input has {channels} channels; expected a multiple of {r * r}, the square of "
            f"upscale_factor"
        )
    channels //= r * r
    parts = input.unflatten(-3, (channels, r, r))  # c, a, b, i, j
    moved = parts.movedim((-4, -3), (-3, -1))  # c, i, a, j, b
    return _copied(moved).view(*batch, channels, height * r, width * r)


def pixel_unshuffle(input, downscale_factor):
    """Undo `pixel_shuffle`: make of each square of r by r pixels r**2 channels, where r is `downscale_factor`.

    Parameters
    ----------
    input : Tensor, shape (*, channels, height * r, width * r), any dtype
    downscale_factor : int, above 0

    Returns
    -------
    Tensor, shape (*, channels * r**2, height, width), of the same dtype, with memory of its own; of an input
    without elements a copy

    Raises
    ------
    ShapeError
        If the input has fewer than 3 dimensions, or a height or width that r does not divide, or r is not above 0.

    >>> import tensorlab
    >>> x = tensorlab.arange(4).view(1, 2, 2)
    >>> tensorlab.nn.functional.pixel_unshuffle(x, 2).flatten()
    tensor([0, 1, 2, 3])
    """
    r = _checked_factor("pixel_unshuffle", input, "downscale_factor", downscale_factor)
    *batch, channels, height, width = input.shape
    for name, size in (("height", height), ("width", width)):
        if size % r != 0:
            raise ShapeError(
                f"pixel_unshuffle: the input has {name} {size}; expected a multiple of downscale_factor, {r}"
            )
    if input.numel() == 0:
        return input.clone()
    parts = input.unflatten(-1, (width // r, r)).unflatten(-3, (height // r, r))  # c, i, a, j, b
    moved = parts.movedim((-3, -1), (-4, -3))  # c, a, b, i, j
    return _copied(moved).view(*batch, channels * r * r, height // r, width // r)


def _checked_factor(op, input, name, given):
    """Return the factor of a shuffle of images as an int."""
    if input.dim() < 3:
        raise ShapeError(
            f"{op}: the input has shape {tuple(input.shape)}; expected (..., channels, height, width)"
        )
    return _positive(op, name, given)


def _positive(op, name, given):
    if not hasattr(given, "__index__"):
        raise TypeError(f"{op}: {name} is {given!r}; expected an int")
    if given <= 0:
        raise ShapeError(f"{op}: {name} is {given}; expected a number above 0")
    return int(given)


def channel_shuffle(input, groups):
    """Take channels from each group in turn: channel c of group g becomes channel c * groups + g.

    Convolutions with groups keep to their channels; a shuffle between two of them lets each see all groups.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, length, ...), any dtype
    groups : int, above 0, a divisor of channels

    Returns
    -------
    Tensor, shape and dtype of the input, with memory of its own unless it is empty

    Raises
    ------
    ShapeError
        If the input has fewer than 3 dimensions, groups is not above 0, or does not divide the channels.

    Notes
    -----
    Source: Zhang et al. 2018, "ShuffleNet: An Extremely Efficient Convolutional Neural Network for Mobile Devices",
    section 3.1.

    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(1, 6, 1)
    >>> tensorlab.nn.functional.channel_shuffle(x, 2).flatten()
    tensor([0, 3, 1, 4, 2, 5])
    """
    if input.dim() < 3:
        raise ShapeError(
            f"channel_shuffle: the input has shape {tuple(input.shape)}; expected (batch, channels, length, ...)"
        )
    groups = _positive("channel_shuffle", "groups", groups)
    channels = input.size(1)
    if channels % groups != 0:
        raise ShapeError(
            f"channel_shuffle: the input has {channels} channels; expected a multiple of groups, {groups}"
        )
    if input.numel() == 0:
        return input.view_as(input)
    moved = input.unflatten(1, (groups, channels // groups)).transpose(1, 2)
    return _copied(moved).view(input.shape)


def _copied(x):
    return x.clone(memory_format=contiguous_format)
