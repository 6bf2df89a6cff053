"""Images that tests share, and what to compare them with."""

import numpy as np
from PIL import Image

import tensorlab


def picture(height=5, width=7, channels=3, seed=0):
    """An image of Pillow with random bytes: L for one channel, RGB for three."""
    shape = (height, width) if channels == 1 else (height, width, channels)
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8))


def both(height=5, width=7, channels=3, seed=0):
    """The same image as Pillow's and as a uint8 tensor."""
    img = picture(height, width, channels, seed)
    return img, as_tensor(img)


def as_array(img):
    """The bytes of an image or tensor as an array (channels, height, width)."""
    if isinstance(img, tensorlab.Tensor):
        return img.numpy()
    array = np.asarray(img)
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


def as_tensor(img):
    return tensorlab.from_numpy(as_array(img).copy())


def assert_same(one, other):
    """Assert that two images, of either kind, have the same pixels."""
    np.testing.assert_array_equal(as_array(one), as_array(other))
