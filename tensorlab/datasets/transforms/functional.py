"""What transforms do, as functions with nothing random in them.

Each takes an image of Pillow or a Tensor (..., channels, height, width) and returns one of the same kind. This module
checks the arguments, which are torchvision's; pillow_images.py and tensor_images.py do the work.
"""

from collections.abc import Sequence
from numbers import Number

from ..._tensor import Tensor
from ..optional import is_pil_image
from . import pillow_images, tensor_images
from .borders import check_mode, sides
from .conversion import (
    convert_image_dtype,
    normalize,
    pil_to_tensor,
    to_pil_image,
    to_tensor,
)
from .interpolation import InterpolationMode, as_mode

__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "adjust_saturation",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "erase",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "normalize",
    "pad",
    "pil_to_tensor",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]


def functions_for(img, user):
    """Return the module with the functions for this kind of image."""
    if isinstance(img, Tensor):
        if img.ndim < 2:
            raise TypeError(
                f"{user}: Tensor is not a torch image: its shape is {tuple(img.shape)}; expected (..., height, width)"
            )
        return tensor_images
    if is_pil_image(img):
        return pillow_images
    raise TypeError(
        f"{user}: img should be PIL Image or Tensor. Got {type(img).__name__}; ToPILImage makes an image of an array"
    )


# ------------------------------------------------------------ sizes
def get_dimensions(img):
    """Return [channels, height, width] of an image or Tensor.

    Examples
    --------
    >>> import tensorlab
    >>> get_dimensions(tensorlab.ones(3, 2, 4))
    [3, 2, 4]
    """
    return functions_for(img, "get_dimensions").get_dimensions(img)


def get_image_size(img):
    """Return [width, height] of an image or Tensor: the width first, as in Pillow.

    Examples
    --------
    >>> import tensorlab
    >>> get_image_size(tensorlab.ones(3, 2, 4))
    [4, 2]
    """
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img):
    """Return the number of channels of an image or Tensor."""
    return get_dimensions(img)[0]


def pair(size, message):
    """Return (height, width) of a number, a sequence of one, or a sequence of two; ValueError for others."""
    if isinstance(size, Number):
        return int(size), int(size)
    if len(size) not in (1, 2):
        raise ValueError(f"{message}; got {size!r}")
    return tuple(size) * (3 - len(size))


# ------------------------------------------------------------ parts of an image
def hflip(img):
    """Mirror an image from left to right.

    Examples
    --------
    >>> import tensorlab
    >>> hflip(tensorlab.tensor([[[1.0, 2.0]]]))
    tensor([[[2., 1.]]])
    """
    return functions_for(img, "hflip").hflip(img)


def vflip(img):
    """Turn an image upside down, as in water.

    Examples
    --------
    >>> import tensorlab
    >>> vflip(tensorlab.tensor([[[1.0], [2.0]]]))
    tensor([[[2.],
             [1.]]])
    """
    return functions_for(img, "vflip").vflip(img)


def crop(img, top, left, height, width):
    """Cut a rectangle out of an image; where it reaches beyond the image, it is 0.

    Parameters
    ----------
    img : image of Pillow, or Tensor (..., height, width)
    top, left : int, where its upper left corner is, in pixels
    height, width : int, its size

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> crop(image, 1, 1, 2, 2).shape
    tensorlab.Size([1, 2, 2])
    """
    return functions_for(img, "crop").crop(img, top, left, height, width)


def center_crop(img, output_size):
    """Cut a rectangle out of the middle of an image; one that is larger gets a border of 0.

    Parameters
    ----------
    img : image of Pillow, or Tensor (..., height, width)
    output_size : int for a square, or (height, width)

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> center_crop(image, [2, 2]).shape
    tensorlab.Size([1, 2, 2])
    """
    height, width = pair(output_size, "center_crop: expected an int or (height, width)")
    _, had_height, had_width = get_dimensions(img)
    return crop(img, in_front(had_height, height), in_front(had_width, width), height, width)


def in_front(had, size):
    """Return how many pixels to leave out at the beginning of a line; below 0, how many to add."""
    return round((had - size) / 2) if had > size else -((size - had) // 2)


def pad(img, padding, fill=0, padding_mode="constant"):
    """Put a border around an image.

    Parameters
    ----------
    img : image of Pillow, or Tensor (..., height, width)
    padding : int, pixels on each side; or (left and right, top and bottom); or (left, top,
        right, bottom)
    fill : the colour of the border: a number, for images of Pillow also a tuple with one for
        each channel or a name
    padding_mode : "constant" for `fill`; "edge" repeats the outermost pixel, "reflect" mirrors
        the image in it, "symmetric" mirrors it in its edge

    Raises
    ------
    TypeError, ValueError
        If an argument is something else.

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> pad(image, [1]).shape
    tensorlab.Size([1, 6, 6])
    """
    functions, borders = functions_for(img, "pad"), sides(padding, "pad")
    check_mode(padding_mode, "pad")
    fill = 0 if fill is None else fill
    if not isinstance(fill, Number if functions is tensor_images else (Number, str, list, tuple)):
        raise TypeError(
            f"pad: fill is {fill!r}; expected a number, or for an image of Pillow a tuple or the name of a colour"
        )
    return functions.pad(img, borders, fill, padding_mode)


def erase(img, i, j, h, w, v, inplace=False):
    """Write a value into a rectangle of a Tensor.

    Parameters
    ----------
    img : Tensor, shape (..., channels, height, width)
    i, j : int, row and column of the upper left corner
    h, w : int, height and width
    v : Tensor that broadcasts to (..., channels, h, w)
    inplace : True to write into `img`

    Raises
    ------
    TypeError
        If `img` isn't a Tensor.

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> erase(image, 0, 0, 2, 2, tensorlab.zeros(1, 2, 2))[0, 0]
    tensor([0.0000, 0.0000, 0.1250, 0.1875])
    """
    if not isinstance(img, Tensor):
        raise TypeError(f"erase: img should be Tensor. Got {type(img).__name__}; use ToTensor()")
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img


# ------------------------------------------------------------ other sizes and directions
def resized_size(had, size, max_size):
    """Return the height and width that an image of `had` gets by `resize`."""
    if len(size) == 2:
        return tuple(size)
    (wanted,), short, long = size, min(had), max(had)
    shorter, longer = wanted, int(wanted * long / short)
    if max_size is not None and longer > max_size:
        shorter, longer = int(max_size * shorter / longer), max_size
    return (longer, shorter) if had[0] > had[1] else (shorter, longer)


def resize(img, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True):
    """Change the size of an image.

    Parameters
    ----------
    img : image of Pillow, or Tensor (..., height, width)
    size : (height, width); or int, the length of the shorter side, where the other one keeps
        the proportions
    interpolation : InterpolationMode
    max_size : int, at most so long is the longer side; only with an int as `size`
    antialias : False to leave out pixels of a Tensor that shrinks instead of taking means, with
        BILINEAR and BICUBIC; images of Pillow always take means

    Returns
    -------
    an image like `img`; `img` itself if it has that size

    Raises
    ------
    TypeError, ValueError
        If `size` is something else, `max_size` isn't larger than it, or a Tensor can't have the interpolation.

    Examples
    --------
    >>> import tensorlab
    >>> image = tensorlab.arange(16.0).view(1, 4, 4) / 16
    >>> resize(image, [2, 2]).shape
    tensorlab.Size([1, 2, 2])
    """
    functions, mode = functions_for(img, "resize"), as_mode(interpolation, "resize")
    size = check_size(size)
    if max_size is not None and (len(size) == 2 or max_size <= size[0]):
        raise ValueError(
            f"resize: max_size is {max_size} and size {size}; max_size is for one number as size, and larger than it"
        )
    _, *had = functions.get_dimensions(img)
    height, width = resized_size(had, size, max_size)
    if [height, width] == had:
        return img
    return functions.resize(img, height, width, mode, antialias)


def check_size(size):
    """Return the argument `size` of `resize` as a sequence of one or two numbers."""
    if isinstance(size, int):
        return [size]
    if not isinstance(size, Sequence) or isinstance(size, str):
        raise TypeError(f"resize: size is {size!r}; Size should be int or sequence")
    if len(size) not in (1, 2):
        raise ValueError(
            f"resize: size is {size!r}; If size is a sequence, it should have 1 or 2 values"
        )
    return size


def resized_crop(
    img,
    top,
    left,
    height,
    width,
    size,
    interpolation=InterpolationMode.BILINEAR,
    antialias=True,
):
    """Cut a rectangle out of an image, as `crop` does, and give it another size, as `resize` does."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def rotate(
    img, angle, interpolation=InterpolationMode.NEAREST, expand=False, center=None, fill=None
):
    """Turn an image around a point.

    Parameters
    ----------
    img : image of Pillow, or Tensor (..., channels, height, width)
    angle : float, degrees, counterclockwise
    interpolation : InterpolationMode; NEAREST or BILINEAR for a Tensor
    expand : True for a result that is large enough for the whole image; it supposes the default center
    center : (x, y) in pixels from the upper left corner; the middle if not given
    fill : number, or one for each channel: the colour of what the image doesn't cover; 0 if not given
    """
    functions, mode = functions_for(img, "rotate"), as_mode(interpolation, "rotate")
    if center is not None and (not isinstance(center, Sequence) or len(center) != 2):
        raise TypeError(f"rotate: center is {center!r}; expected a sequence of two numbers (x, y)")
    return functions.rotate(img, angle, mode, expand, center, fill)


# ------------------------------------------------------------ colours
def rgb_to_grayscale(img, num_output_channels=1):
    """Make an image gray: 0.299 red + 0.587 green + 0.114 blue.

    Parameters
    ----------
    img : image of Pillow, or Tensor (..., 1 or 3, height, width)
    num_output_channels : 1 or 3; three are equal

    Raises
    ------
    ValueError
        If it is another number.
    TypeError
        If a Tensor has other channels.

    Examples
    --------
    >>> import tensorlab
    >>> rgb_to_grayscale(tensorlab.ones(3, 2, 2)).shape
    tensorlab.Size([1, 2, 2])
    """
    if num_output_channels not in (1, 3):
        raise ValueError(
            f"rgb_to_grayscale: num_output_channels should be either 1 or 3, and is {num_output_channels}"
        )
    return functions_for(img, "rgb_to_grayscale").rgb_to_grayscale(img, num_output_channels)


def to_grayscale(img, num_output_channels=1):
    """Make an image of Pillow gray, as `rgb_to_grayscale` does."""
    if not is_pil_image(img):
        raise TypeError(
            f"to_grayscale: Input should be PIL Image. Got {type(img).__name__}; rgb_to_grayscale takes Tensors"
        )
    return rgb_to_grayscale(img, num_output_channels)


def adjusted(name, img, factor):
    """Call a function that changes colours by a factor of at least 0."""
    if factor < 0:
        raise ValueError(f"adjust_{name}: {name}_factor ({factor}) is not non-negative.")
    return getattr(functions_for(img, f"adjust_{name}"), f"adjust_{name}")(img, factor)


def adjust_brightness(img, brightness_factor):
    """Multiply the colours of an image: 0 gives black, 1 the image, 2 an image twice as bright.

    Examples
    --------
    >>> import tensorlab
    >>> adjust_brightness(tensorlab.full((3, 1, 1), 0.25), 2.0).flatten()
    tensor([0.5000, 0.5000, 0.5000])
    """
    return adjusted("brightness", img, brightness_factor)


def adjust_contrast(img, contrast_factor):
    """Move colours away from the mean gray of an image: 0 gives that gray, 1 the image, 2 twice the contrast."""
    return adjusted("contrast", img, contrast_factor)


def adjust_saturation(img, saturation_factor):
    """Move colours away from gray: 0 gives a gray image, 1 the image, 2 colours twice as strong."""
    return adjusted("saturation", img, saturation_factor)


def adjust_hue(img, hue_factor):
    """Turn the colours of an image round the colour wheel.

    Parameters
    ----------
    img : image of Pillow, or Tensor (..., 1 or 3, height, width); gray images stay as they are
    hue_factor : float from -0.5 to 0.5, the part of a full turn

    Raises
    ------
    ValueError
        If it is another number.
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"adjust_hue: hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    return functions_for(img, "adjust_hue").adjust_hue(img, hue_factor)
