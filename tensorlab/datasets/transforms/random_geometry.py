"""Transforms that choose at random which pixels are seen: crops, flips, turns."""

import math
import warnings
from collections.abc import Sequence
from numbers import Number

from ..._core.interop.exchange import tensor
from ...nn.module import Module
from . import functional
from .draws import happens, uniform, whole
from .interpolation import InterpolationMode, as_mode

__all__ = [
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
]

ATTEMPTS = 10  # to find a rectangle that fits into the image


class RandomCrop(Module):
    """Cut a rectangle out of an image of Pillow or of a Tensor at a random place.

    Parameters
    ----------
    size : int for a square, or (height, width)
    padding : the border that the image gets before, as in `Pad`; none if not given
    pad_if_needed : True to give an image that is too small a border: what it lacks, on both sides
    fill, padding_mode : what the border shows, as in `Pad`

    Raises
    ------
    ValueError
        If the image is smaller than `size`.

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> RandomCrop(2)(image).shape
    tensorlab.Size([1, 2, 2])
    """

    def __init__(self, size, padding=None, pad_if_needed=False, fill=0, padding_mode="constant"):
        super().__init__()
        self.size = functional.pair(
            size, "RandomCrop: Please provide only two dimensions (h, w) for size"
        )
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img, output_size):
        """Draw a place for a rectangle of `output_size` in `img`; return (top, left, height, width)."""
        _, had_height, had_width = functional.get_dimensions(img)
        height, width = output_size
        if had_height < height or had_width < width:
            raise ValueError(
                f"RandomCrop: Required crop size {(height, width)} is larger than input image size "
                f"{(had_height, had_width)}; pad_if_needed=True gives it a border"
            )
        if (had_height, had_width) == (height, width):
            return 0, 0, height, width
        top = whole(had_height - height + 1)
        left = whole(had_width - width + 1)
        return top, left, height, width

    def forward(self, img):
        if self.padding is not None:
            img = self.padded(img, self.padding)
        if self.pad_if_needed:
            _, had_height, had_width = functional.get_dimensions(img)
            lacks = [max(self.size[1] - had_width, 0), max(self.size[0] - had_height, 0)]
            img = self.padded(img, lacks)
        return functional.crop(img, *self.get_params(img, self.size))

    def padded(self, img, padding):
        """Return an image with a border of this transform's kind."""
        return functional.pad(img, padding, self.fill, self.padding_mode)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class RandomHorizontalFlip(Module):
    """Mirror an image of Pillow or a Tensor from left to right with probability `p`.

    Examples
    --------
    >>> import tensorlab
    >>> RandomHorizontalFlip(p=1.0)(tensorlab.tensor([[[1.0, 2.0]]]))
    tensor([[[2., 1.]]])
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        return functional.hflip(img) if happens(self.p) else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


class RandomVerticalFlip(Module):
    """Turn an image of Pillow or a Tensor upside down, as in water, with probability `p`.

    Examples
    --------
    >>> import tensorlab
    >>> RandomVerticalFlip(p=1.0)(tensorlab.tensor([[[1.0], [2.0]]]))
    tensor([[[2.],
             [1.]]])
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        return functional.vflip(img) if happens(self.p) else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


def check_ranges(scale, ratio, user):
    """Check the ranges of the area and the proportions of a random rectangle."""
    for name, bounds in (("Scale", scale), ("Ratio", ratio)):
        if not isinstance(bounds, Sequence):
            raise TypeError(f"{user}: {name} should be a sequence, and is {bounds!r}")
    if scale[0] > scale[1] or ratio[0] > ratio[1]:
        warnings.warn(f"{user}: Scale and ratio should be of kind (min, max)", stacklevel=3)


def rectangles(area, scale, ratio):
    """Draw up to ten rectangles: their part of the area evenly, the logarithm of their proportions evenly.

    Yields
    ------
    (a, b) : the sides in pixels, where a / b is within `ratio` before rounding
    """
    low, high = tensor(ratio).log().tolist()
    for _ in range(ATTEMPTS):
        wanted = area * uniform(*scale)
        proportion = tensor([uniform(low, high)]).exp().item()
        yield round(math.sqrt(wanted * proportion)), round(math.sqrt(wanted / proportion))


class RandomResizedCrop(Module):
    """Cut a rectangle of random size, proportions and place out of an image, and give it a fixed size.

    Parameters
    ----------
    size : int for a square, or (height, width): the size of the result
    scale : (least, largest) part of the image's area
    ratio : (least, largest) width divided by height
    interpolation, antialias : as in `Resize`

    Notes
    -----
    Ten rectangles are drawn; if none fits, it is the largest in the middle whose proportions are within `ratio`.
    Source: Szegedy et al., Going deeper with convolutions, 2014, section 6.

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> RandomResizedCrop(3)(image).shape
    tensorlab.Size([1, 3, 3])
    """

    def __init__(
        self,
        size,
        scale=(0.08, 1.0),
        ratio=(3 / 4, 4 / 3),
        interpolation=InterpolationMode.BILINEAR,
        antialias=True,
    ):
        super().__init__()
        self.size = functional.pair(
            size, "RandomResizedCrop: Please provide only two dimensions (h, w) for size"
        )
        check_ranges(scale, ratio, "RandomResizedCrop")
        self.interpolation = as_mode(interpolation, "RandomResizedCrop")
        self.antialias = antialias
        self.scale = scale
        self.ratio = ratio

    @staticmethod
    def get_params(img, scale, ratio):
        """Draw a rectangle in `img`; return (top, left, height, width)."""
        _, had_height, had_width = functional.get_dimensions(img)
        for width, height in rectangles(had_height * had_width, scale, ratio):
            if 0 < width <= had_width and 0 < height <= had_height:
                top = whole(had_height - height + 1)
                left = whole(had_width - width + 1)
                return top, left, height, width
        height, width = had_height, had_width
        if width / height < min(ratio):
            height = round(width / min(ratio))
        elif width / height > max(ratio):
            width = round(height * max(ratio))
        return (had_height - height) // 2, (had_width - width) // 2, height, width

    def forward(self, img):
        rectangle = self.get_params(img, self.scale, self.ratio)
        return functional.resized_crop(
            img, *rectangle, self.size, self.interpolation, self.antialias
        )

    def __repr__(self):
        return (
            f"{type(self).__name__}(size={self.size}, scale={rounded(self.scale)}, ratio={rounded(self.ratio)}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


def rounded(numbers):
    return tuple(round(number, 4) for number in numbers)


class RandomRotation(Module):
    """Turn an image of Pillow or a Tensor by a random angle.

    Parameters
    ----------
    degrees : (least, largest) angle, counterclockwise; or a number d for (-d, d)
    interpolation, expand, center, fill : as in `functional.rotate`

    Raises
    ------
    TypeError, ValueError
        If an argument is something else, or `degrees` a negative number.

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> RandomRotation((90, 90))(image)[0, 0]
    tensor([0.1875, 0.4375, 0.6875, 0.9375])
    """

    def __init__(
        self,
        degrees,
        interpolation=InterpolationMode.NEAREST,
        expand=False,
        center=None,
        fill=0,
    ):
        super().__init__()
        self.degrees = angles(degrees)
        self.interpolation = as_mode(interpolation, "RandomRotation")
        self.expand = expand
        self.center = center
        self.fill = fill

    @staticmethod
    def get_params(degrees):
        """Draw an angle from a range."""
        return uniform(*degrees)

    def forward(self, img):
        angle = self.get_params(self.degrees)
        return functional.rotate(
            img, angle, self.interpolation, self.expand, self.center, self.fill
        )

    def __repr__(self):
        center = "" if self.center is None else f", center={self.center}"
        fill = "" if self.fill is None else f", fill={self.fill}"
        return (
            f"{type(self).__name__}(degrees={self.degrees}, interpolation={self.interpolation.value}, "
            f"expand={self.expand}{center}{fill})"
        )


def angles(degrees):
    """Return the range of angles as a list of two floats."""
    if isinstance(degrees, Number):
        if degrees < 0:
            raise ValueError(
                f"RandomRotation: degrees is {degrees}; If degrees is a single number, it must be positive."
            )
        degrees = (-degrees, degrees)
    elif not isinstance(degrees, Sequence):
        raise TypeError(
            f"RandomRotation: degrees is {degrees!r}; degrees should be a sequence of length 2."
        )
    elif len(degrees) != 2:
        raise ValueError(
            f"RandomRotation: degrees is {degrees!r}; degrees should be a sequence of length 2."
        )
    return [float(angle) for angle in degrees]
