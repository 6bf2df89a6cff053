"""Layers that take the largest or the mean number of each window of a signal or an image."""

from . import functional as F
from .convolution import one_for_each_axis
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "MaxPool1d",
    "MaxPool2d",
]


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


class AvgPool2d(Module):
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
        return F.avg_pool2d(
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
