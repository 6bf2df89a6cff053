"""Layers that take the largest, the mean or the norm of each window of a signal, an image or a volume."""

from . import functional as F
from .convolution import one_for_each_axis
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


# ------------------------------------------------------------------------------ maximum
class _MaxPool(Module):
    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        return_indices=False,
        ceil_mode=False,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input):
        return self.function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest number of each window of a signal; parameters as for MaxPool2d."""

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest number of each window of an image.

    Parameters
    ----------
    kernel_size : int or pair of int, the window
    stride : int or pair of int, from one window to the next; the kernel size unless given
    padding : int or pair of int, places around the image that hold less than any number
    dilation : int or pair of int, from one element of a window to the next
    return_indices : bool; also return where each number was
    ceil_mode : bool; a last window that is not full counts too
    """

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """The largest number of each window of a volume; parameters as for MaxPool2d, an int or three."""

    function = staticmethod(F.max_pool3d)


class _MaxUnpool(Module):
    axes = 0

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = one_for_each_axis(kernel_size, self.axes)
        self.stride = one_for_each_axis(kernel_size if stride is None else stride, self.axes)
        self.padding = one_for_each_axis(padding, self.axes)

    def forward(self, input, indices, output_size=None):
        return self.function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Put the numbers of MaxPool1d back where they were, among zeros; see MaxUnpool2d."""

    axes = 1
    function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Put the numbers of MaxPool2d back where they were, among zeros.

    It is called with the two results of `MaxPool2d(..., return_indices=True)`, and perhaps with
    the size of what was pooled.

    Parameters
    ----------
    kernel_size, stride, padding : int or pair of int, those of the pooling
    """

    axes = 2
    function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Put the numbers of MaxPool3d back where they were, among zeros; see MaxUnpool2d."""

    axes = 3
    function = staticmethod(F.max_unpool3d)


class _FractionalMaxPool(Module):
    axes = 0

    def __init__(
        self,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    ):
        super().__init__()
        name = type(self).__name__
        self.kernel_size = one_for_each_axis(kernel_size, self.axes)
        if self.axes == 3 and not all(size > 0 for size in self.kernel_size):
            raise ValueError(f"{name}: kernel_size {kernel_size} must be at least 1")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = self.output_ratio = None
        if output_size is not None:
            self.output_size = one_for_each_axis(output_size, self.axes)
        if output_ratio is not None:
            self.output_ratio = one_for_each_axis(output_ratio, self.axes)
        if (output_size is None) == (output_ratio is None):
            raise ValueError(
                f"{name}: output_size is {output_size} and output_ratio {output_ratio}; give exactly one"
            )
        if output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"{name}: output_ratio {output_ratio} must be between 0 and 1")

    def forward(self, input):
        return self.function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest number of each of windows whose places are drawn at random.

    Parameters
    ----------
    kernel_size : int or pair of int, the window
    output_size : int or pair of int, how many windows there are
    output_ratio : float or pair of float, their number as a share of the input's size, instead of output_size
    return_indices : bool; also return where each number was
    _random_samples : Tensor, shape (batch, channels, 2), the draws; new ones for each call unless given

    Raises
    ------
    ValueError
        If not exactly one of output_size and output_ratio is given, or a ratio is not between 0 and 1.
    """

    axes = 2
    function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest number of each of windows whose places in a volume are drawn at random.

    Its parameters are those of FractionalMaxPool2d, one or three for a triple."""

    axes = 3
    function = staticmethod(F.fractional_max_pool3d)


# ------------------------------------------------------------------------------ mean
class AvgPool1d(Module):
    """The mean of each window of a signal; parameters as for AvgPool2d."""

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True
    ):
        super().__init__()
        self.kernel_size = one_for_each_axis(kernel_size, 1)
        self.stride = self.kernel_size if stride is None else one_for_each_axis(stride, 1)
        self.padding = one_for_each_axis(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input):
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        return self.function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean of each window of an image.

    Parameters
    ----------
    kernel_size : int or pair of int, the window
    stride : int or pair of int, from one window to the next; the kernel size unless given
    padding : int or pair of int, zeros around the image
    ceil_mode : bool; a last window that is not full counts too
    count_include_pad : bool; the mean counts the zeros of the padding
    divisor_override : int, divides the sum instead of the number of elements
    """

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of each window of a volume; parameters as for AvgPool2d, an int or three."""

    function = staticmethod(F.avg_pool3d)


class _LPPool(Module):
    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input):
        return self.function(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self):
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The p-norm of each window of a signal; parameters as for LPPool2d."""

    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The p-norm of each window of an image: `(sum of x ** p) ** (1 / p)`.

    Parameters
    ----------
    norm_type : float, p
    kernel_size : int or pair of int, the window
    stride : int or pair of int, from one window to the next; the kernel size unless given
    ceil_mode : bool; a last window that is not full counts too
    """

    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The p-norm of each window of a volume; parameters as for LPPool2d, an int or three."""

    function = staticmethod(F.lp_pool3d)


# ------------------------------------------------------------------------------ adaptive
class _AdaptiveAvgPool(Module):
    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return self.function(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The mean of each of `output_size` windows of a signal, as even as can be."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The mean of each of as many windows of an image as are asked for, as even as can be.

    Parameters
    ----------
    output_size : int or pair of int or None; None keeps the size of that axis
    """

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The mean of each of as many windows of a volume as are asked for; see AdaptiveAvgPool2d."""

    function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPool(Module):
    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input):
        return self.function(input, self.output_size, self.return_indices)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest number of each of `output_size` windows of a signal, as even as can be."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest number of each of as many windows of an image as are asked for, as even as can be.

    Parameters
    ----------
    output_size : int or pair of int or None; None keeps the size of that axis
    return_indices : bool; also return where each number was
    """

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest number of each window of a volume, `output_size` of them; see AdaptiveMaxPool2d."""

    function = staticmethod(F.adaptive_max_pool3d)
