"""Transforms between images, arrays and tensors, and between element types."""

from ..._core.dtypes import BY_NAME
from ...nn.module import Module
from . import functional

__all__ = ["ConvertImageDtype", "Normalize", "PILToTensor", "ToPILImage", "ToTensor"]


class ToTensor:
    """Turn an image of Pillow or an array (height, width, channels) into a Tensor (channels, height, width).

    Bytes become numbers of the default dtype from 0 to 1; other elements stay as they are. See
    `functional.to_tensor`.

    Examples
    --------
    >>> import numpy
    >>> ToTensor()(numpy.full((2, 2, 1), 255, dtype=numpy.uint8)).flatten()
    tensor([1., 1., 1., 1.])
    """

    def __call__(self, pic):
        return functional.to_tensor(pic)

    def __repr__(self):
        return f"{type(self).__name__}()"


class PILToTensor:
    """Turn an image of Pillow into a Tensor (channels, height, width) with the same numbers.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.datasets.transforms import PILToTensor
    >>> from tensorlab.datasets.transforms.functional import to_pil_image
    >>> PILToTensor()(to_pil_image(tensorlab.ones(1, 2, 2))).flatten()
    tensor([255, 255, 255, 255], dtype=tensorlab.uint8)
    """

    def __call__(self, pic):
        return functional.pil_to_tensor(pic)

    def __repr__(self):
        return f"{type(self).__name__}()"


class ToPILImage:
    """Turn a Tensor (channels, height, width) or an array (height, width, channels) into an image of Pillow.

    Parameters
    ----------
    mode : str, a mode of Pillow's; by default what goes with the channels and elements, see `functional.to_pil_image`

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.datasets.transforms import ToPILImage
    >>> ToPILImage()(tensorlab.rand(3, 4, 6)).size
    (6, 4)
    """

    def __init__(self, mode=None):
        self.mode = mode

    def __call__(self, pic):
        return functional.to_pil_image(pic, self.mode)

    def __repr__(self):
        mode = "" if self.mode is None else f"mode={self.mode}"
        return f"{type(self).__name__}({mode})"


class ConvertImageDtype(Module):
    """Change the element type of a Tensor, and its numbers with it: 255 in uint8 is 1.0 in float32.

    Parameters
    ----------
    dtype : dtype; see `functional.convert_image_dtype`

    Examples
    --------
    >>> import tensorlab
    >>> ConvertImageDtype(tensorlab.uint8)(tensorlab.tensor([[[0.0, 1.0]]]))
    tensor([[[  0, 255]]], dtype=tensorlab.uint8)
    """

    def __init__(self, dtype=BY_NAME["float32"]):
        super().__init__()
        self.dtype = dtype

    def forward(self, image):
        return functional.convert_image_dtype(image, self.dtype)


class Normalize(Module):
    """Subtract a mean from each channel of a floating Tensor, and divide by a standard deviation.

    Parameters
    ----------
    mean, std : sequences with a number for each channel
    inplace : True to write into the Tensor

    Examples
    --------
    >>> Normalize(mean=(0.5,), std=(0.25,))(tensorlab.tensor([[[0.5, 1.0]]]))
    tensor([[[0., 2.]]])
    """

    def __init__(self, mean, std, inplace=False):
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor):
        return functional.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self):
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"
