"""Layers that put more elements around signals, images and volumes.

Five ways to fill the border, each for one, two and three dimensions. `padding` is one int for all sides, or two
for each dimension, the last dimension first: (left, right, top, bottom, front, back). Negative numbers cut.
"""

from . import functional as F
from .convolution import one_for_each_axis
from .module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """What all share: the mode of F.pad, and over how many of the last dimensions (`axes`) it goes."""

    axes = 1
    mode = "constant"
    value = None

    def __init__(self, padding):
        super().__init__()
        self.padding = one_for_each_axis(padding, 2 * self.axes)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self):
        return f"{self.padding}"


# ------------------------------------------------------------ constants
class ConstantPad1d(_Pad):
    """Put a constant around the last dimension: `padding`, an int or (left, right), and `value`."""

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """Put a constant around images: `padding`, an int or (left, right, top, bottom), and `value`."""

    axes = 2


class ConstantPad3d(ConstantPad1d):
    """Put a constant around volumes: `padding`, an int or six, and `value`."""

    axes = 3


class ZeroPad1d(ConstantPad1d):
    """Put zeros around the last dimension: `padding`, an int or (left, right)."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad2d(ZeroPad1d):
    """Put zeros around images: `padding`, an int or (left, right, top, bottom)."""

    axes = 2


class ZeroPad3d(ZeroPad1d):
    """Put zeros around volumes: `padding`, an int or six."""

    axes = 3


# ------------------------------------------------------------ reflection
class ReflectionPad1d(_Pad):
    """Continue signals as in a mirror at their outermost element."""

    mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """Continue images as in a mirror at their outermost pixels."""

    axes = 2


class ReflectionPad3d(ReflectionPad1d):
    """Continue volumes as in a mirror at their outermost elements."""

    axes = 3


# ------------------------------------------------------------ replication
class ReplicationPad1d(_Pad):
    """Continue signals by their outermost element."""

    mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """Continue images by their outermost pixels."""

    axes = 2


class ReplicationPad3d(ReplicationPad1d):
    """Continue volumes by their outermost elements."""

    axes = 3


# ------------------------------------------------------------ the other end
class CircularPad1d(_Pad):
    """Continue signals, shape (channels, length) with a batch or without, by their other end.

    Raises
    ------
    ValueError
        If the input has another number of dimensions.
    """

    mode = "circular"

    def forward(self, input):
        allowed = self.axes + 1, self.axes + 2
        if input.dim() not in allowed:
            raise ValueError(
                f"{type(self).__name__}: the input has shape {tuple(input.shape)}; expected "
                f"{allowed[0]}D or {allowed[1]}D"
            )
        return super().forward(input)


class CircularPad2d(CircularPad1d):
    """Continue images, shape (channels, height, width) with a batch or without, by their other end."""

    axes = 2


class CircularPad3d(CircularPad1d):
    """Continue volumes, shape (channels, depth, height, width), with a batch or without, by their other end."""

    axes = 3
