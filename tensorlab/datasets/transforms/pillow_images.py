"""The functions on images of Pillow; tensor_images.py has the same ones for tensors.

Its caller has found the argument to be an image, so Pillow is imported.
"""

from numbers import Number

import numpy as np

from ..optional import require
from .borders import positions
from .interpolation import PILLOW_NUMBERS


def get_dimensions(img):
    """Return [channels, height, width]."""
    return [len(img.getbands()), img.height, img.width]


def hflip(img):
    return img.transpose(require("PIL.Image", "hflip").Transpose.FLIP_LEFT_RIGHT)


def vflip(img):
    return img.transpose(require("PIL.Image", "vflip").Transpose.FLIP_TOP_BOTTOM)


def crop(img, top, left, height, width):
    return img.crop((left, top, left + width, top + height))


def colour(fill, img, user):
    """Return a colour as Pillow wants it: a tuple with a number for each channel, or the name of a colour."""
    channels = len(img.getbands())
    if isinstance(fill, Number):
        return (fill,) * channels
    if isinstance(fill, (list, tuple)):
        if len(fill) != channels:
            raise ValueError(
                f"{user}: The number of elements in 'fill' does not match the number of channels of the image "
                f"({len(fill)} != {channels})"
            )
        return tuple(fill)
    return fill


def pad(img, borders, fill, padding_mode):
    if padding_mode == "constant":
        expand = require("PIL.ImageOps", "pad").expand
        return expand(img, border=tuple(borders), fill=colour(fill, img, "pad"))
    left, top, right, bottom = borders
    rows = positions(img.height, top, bottom, padding_mode)
    columns = positions(img.width, left, right, padding_mode)
    padded = require("PIL.Image", "pad").fromarray(np.asarray(img)[rows][:, columns])
    if img.mode == "P":
        padded.putpalette(img.getpalette())
    return padded


def resize(img, height, width, mode, antialias):
    return img.resize((width, height), PILLOW_NUMBERS[mode])


def rotate(img, angle, mode, expand, center, fill):
    return img.rotate(
        angle, PILLOW_NUMBERS[mode], expand, center, fillcolor=colour(fill, img, "rotate")
    )


def rgb_to_grayscale(img, num_output_channels):
    gray = img.convert("L")
    if num_output_channels == 1:
        return gray
    return require("PIL.Image", "rgb_to_grayscale").merge("RGB", [gray] * 3)


def enhanced(kind, img, factor):
    return getattr(require("PIL.ImageEnhance", kind), kind)(img).enhance(factor)


def adjust_brightness(img, factor):
    return enhanced("Brightness", img, factor)


def adjust_contrast(img, factor):
    return enhanced("Contrast", img, factor)


def adjust_saturation(img, factor):
    return enhanced("Color", img, factor)


def adjust_hue(img, factor):
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    shift = int(factor * 255)
    hue = hue.point([(level + shift) % 256 for level in range(256)])
    merge = require("PIL.Image", "adjust_hue").merge
    return merge("HSV", (hue, saturation, value)).convert(img.mode)
