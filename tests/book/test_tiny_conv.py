"""The small program of chapter 12 convolves as the library does, and its gradients are the engine's."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T
from tensorlab.nn import functional as F

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/12-convolution/tiny_conv.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_conv", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)

SIZES = [(1, 1, 3, 3, 3), (2, 3, 5, 4, 2), (3, 2, 4, 6, 3), (2, 2, 3, 3, 1)]


def drawn(channels, out, height, width, k):
    generator = T.Generator().manual_seed(12)
    image = T.randn(channels, height, width, dtype=T.float64, generator=generator)
    weight = T.randn(out, channels, k, k, dtype=T.float64, generator=generator)
    return image, weight


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", ["direct", "convolve"])
def test_a_convolution_is_that_of_the_library(name, sizes):
    image, weight = drawn(*sizes)
    T.testing.assert_close(getattr(tiny, name)(image, weight), F.conv2d(image, weight))


@pytest.mark.parametrize("sizes", SIZES)
def test_gradients_are_those_of_the_engine(sizes):
    image, weight = drawn(*sizes)
    x, w = image.clone().requires_grad_(), weight.clone().requires_grad_()
    out = F.conv2d(x, w)
    grad = T.randn(out.shape, dtype=T.float64, generator=T.Generator().manual_seed(1))
    out.backward(grad)
    T.testing.assert_close(tiny.grad_image(grad, weight, image.shape), x.grad)
    T.testing.assert_close(tiny.grad_weight(grad, image, weight), w.grad)


@pytest.mark.parametrize("sizes", SIZES)
def test_patches_are_a_view_and_columns_a_copy(sizes):
    image, _ = drawn(*sizes)
    k = sizes[-1]
    view = tiny.patches(image.mT, k)
    assert view.untyped_storage().data_ptr() == image.untyped_storage().data_ptr()
    assert view[0, -1, 0, 0, -1] == image.mT[0, k - 1, -k]
    columns = tiny.im2col(image, k)
    assert columns.shape == (sizes[0] * k * k, view.shape[3] * view.shape[4])
