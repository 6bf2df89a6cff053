"""Tensors as images."""

import io

import numpy as np
import pytest

import tensorlab
from tensorlab import viz
from tensorlab.errors import ShapeError

PIL = pytest.importorskip("PIL.Image")


def pixels(image):
    return np.array(PIL.open(io.BytesIO(image._repr_png_())))


def test_a_matrix_is_gray_from_its_least_to_its_greatest_element():
    x = tensorlab.tensor([[-1.0, 0.0], [1.0, 0.5]])
    assert pixels(viz.image(x)).tolist() == [[0, 128], [255, 191]]


def test_bytes_are_shown_as_they_are():
    x = tensorlab.tensor([[0, 7], [200, 255]], dtype=tensorlab.uint8)
    assert pixels(viz.image(x)).tolist() == [[0, 7], [200, 255]]


def test_three_channels_are_a_color():
    x = tensorlab.zeros(3, 2, 4)
    x[0] = 1
    found = pixels(viz.image(x))
    assert found.shape == (2, 4, 3)
    assert (found == [255, 0, 0]).all()


def test_black_and_white_can_be_given():
    assert pixels(viz.image(tensorlab.tensor([[0.5, 2.0]]), low=0, high=1)).tolist() == [[128, 255]]


def test_a_batch_stands_side_by_side():
    batch = tensorlab.stack([tensorlab.zeros(1, 2, 2), tensorlab.ones(1, 2, 2)])
    assert pixels(viz.image(batch)).tolist() == [[0, 0, 255, 255]] * 2


def test_a_pixel_can_take_several():
    assert pixels(viz.image(tensorlab.eye(2), scale=3)).shape == (6, 6)
    assert repr(viz.image(tensorlab.ones(2, 3), scale=2)) == "<image of 6 x 4 pixels>"


def test_it_is_saved_as_a_file(tmp_path):
    viz.image(tensorlab.eye(4)).save(tmp_path / "eye.png")
    with PIL.open(tmp_path / "eye.png") as found:
        assert found.size == (4, 4)


@pytest.mark.parametrize("shape", [(3,), (2, 4, 4), (0, 3), (1, 1, 1, 1, 1)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ShapeError, match="^image: x has shape"):
        viz.image(tensorlab.ones(shape))
