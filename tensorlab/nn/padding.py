"""Layers that put more elements around signals and images."""

from . import functional as F
from .module import Module

__all__ = [
    "ConstantPad1d",
    "ConstantPad2d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ZeroPad1d",
    "ZeroPad2d",
]


class _Pad(Module):
    """`padding` is one int, or (left, right) and for images (left, right, top, bottom)."""

    axes = 1
    mode = "constant"
    value = None

    def __init__(self, padding):
        super().__init__()
        is_one = not isinstance(padding, (tuple, list))
        self.padding = (padding,) * (2 * self.axes) if is_one else tuple(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self):
        return f"{self.padding}"


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


class ZeroPad1d(_Pad):
    """Put zeros around the last dimension: `padding`, an int or (left, right)."""


class ZeroPad2d(_Pad):
    """Put zeros around images: `padding`, an int or (left, right, top, bottom)."""

    axes = 2


class ReflectionPad1d(_Pad):
    """Continue signals as in a mirror at their outermost element."""

    mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """Continue images as in a mirror at their outermost pixels."""

    axes = 2


class ReplicationPad1d(_Pad):
    """Continue signals by their outermost element."""

    mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """Continue images by their outermost pixels."""

    axes = 2
