"""Layers that cut images into patches and put them together again: Unfold and Fold."""

from . import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]


class _Windows(Module):
    """What both have: the places of a kernel, each an int, or a pair for height and width."""

    def __init__(self, kernel_size, dilation, padding, stride):
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Unfold(_Windows):
    """Copy the patches of images, shape (batch, channels, height, width), each as a column; see `F.unfold`.

    Parameters
    ----------
    kernel_size, dilation, padding, stride : int, or pair of int for height and width

    Examples
    --------
    >>> import tensorlab
    >>> Unfold(kernel_size=2)(tensorlab.arange(9.0).view(1, 1, 3, 3))
    tensor([[[0., 1., 3., 4.],
             [1., 2., 4., 5.],
             [3., 4., 6., 7.],
             [4., 5., 7., 8.]]])
    """

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size, dilation, padding, stride)

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Windows):
    """Add columns to the patches of images that Unfold would have copied them from; see `F.fold`.

    Parameters
    ----------
    output_size : int, or pair of int, height and width of the images
    kernel_size, dilation, padding, stride : int, or pair of int for height and width

    Examples
    --------
    >>> import tensorlab
    >>> columns = tensorlab.ones(1, 4, 4)  # four patches of 2 x 2
    >>> Fold(output_size=(3, 3), kernel_size=2)(columns)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input):
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self):
        return f"output_size={self.output_size}, {super().extra_repr()}"
