"""The functions on images that are tensors, of shape (..., channels, height, width) or (height, width).

pillow_images.py has the same functions for images of Pillow; functional.py chooses between them.
"""

import math

from ..._core.dtypes import iinfo
from ..._core.interop.exchange import as_tensor
from ...nn import functional as F
from ...ops.creation import zeros_like
from ...ops.joining import stack
from ...ops.pointwise.bounds import minimum
from ...ops.pointwise.selection import where
from ...ops.ranges import arange
from .borders import positions
from .conversion import FLOAT32, FLOAT64, convert_image_dtype, largest
from .interpolation import InterpolationMode

ANTIALIASED = (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
RED, GREEN, BLUE = 0.2989, 0.587, 0.114  # what each weighs in brightness: ITU-R BT.601


def get_dimensions(img):
    """Return [channels, height, width]."""
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


def hflip(img):
    return img.flip(-1)


def vflip(img):
    return img.flip(-2)


def crop(img, top, left, height, width):
    """Return a rectangle; what lies outside of the image is 0."""
    _, had_height, had_width = get_dimensions(img)
    before = [max(-left, 0), max(-top, 0)]
    after = [max(left + width - had_width, 0), max(top + height - had_height, 0)]
    if any(before + after):
        img = F.pad(img, [before[0], after[0], before[1], after[1]])
    top, left = top + before[1], left + before[0]
    return img[..., top : top + height, left : left + width]


def pad(img, borders, fill, padding_mode):
    left, top, right, bottom = borders
    if padding_mode == "constant":
        return F.pad(img, [left, right, top, bottom], value=fill)
    rows = positions(img.shape[-2], top, bottom, padding_mode)
    columns = positions(img.shape[-1], left, right, padding_mode)
    return img.index_select(-2, as_tensor(rows)).index_select(-1, as_tensor(columns))


# ------------------------------------------------------------ between pixels
def in_floats(img):
    """Return an image as a batch of one with all its leading dimensions as channels, in a type for interpolation."""
    floats = img if img.dtype in (FLOAT32, FLOAT64) else img.to(FLOAT32)
    return floats.reshape(1, -1, *img.shape[-2:])


def like(result, img):
    """Undo `in_floats`: give a result the leading dimensions and the dtype of the image that it was made of."""
    result = result.reshape(*img.shape[:-2], *result.shape[-2:])
    if img.is_floating_point():
        return result.to(img.dtype)
    limits = iinfo(img.dtype)
    return result.round().clamp(limits.min, limits.max).to(img.dtype)


def resize(img, height, width, mode, antialias):
    if mode.value not in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        raise ValueError(
            f"resize: interpolation is {mode}; a Tensor can have NEAREST, NEAREST_EXACT, BILINEAR or BICUBIC"
        )
    antialias = bool(antialias) and mode in ANTIALIASED
    result = F.interpolate(
        in_floats(img), size=(height, width), mode=mode.value, antialias=antialias
    )
    return like(result, img)


def rotate(img, angle, mode, expand, center, fill):
    if mode.value not in ("nearest", "bilinear"):
        raise ValueError(f"rotate: interpolation is {mode}; a Tensor can have NEAREST or BILINEAR")
    height, width = img.shape[-2:]
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    out_height, out_width = rotated_size(height, width, angle) if expand else (height, width)
    floats = in_floats(img)
    # Both centred at the middle of the image, whose y points down: pixel (x, y) of the result shows the point
    # (cos x - sin y, sin x + cos y), relative to the centre of the rotation.
    x0, y0 = (0, 0) if center is None else (center[0] - width / 2, center[1] - height / 2)
    x = arange(out_width, dtype=floats.dtype) - (out_width - 1) / 2 - x0
    y = (arange(out_height, dtype=floats.dtype) - (out_height - 1) / 2 - y0).unsqueeze(1)
    seen_x, seen_y = cos * x - sin * y + x0, sin * x + cos * y + y0
    grid = stack([seen_x / (width / 2), seen_y / (height / 2)], dim=-1).unsqueeze(0)

    def sample(values):  # what lies outside is 0
        return F.grid_sample(values, grid, mode=mode.value, align_corners=False)

    result = sample(floats)
    if fill is not None:
        colour = as_tensor(fill, dtype=floats.dtype).reshape(-1, 1, 1)
        if len(colour) not in (1, get_dimensions(img)[0]):
            raise ValueError(
                f"rotate: The number of elements in 'fill' does not match the number of channels of the image "
                f"({len(colour)} != {get_dimensions(img)[0]})"
            )
        covered = sample(floats.new_ones(1, 1, height, width)).reshape(out_height, out_width)
        result = result.reshape(*img.shape[:-2], out_height, out_width) + (1 - covered) * colour
    return like(result, img)


def rotated_size(height, width, angle):
    """Return the height and width of the pixels that a rotated image touches, as Pillow counts them."""
    if angle % 90 == 0:
        return (height, width) if angle % 180 == 0 else (width, height)
    cos, sin = abs(math.cos(math.radians(angle))), abs(math.sin(math.radians(angle)))

    def pixels(size, extent):  # an extent in the middle of so many pixels
        return math.ceil((size + extent) / 2) - math.floor((size - extent) / 2)

    return pixels(height, width * sin + height * cos), pixels(width, width * cos + height * sin)


# ------------------------------------------------------------ colours
def check_channels(img, user):
    if img.ndim < 3 or img.shape[-3] not in (1, 3):
        raise TypeError(
            f"{user}: Input image tensor permitted channel values are 1 or 3, but its shape is {tuple(img.shape)}; "
            "expected (..., 1 or 3, height, width)"
        )


def rgb_to_grayscale(img, num_output_channels):
    check_channels(img, "rgb_to_grayscale")
    return gray(img).expand(*img.shape[:-3], num_output_channels, *img.shape[-2:])


def gray(img):
    """Return the brightness of an image, as a new one with one channel."""
    if img.shape[-3] == 1:
        return img.clone()
    red, green, blue = img.unbind(-3)
    return (RED * red + GREEN * green + BLUE * blue).to(img.dtype).unsqueeze(-3)


def blend(img, other, factor):
    """Return factor * img + (1 - factor) * other, within the limits of the dtype."""
    factor = float(factor)  # an int would multiply bytes as bytes, and wrap
    mixed = factor * img + (1.0 - factor) * other
    return mixed.clamp(0, largest(img.dtype)).to(img.dtype)


def adjust_brightness(img, factor):
    check_channels(img, "adjust_brightness")
    return blend(img, zeros_like(img), factor)


def adjust_contrast(img, factor):
    check_channels(img, "adjust_contrast")
    brightness = gray(img) if img.is_floating_point() else gray(img).to(FLOAT32)
    return blend(img, brightness.mean(dim=(-3, -2, -1), keepdim=True), factor)


def adjust_saturation(img, factor):
    check_channels(img, "adjust_saturation")
    return blend(img, gray(img), factor)


def adjust_hue(img, factor):
    check_channels(img, "adjust_hue")
    if img.shape[-3] == 1:
        return img
    hue, saturation, value = hsv(convert_image_dtype(img))
    return convert_image_dtype(rgb(hue + factor, saturation, value), img.dtype)


def hsv(img):
    """Return hue, in turns from red on, saturation and value, both from 0 to 1, of red, green and blue from 0 to 1.

    Source: A. R. Smith, Color gamut transform pairs, 1978.
    """
    red, green, blue = img.unbind(-3)
    value = img.amax(-3)
    chroma = value - img.amin(-3)
    divisor = where(chroma == 0, 1.0, chroma)
    from_green, from_blue = (blue - red) / divisor + 2, (red - green) / divisor + 4
    sector = where(value == green, from_green, from_blue)
    sector = where(value == red, (green - blue) / divisor, sector)
    return sector / 6, chroma / where(value == 0, 1.0, value), value


def rgb(hue, saturation, value):
    """Undo `hsv`: each colour falls below `value` by as much as the hue, of any number of turns, is away from it."""

    def channel(place):
        away = (hue * 6 + place) % 6.0
        return value - value * saturation * minimum(away, 4 - away).clamp(0, 1)

    return stack([channel(5), channel(3), channel(1)], dim=-3)
