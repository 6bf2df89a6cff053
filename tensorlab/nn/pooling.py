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
    """The largest number of each window of a signal; parameters as for MaxPool2d.

    Called with signals, shape (batch, channels, length) or without batch.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(4.0).view(1, 1, 4)
    >>> MaxPool1d(2)(x)
    tensor([[[1., 3.]]])
    """

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest number of each window of an image.

    Called with images, shape (batch, channels, height, width) or without batch.

    Parameters
    ----------
    kernel_size : int or pair of int, the window
    stride : int or pair of int, from one window to the next; the kernel size unless given
    padding : int or pair of int, places around the image that hold less than any number
    dilation : int or pair of int, from one element of a window to the next
    return_indices : bool; also return where each number was
    ceil_mode : bool; a last window that is not full counts too

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(16.0).view(1, 1, 4, 4)
    >>> MaxPool2d(2)(x)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """The largest number of each window of a volume; parameters as for MaxPool2d, an int or three.

    Called with volumes, shape (batch, channels, depth, height, width) or without batch.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(64.0).view(1, 1, 4, 4, 4)
    >>> MaxPool3d(2)(x)
    tensor([[[[[21., 23.],
               [29., 31.]],
    <BLANKLINE>
              [[53., 55.],
               [61., 63.]]]]])
    """

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
    """Put the numbers of MaxPool1d back where they were, among zeros; see MaxUnpool2d.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(4.0).view(1, 1, 4)
    >>> values, indices = tensorlab.nn.MaxPool1d(2, return_indices=True)(x)
    >>> MaxUnpool1d(2)(values, indices).shape
    tensorlab.Size([1, 1, 4])
    """

    axes = 1
    function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Put the numbers of MaxPool2d back where they were, among zeros.

    It is called with the two results of `MaxPool2d(..., return_indices=True)`, and perhaps with
    the size of what was pooled.

    Parameters
    ----------
    kernel_size, stride, padding : int or pair of int, those of the pooling

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(16.0).view(1, 1, 4, 4)
    >>> values, indices = tensorlab.nn.MaxPool2d(2, return_indices=True)(x)
    >>> MaxUnpool2d(2)(values, indices).shape
    tensorlab.Size([1, 1, 4, 4])
    """

    axes = 2
    function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Put the numbers of MaxPool3d back where they were, among zeros; see MaxUnpool2d.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(64.0).view(1, 1, 4, 4, 4)
    >>> values, indices = tensorlab.nn.MaxPool3d(2, return_indices=True)(x)
    >>> MaxUnpool3d(2)(values, indices).shape
    tensorlab.Size([1, 1, 4, 4, 4])
    """

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
    output_ratio : float or pair of float, their number as a share of the input's size, instead
        of output_size
    return_indices : bool; also return where each number was
    _random_samples : Tensor, shape (batch, channels, 2), the draws; new ones for each call
        unless given

    Raises
    ------
    ValueError
        If not exactly one of output_size and output_ratio is given, or a ratio is not between 0 and 1.

    Examples
    --------
    >>> import tensorlab
    >>> FractionalMaxPool2d(2, output_size=3)(tensorlab.rand(1, 1, 8, 8)).shape
    tensorlab.Size([1, 1, 3, 3])
    """

    axes = 2
    function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest number of each of windows whose places in a volume are drawn at random.

    Its parameters are those of FractionalMaxPool2d, one or three for a triple.

    Examples
    --------
    >>> import tensorlab
    >>> FractionalMaxPool3d(2, output_size=3)(tensorlab.rand(1, 1, 8, 8, 8)).shape
    tensorlab.Size([1, 1, 3, 3, 3])
    """

    axes = 3
    function = staticmethod(F.fractional_max_pool3d)


# ------------------------------------------------------------------------------ mean
class AvgPool1d(Module):
    """The mean of each window of a signal; parameters as for AvgPool2d.

    Called with signals, shape (batch, channels, length) or without batch.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(4.0).view(1, 1, 4)
    >>> AvgPool1d(2)(x)
    tensor([[[0.5000, 2.5000]]])
    """

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

    Called with images, shape (batch, channels, height, width) or without batch.

    Parameters
    ----------
    kernel_size : int or pair of int, the window
    stride : int or pair of int, from one window to the next; the kernel size unless given
    padding : int or pair of int, zeros around the image
    ceil_mode : bool; a last window that is not full counts too
    count_include_pad : bool; the mean counts the zeros of the padding
    divisor_override : int, divides the sum instead of the number of elements

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(16.0).view(1, 1, 4, 4)
    >>> AvgPool2d(2)(x)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of each window of a volume; parameters as for AvgPool2d, an int or three.

    Called with volumes, shape (batch, channels, depth, height, width) or without batch.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(64.0).view(1, 1, 4, 4, 4)
    >>> AvgPool3d(2)(x)
    tensor([[[[[10.5000, 12.5000],
               [18.5000, 20.5000]],
    <BLANKLINE>
              [[42.5000, 44.5000],
               [50.5000, 52.5000]]]]])
    """

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
    """The p-norm of each window of a signal; parameters as for LPPool2d.

    Called with signals, shape (batch, channels, length) or without batch.

    Parameters
    ----------
    norm_type : float, the p of the norm
    kernel_size : int or sequence of int, the window
    stride : int or sequence of int, from one window to the next; the kernel size unless given
    ceil_mode : bool; a last window that is not full counts too

    Examples
    --------
    >>> import tensorlab
    >>> LPPool1d(1, 2)(tensorlab.ones(1, 1, 4))  # p = 1: sums
    tensor([[[2., 2.]]])
    """

    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The p-norm of each window of an image: `(sum of x ** p) ** (1 / p)`.

    Called with images, shape (batch, channels, height, width) or without batch.

    Parameters
    ----------
    norm_type : float, p
    kernel_size : int or pair of int, the window
    stride : int or pair of int, from one window to the next; the kernel size unless given
    ceil_mode : bool; a last window that is not full counts too

    Examples
    --------
    >>> import tensorlab
    >>> LPPool2d(1, 2)(tensorlab.ones(1, 1, 4, 4))  # p = 1: sums
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """

    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The p-norm of each window of a volume; parameters as for LPPool2d, an int or three.

    Called with volumes, shape (batch, channels, depth, height, width) or without batch.

    Parameters
    ----------
    norm_type : float, the p of the norm
    kernel_size : int or sequence of int, the window
    stride : int or sequence of int, from one window to the next; the kernel size unless given
    ceil_mode : bool; a last window that is not full counts too

    Examples
    --------
    >>> import tensorlab
    >>> LPPool3d(1, 2)(tensorlab.ones(1, 1, 4, 4, 4))  # p = 1: sums
    tensor([[[[[8., 8.],
               [8., 8.]],
    <BLANKLINE>
              [[8., 8.],
               [8., 8.]]]]])
    """

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
    """The mean of each of `output_size` windows of a signal, as even as can be.

    Parameters
    ----------
    output_size : int or sequence of int or None; None keeps the size of that axis

    Examples
    --------
    >>> import tensorlab
    >>> AdaptiveAvgPool1d(2)(tensorlab.arange(5.0).view(1, 1, 5))
    tensor([[[1., 3.]]])
    """

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The mean of each of as many windows of an image as are asked for, as even as can be.

    Parameters
    ----------
    output_size : int or pair of int or None; None keeps the size of that axis

    Examples
    --------
    >>> import tensorlab
    >>> AdaptiveAvgPool2d(2)(tensorlab.arange(25.0).view(1, 1, 5, 5))
    tensor([[[[ 6.,  8.],
              [16., 18.]]]])
    """

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The mean of each of as many windows of a volume as are asked for; see AdaptiveAvgPool2d.

    Parameters
    ----------
    output_size : int or sequence of int or None; None keeps the size of that axis

    Examples
    --------
    >>> import tensorlab
    >>> AdaptiveAvgPool3d(2)(tensorlab.arange(125.0).view(1, 1, 5, 5, 5))
    tensor([[[[[31., 33.],
               [41., 43.]],
    <BLANKLINE>
              [[81., 83.],
               [91., 93.]]]]])
    """

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
    """The largest number of each of `output_size` windows of a signal, as even as can be.

    Parameters
    ----------
    output_size : int or sequence of int or None; None keeps the size of that axis
    return_indices : bool; also return where each number was

    Examples
    --------
    >>> import tensorlab
    >>> AdaptiveMaxPool1d(2)(tensorlab.arange(5.0).view(1, 1, 5))
    tensor([[[2., 4.]]])
    """

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest number of each of as many windows of an image as are asked for, as even as can be.

    Parameters
    ----------
    output_size : int or pair of int or None; None keeps the size of that axis
    return_indices : bool; also return where each number was

    Examples
    --------
    >>> import tensorlab
    >>> AdaptiveMaxPool2d(2)(tensorlab.arange(25.0).view(1, 1, 5, 5))
    tensor([[[[12., 14.],
              [22., 24.]]]])
    """

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The largest number of each window of a volume, `output_size` of them; see AdaptiveMaxPool2d.

    Parameters
    ----------
    output_size : int or sequence of int or None; None keeps the size of that axis
    return_indices : bool; also return where each number was

    Examples
    --------
    >>> import tensorlab
    >>> AdaptiveMaxPool3d(2)(tensorlab.arange(125.0).view(1, 1, 5, 5, 5))
    tensor([[[[[ 62.,  64.],
               [ 72.,  74.]],
    <BLANKLINE>
              [[112., 114.],
               [122., 124.]]]]])
    """

    function = staticmethod(F.adaptive_max_pool3d)
