"""Transforms that choose which pixels are seen, always the same way: sizes, middles, borders."""

from ...nn.module import Module
from . import functional
from .borders import check_mode, sides
from .interpolation import InterpolationMode, as_mode

__all__ = ["CenterCrop", "Pad", "Resize"]


class Resize(Module):
    """Change the size of an image of Pillow or of a Tensor (..., height, width).

    Parameters
    ----------
    size : (height, width); or int, the length of the shorter side, where the other one keeps
        the proportions
    interpolation : InterpolationMode
    max_size : int, at most so long is the longer side; only with an int as `size`
    antialias : False to leave out pixels of a Tensor that shrinks instead of taking means

    Raises
    ------
    TypeError, ValueError
        If `size` or `interpolation` is something else.

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> Resize(2)(image).shape
    tensorlab.Size([1, 2, 2])
    """

    def __init__(
        self, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True
    ):
        super().__init__()
        functional.check_size(size)
        self.size = size
        self.max_size = max_size
        self.interpolation = as_mode(interpolation, "Resize")
        self.antialias = antialias

    def forward(self, img):
        return functional.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self):
        return (
            f"{type(self).__name__}(size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias})"
        )


class CenterCrop(Module):
    """Cut a rectangle out of the middle of an image of Pillow or of a Tensor; a larger one gets a border of 0.

    Parameters
    ----------
    size : int for a square, or (height, width)

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> CenterCrop(2)(image)
    tensor([[[0.3125, 0.3750],
             [0.5625, 0.6250]]])
    """

    def __init__(self, size):
        super().__init__()
        self.size = functional.pair(
            size, "CenterCrop: Please provide only two dimensions (h, w) for size"
        )

    def forward(self, img):
        return functional.center_crop(img, self.size)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"


class Pad(Module):
    """Put a border around an image of Pillow or a Tensor.

    Parameters
    ----------
    padding : int, pixels on each side; or (left and right, top and bottom); or (left, top,
        right, bottom)
    fill : number, for images of Pillow also a tuple with one for each channel or the name of a colour
    padding_mode : "constant", "edge", "reflect" or "symmetric"; see `functional.pad`

    Raises
    ------
    TypeError, ValueError
        If `padding` or `padding_mode` is something else.

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> Pad(1)(image).shape
    tensorlab.Size([1, 6, 6])
    """

    def __init__(self, padding, fill=0, padding_mode="constant"):
        super().__init__()
        sides(padding, "Pad")
        check_mode(padding_mode, "Pad")
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img):
        return functional.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self):
        return (
            f"{type(self).__name__}(padding={self.padding}, fill={self.fill}, "
            f"padding_mode={self.padding_mode})"
        )
