"""Transforms of colours."""

import math
from numbers import Number

from ...nn.module import Module
from ...ops.random_factories import randperm
from . import functional
from .draws import happens, uniform

__all__ = ["ColorJitter", "Grayscale", "RandomGrayscale"]


class Grayscale(Module):
    """Make an image of Pillow or a Tensor (..., 1 or 3, height, width) gray.

    Parameters
    ----------
    num_output_channels : 1 or 3; three are equal

    Examples
    --------
    >>> import tensorlab
    >>> Grayscale()(tensorlab.ones(3, 2, 2)).shape
    tensorlab.Size([1, 2, 2])
    """

    def __init__(self, num_output_channels=1):
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img):
        return functional.rgb_to_grayscale(img, self.num_output_channels)

    def __repr__(self):
        return f"{type(self).__name__}(num_output_channels={self.num_output_channels})"


class RandomGrayscale(Module):
    """Make an image of Pillow or a Tensor gray with probability `p`; the number of channels stays.

    Examples
    --------
    >>> import tensorlab
    >>> RandomGrayscale(p=1.0)(tensorlab.ones(3, 2, 2)).shape
    tensorlab.Size([3, 2, 2])
    """

    def __init__(self, p=0.1):
        super().__init__()
        self.p = p

    def forward(self, img):
        channels = functional.get_image_num_channels(img)
        return functional.rgb_to_grayscale(img, channels) if happens(self.p) else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


class ColorJitter(Module):
    """Change brightness, contrast, saturation and hue of an image by random factors, in random order.

    Parameters
    ----------
    brightness, contrast, saturation : float x for a factor from max(0, 1 - x) to 1 + x; or
        (least, largest), from 0 on
    hue : float x for a part of a turn from -x to x, at most 0.5; or (least, largest) within
        -0.5 and 0.5

    Raises
    ------
    TypeError, ValueError
        If one is something else.

    Examples
    --------
    >>> import tensorlab
    >>> ColorJitter(brightness=0.5)(tensorlab.rand(3, 2, 2)).shape
    tensorlab.Size([3, 2, 2])
    """

    # In the order in which torchvision draws their factors.
    KINDS = ("brightness", "contrast", "saturation", "hue")

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        super().__init__()
        self.brightness = factors(brightness, "brightness", 1, 0, math.inf)
        self.contrast = factors(contrast, "contrast", 1, 0, math.inf)
        self.saturation = factors(saturation, "saturation", 1, 0, math.inf)
        self.hue = factors(hue, "hue", 0, -0.5, 0.5)

    @staticmethod
    def get_params(brightness, contrast, saturation, hue):
        """Draw an order and four factors; return them as a tuple, where None is for what has no range."""
        order = randperm(4)
        ranges = (brightness, contrast, saturation, hue)
        return order, *(None if bounds is None else uniform(*bounds) for bounds in ranges)

    def forward(self, img):
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        order, *chosen = self.get_params(*ranges)
        for which in order.tolist():
            if chosen[which] is not None:
                adjust = getattr(functional, f"adjust_{self.KINDS[which]}")
                img = adjust(img, chosen[which])
        return img

    def __repr__(self):
        ranges = ", ".join(f"{kind}={getattr(self, kind)}" for kind in self.KINDS)
        return f"{type(self).__name__}({ranges})"


def factors(value, name, neutral, lowest, highest):
    """Return the range (least, largest) of a factor, or None if it can only be the neutral one."""
    if isinstance(value, Number):
        if value < 0:
            raise ValueError(
                f"ColorJitter: {name} is {value}; If {name} is a single number, it must be non negative."
            )
        value = (
            max(neutral - float(value), lowest) if neutral else -float(value),
            neutral + float(value),
        )
    elif not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(
            f"ColorJitter: {name} is {value!r}; {name} should be a single number or a list/tuple with length 2."
        )
    if not lowest <= value[0] <= value[1] <= highest:
        raise ValueError(
            f"ColorJitter: {name} is {value}; {name} values should be between {lowest} and {highest}, the smaller first"
        )
    return None if value[0] == value[1] == neutral else tuple(value)
