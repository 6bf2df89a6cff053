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
    """Put a constant around the last dimension: `padding`, an int or (left, right), and `value`.

    Parameters
    ----------
    padding : int, elements on every side, or 2 ints: left, right
    value : float, what is put there

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(3.0).view(1, 1, 3)
    >>> ConstantPad1d(1, 9.0)(x)
    tensor([[[9., 0., 1., 2., 9.]]])
    """

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """Put a constant around images: `padding`, an int or (left, right, top, bottom), and `value`.

    Parameters
    ----------
    padding : int, elements on every side, or 4 ints: left, right, top, bottom
    value : float, what is put there

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(9.0).view(1, 1, 3, 3)
    >>> ConstantPad2d(1, 9.0)(x)
    tensor([[[[9., 9., 9., 9., 9.],
              [9., 0., 1., 2., 9.],
              [9., 3., 4., 5., 9.],
              [9., 6., 7., 8., 9.],
              [9., 9., 9., 9., 9.]]]])
    """

    axes = 2


class ConstantPad3d(ConstantPad1d):
    """Put a constant around volumes: `padding`, an int or six, and `value`.

    Parameters
    ----------
    padding : int, elements on every side, or 6 ints: left, right, top, bottom, front, back
    value : float, what is put there

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(8.0).view(1, 1, 2, 2, 2)
    >>> ConstantPad3d(1, 9.0)(x).shape
    tensorlab.Size([1, 1, 4, 4, 4])
    """

    axes = 3


class ZeroPad1d(ConstantPad1d):
    """Put zeros around the last dimension: `padding`, an int or (left, right).

    Parameters
    ----------
    padding : int, elements on every side, or 2 ints: left, right

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(3.0).view(1, 1, 3)
    >>> ZeroPad1d(1)(x)
    tensor([[[0., 0., 1., 2., 0.]]])
    """

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad2d(ZeroPad1d):
    """Put zeros around images: `padding`, an int or (left, right, top, bottom).

    Parameters
    ----------
    padding : int, elements on every side, or 4 ints: left, right, top, bottom

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(9.0).view(1, 1, 3, 3)
    >>> ZeroPad2d(1)(x)
    tensor([[[[0., 0., 0., 0., 0.],
              [0., 0., 1., 2., 0.],
              [0., 3., 4., 5., 0.],
              [0., 6., 7., 8., 0.],
              [0., 0., 0., 0., 0.]]]])
    """

    axes = 2


class ZeroPad3d(ZeroPad1d):
    """Put zeros around volumes: `padding`, an int or six.

    Parameters
    ----------
    padding : int, elements on every side, or 6 ints: left, right, top, bottom, front, back

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(8.0).view(1, 1, 2, 2, 2)
    >>> ZeroPad3d(1)(x).shape
    tensorlab.Size([1, 1, 4, 4, 4])
    """

    axes = 3


# ------------------------------------------------------------ reflection
class ReflectionPad1d(_Pad):
    """Continue signals as in a mirror at their outermost element.

    Parameters
    ----------
    padding : int, elements on every side, or 2 ints: left, right

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(3.0).view(1, 1, 3)
    >>> ReflectionPad1d(1)(x)
    tensor([[[1., 0., 1., 2., 1.]]])
    """

    mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """Continue images as in a mirror at their outermost pixels.

    Parameters
    ----------
    padding : int, elements on every side, or 4 ints: left, right, top, bottom

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(9.0).view(1, 1, 3, 3)
    >>> ReflectionPad2d(1)(x)
    tensor([[[[4., 3., 4., 5., 4.],
              [1., 0., 1., 2., 1.],
              [4., 3., 4., 5., 4.],
              [7., 6., 7., 8., 7.],
              [4., 3., 4., 5., 4.]]]])
    """

    axes = 2


class ReflectionPad3d(ReflectionPad1d):
    """Continue volumes as in a mirror at their outermost elements.

    Parameters
    ----------
    padding : int, elements on every side, or 6 ints: left, right, top, bottom, front, back

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(8.0).view(1, 1, 2, 2, 2)
    >>> ReflectionPad3d(1)(x).shape
    tensorlab.Size([1, 1, 4, 4, 4])
    """

    axes = 3


# ------------------------------------------------------------ replication
class ReplicationPad1d(_Pad):
    """Continue signals by their outermost element.

    Parameters
    ----------
    padding : int, elements on every side, or 2 ints: left, right

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(3.0).view(1, 1, 3)
    >>> ReplicationPad1d(1)(x)
    tensor([[[0., 0., 1., 2., 2.]]])
    """

    mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """Continue images by their outermost pixels.

    Parameters
    ----------
    padding : int, elements on every side, or 4 ints: left, right, top, bottom

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(9.0).view(1, 1, 3, 3)
    >>> ReplicationPad2d(1)(x)
    tensor([[[[0., 0., 1., 2., 2.],
              [0., 0., 1., 2., 2.],
              [3., 3., 4., 5., 5.],
              [6., 6., 7., 8., 8.],
              [6., 6., 7., 8., 8.]]]])
    """

    axes = 2


class ReplicationPad3d(ReplicationPad1d):
    """Continue volumes by their outermost elements.

    Parameters
    ----------
    padding : int, elements on every side, or 6 ints: left, right, top, bottom, front, back

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(8.0).view(1, 1, 2, 2, 2)
    >>> ReplicationPad3d(1)(x).shape
    tensorlab.Size([1, 1, 4, 4, 4])
    """

    axes = 3


# ------------------------------------------------------------ the other end
class CircularPad1d(_Pad):
    """Continue signals, shape (channels, length) with a batch or without, by their other end.

    Parameters
    ----------
    padding : int, elements on every side, or 2 ints: left, right

    Raises
    ------
    ValueError
        If the input has another number of dimensions.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(3.0).view(1, 1, 3)
    >>> CircularPad1d(1)(x)
    tensor([[[2., 0., 1., 2., 0.]]])
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
    """Continue images, shape (channels, height, width) with a batch or without, by their other end.

    Parameters
    ----------
    padding : int, elements on every side, or 4 ints: left, right, top, bottom

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(9.0).view(1, 1, 3, 3)
    >>> CircularPad2d(1)(x)
    tensor([[[[8., 6., 7., 8., 6.],
              [2., 0., 1., 2., 0.],
              [5., 3., 4., 5., 3.],
              [8., 6., 7., 8., 6.],
              [2., 0., 1., 2., 0.]]]])
    """

    axes = 2


class CircularPad3d(CircularPad1d):
    """Continue volumes, shape (channels, depth, height, width), with a batch or without, by their other end.

    Parameters
    ----------
    padding : int, elements on every side, or 6 ints: left, right, top, bottom, front, back

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(8.0).view(1, 1, 2, 2, 2)
    >>> CircularPad3d(1)(x).shape
    tensorlab.Size([1, 1, 4, 4, 4])
    """

    axes = 3
