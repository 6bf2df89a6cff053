"""From images to tensors and back, and from one element type to another.

An image of Pillow is (height, width, channels) of bytes; a tensor is (channels, height, width), and floating ones run
from 0 to 1.
"""

import numpy as np

from ..._core.dtypes import DTYPES, get_default_dtype, iinfo
from ..._core.interop.arrays import from_numpy
from ..._core.interop.exchange import as_tensor
from ..._tensor import Tensor
from ..optional import is_pil_image, require

__all__ = ["convert_image_dtype", "normalize", "pil_to_tensor", "to_pil_image", "to_tensor"]

_, UINT8, _, _, INT32, INT64, _, _, FLOAT32, FLOAT64 = DTYPES[:10]
# The mode of an image with one channel follows from its elements; with more, they are bytes, and the first is meant
# where none is named.
MODES_OF_ONE = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}
MODES = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK", "RGBX"]}
# What an array of an image is read as, where its own type would be another (I;16: one that tensors don't have).
ELEMENTS = {"1": np.uint8, "I": np.int32, "I;16": np.int16, "F": np.float32}
BELOW_ONE = 1e-3  # so that floats from 0 to 1 fall on integers evenly, and 1 on the largest


def to_tensor(pic):
    """Turn an image or array into a tensor; bytes become numbers from 0 to 1.

    Parameters
    ----------
    pic : image of Pillow, or array of shape (height, width) or (height, width, channels)

    Returns
    -------
    Tensor, shape (channels, height, width): of the default dtype and divided by 255 if `pic` holds bytes (as images in
    the modes L, LA, P, RGB, RGBA, CMYK, YCbCr, HSV and 1 do), else of the dtype of `pic` and as it is

    Raises
    ------
    TypeError, ValueError
        If `pic` is neither, or an array of other than two or three dimensions.

    Examples
    --------
    >>> import numpy
    >>> to_tensor(numpy.array([[0, 51], [102, 255]], dtype=numpy.uint8))
    tensor([[[0.0000, 0.2000],
             [0.4000, 1.0000]]])
    """
    if is_pil_image(pic):
        array = np.array(pic, dtype=ELEMENTS.get(pic.mode))
        array = array * np.uint8(255) if pic.mode == "1" else array
    elif not isinstance(pic, np.ndarray):
        raise TypeError(f"to_tensor: pic should be PIL Image or ndarray. Got {type(pic).__name__}")
    elif pic.ndim not in (2, 3):
        raise ValueError(
            f"to_tensor: pic should be 2/3 dimensional. Got {pic.ndim} dimensions; expected (height, width) or "
            "(height, width, channels)"
        )
    else:
        array = pic
    image = channels_first(array)
    return image.to(get_default_dtype()).div(255) if image.dtype == UINT8 else image


def channels_first(array):
    """Return a tensor (channels, height, width) with a copy of an image's array."""
    array = array[:, :, None] if array.ndim == 2 else array
    return from_numpy(np.array(array.transpose(2, 0, 1), order="C"))


def pil_to_tensor(pic):
    """Turn an image into a tensor with the same numbers.

    Parameters
    ----------
    pic : image of Pillow

    Returns
    -------
    Tensor, shape (channels, height, width): uint8; int16 for mode I;16, int32 for I, float32 for F, bool for 1

    Raises
    ------
    TypeError
        If `pic` isn't an image.
    """
    if not is_pil_image(pic):
        raise TypeError(f"pil_to_tensor: pic should be PIL Image. Got {type(pic).__name__}")
    elements = bool if pic.mode == "1" else ELEMENTS.get(pic.mode)
    return channels_first(np.array(pic, dtype=elements))


def to_pil_image(pic, mode=None):
    """Turn a tensor or array into an image of Pillow.

    Parameters
    ----------
    pic : Tensor of shape (channels, height, width) or (height, width), floating from 0 to 1 or of integers; or array of
        shape (height, width, channels) or (height, width); 1 to 4 channels
    mode : str, a mode of Pillow's that goes with so many channels; by default L, LA, RGB or
        RGBA, and of one channel I;16, I or F for int16, int32 or float32 elements (floating
        tensors become bytes unless `mode` is "F")

    Raises
    ------
    TypeError, ValueError
        If `pic` is something else, has other dimensions, or can't have this mode.
    """
    array = array_of(pic, mode)
    elements, channels = array.dtype.name, array.shape[2]
    if channels == 1:
        expected = MODES_OF_ONE.get(elements)
        if mode not in (None, expected):
            raise ValueError(
                f"to_pil_image: Incorrect mode ({mode}) supplied for input type {elements}. Should be {expected}"
            )
        mode = expected
    elif mode is None:
        mode = MODES[channels][0] if elements == "uint8" else None
    elif mode not in MODES[channels]:
        raise ValueError(
            f"to_pil_image: mode is {mode!r}; Only modes {MODES[channels]} are supported for {channels} channels"
        )
    if mode is None or (channels > 1 and elements != "uint8"):
        raise TypeError(
            f"to_pil_image: Input type {elements} is not supported with {channels} channels; expected uint8, or a "
            "floating tensor"
        )
    image = require("PIL.Image", "to_pil_image")
    return image.frombytes(mode, (array.shape[1], array.shape[0]), array.tobytes())


def array_of(pic, mode):
    """Return what becomes an image as an array (height, width, channels)."""
    if not isinstance(pic, (Tensor, np.ndarray)):
        raise TypeError(f"to_pil_image: pic should be Tensor or ndarray. Got {type(pic).__name__}.")
    if pic.ndim not in (2, 3):
        raise ValueError(f"to_pil_image: pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    if isinstance(pic, Tensor):
        pic = pic.mul(255).byte() if pic.is_floating_point() and mode != "F" else pic
        pic = pic.detach().numpy()
        array = pic.transpose(1, 2, 0) if pic.ndim == 3 else pic[:, :, None]
    else:
        array = pic if pic.ndim == 3 else pic[:, :, None]
    if not 1 <= array.shape[2] <= 4:
        raise ValueError(
            f"to_pil_image: pic should not have > 4 channels. Got {array.shape[2]} channels; a tensor is (channels, "
            "height, width), an array (height, width, channels)"
        )
    return array


def largest(dtype):
    """Return the number that stands for full brightness: 1 for floating types."""
    return 1 if dtype.is_floating_point else iinfo(dtype).max


def convert_image_dtype(image, dtype=FLOAT32):
    """Change the element type of a tensor, and its numbers so that black stays black and white stays white.

    Parameters
    ----------
    image : Tensor
    dtype : dtype; floating types run from 0 to 1, integers from 0 to their maximum

    Returns
    -------
    Tensor; `image` itself if it has this dtype

    Raises
    ------
    TypeError
        If `image` isn't a Tensor.
    RuntimeError
        For float32 to int32 or int64, and float64 to int64: the largest integer has no such float.

    Examples
    --------
    >>> convert_image_dtype(tensorlab.tensor([0.0, 0.5, 1.0]), tensorlab.uint8)
    tensor([  0, 127, 255], dtype=tensorlab.uint8)
    """
    if not isinstance(image, Tensor):
        raise TypeError(
            f"convert_image_dtype: image should be a Tensor. Got {type(image).__name__}"
        )
    if image.dtype == dtype:
        return image
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        if (image.dtype, dtype) in ((FLOAT32, INT32), (FLOAT32, INT64), (FLOAT64, INT64)):
            raise RuntimeError(
                f"convert_image_dtype: The cast from {image.dtype} to {dtype} cannot be performed safely; take a "
                "smaller integer type"
            )
        return image.mul(largest(dtype) + 1 - BELOW_ONE).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / largest(image.dtype)
    had, has = largest(image.dtype) + 1, largest(dtype) + 1
    if had > has:
        return image.div(had // has, rounding_mode="floor").to(dtype)
    return image.to(dtype) * (has // had)


def normalize(tensor, mean, std, inplace=False):
    """Subtract a mean from each channel and divide by a standard deviation.

    Parameters
    ----------
    tensor : Tensor, shape (..., channels, height, width), floating
    mean, std : sequences of a number for each channel, or of one for all; or Tensors
    inplace : True to write into `tensor`

    Returns
    -------
    Tensor like `tensor`, or `tensor` itself

    Raises
    ------
    TypeError, ValueError
        If `tensor` isn't floating, has fewer than three dimensions, or a deviation is 0.

    Examples
    --------
    >>> import tensorlab
    >>> normalize(tensorlab.ones(1, 1, 2), mean=[0.5], std=[0.5])
    tensor([[[1., 1.]]])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"normalize: img should be Tensor Image. Got {type(tensor).__name__}; put ToTensor() before Normalize"
        )
    if not tensor.is_floating_point():
        raise TypeError(
            f"normalize: Input tensor should be a float tensor. Got {tensor.dtype}; ConvertImageDtype makes one"
        )
    if tensor.ndim < 3:
        raise ValueError(
            f"normalize: the tensor has shape {tuple(tensor.shape)}; expected a tensor image of size (..., C, H, W)"
        )
    mean, std = (as_tensor(numbers, dtype=tensor.dtype) for numbers in (mean, std))
    if (std == 0).any():
        raise ValueError(
            f"normalize: std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero; it "
            "was 0, or too small for this type"
        )
    mean, std = (
        numbers.view(-1, 1, 1) if numbers.ndim == 1 else numbers for numbers in (mean, std)
    )
    return (tensor if inplace else tensor.clone()).sub_(mean).div_(std)
