"""Layers that give the same elements another shape or order: Flatten, Unflatten and the shuffles."""

from . import functional as F
from .module import Module

__all__ = ["ChannelShuffle", "Flatten", "PixelShuffle", "PixelUnshuffle", "Unflatten"]


class Flatten(Module):
    """Make one dimension of `start_dim` to `end_dim`, all but the batch if not told otherwise.

    Parameters
    ----------
    start_dim, end_dim : int, the first and the last dimension that become one

    Examples
    --------
    >>> import tensorlab
    >>> Flatten()(tensorlab.zeros(8, 3, 4, 5)).shape
    tensorlab.Size([8, 60])
    """

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Make several dimensions of one.

    Parameters
    ----------
    dim : int, the dimension to split
    unflattened_size : sequence of int, the sizes it becomes; one may be -1

    Examples
    --------
    >>> import tensorlab
    >>> Unflatten(1, (3, 4))(tensorlab.zeros(8, 12)).shape
    tensorlab.Size([8, 3, 4])
    """

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class PixelShuffle(Module):
    """Make of `upscale_factor`**2 channels one whose height and width are `upscale_factor` times as large.

    Parameters
    ----------
    upscale_factor : int, above 0

    Notes
    -----
    Called with `input` of shape (*, channels * upscale_factor**2, height, width).
    Source: Shi et al. 2016, "Real-Time Single Image and Video Super-Resolution Using an Efficient
    Sub-Pixel Convolutional Neural Network", equation 4.

    Examples
    --------
    >>> import tensorlab
    >>> PixelShuffle(2)(tensorlab.arange(4.0).view(1, 4, 1, 1))
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self):
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Undo a PixelShuffle: make of each square of `downscale_factor` by `downscale_factor` pixels as many channels.

    Parameters
    ----------
    downscale_factor : int, above 0

    Notes
    -----
    Called with `input` of shape (*, channels, height * downscale_factor, width * downscale_factor).

    Examples
    --------
    >>> import tensorlab
    >>> PixelUnshuffle(2)(tensorlab.arange(4.0).view(1, 1, 2, 2)).flatten(1)
    tensor([[0., 1., 2., 3.]])
    """

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self):
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Take channels from each of `groups` groups in turn, so that the next convolution's groups see all.

    Source: Zhang et al. 2018, "ShuffleNet", section 3.1.

    Parameters
    ----------
    groups : int, a divisor of the number of channels

    Examples
    --------
    >>> import tensorlab
    >>> ChannelShuffle(2)(tensorlab.arange(4.0).view(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return f"groups={self.groups}"
