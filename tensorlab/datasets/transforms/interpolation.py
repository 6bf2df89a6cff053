"""The ways to compute a pixel between pixels, under the names of torchvision and the numbers of Pillow."""

from enum import Enum

__all__ = ["InterpolationMode"]


class InterpolationMode(Enum):
    """How a resized or rotated image gets its pixels.

    Tensors know NEAREST, NEAREST_EXACT, BILINEAR and BICUBIC; BOX, HAMMING and LANCZOS are Pillow's. Functions
    also take Pillow's own constants, such as `PIL.Image.Resampling.BILINEAR`.

    Examples
    --------
    >>> InterpolationMode.BILINEAR.value
    'bilinear'
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Pillow's constants; its NEAREST takes the pixel under the centre, as PyTorch's nearest-exact does.
PILLOW_NUMBERS = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
    InterpolationMode.NEAREST_EXACT: 0,
}
BY_NUMBER = {
    number: mode for mode, number in reversed(PILLOW_NUMBERS.items())
}  # 0 means NEAREST, which comes last


def as_mode(interpolation, user):
    """Return the InterpolationMode of an argument: one, or a constant of Pillow's.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    if isinstance(interpolation, int) and interpolation in BY_NUMBER:
        return BY_NUMBER[interpolation]
    raise TypeError(
        f"{user}: interpolation is {interpolation!r}; expected an InterpolationMode, such as "
        "InterpolationMode.BILINEAR"
    )
