"""The small program of chapter 31: shapes, shifts, and what the page says about convolutions."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T

PROGRAM = (
    Path(__file__).resolve().parents[2] / "chapters/31-convnet-and-autoencoder/tiny_conv_net.py"
)
SPECIFICATION = importlib.util.spec_from_file_location("tiny_conv_net", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


def test_networks_take_their_pictures():
    assert tiny.mlp()(T.zeros(3, 1, 12, 12)).shape == (3, 10)
    assert tiny.convnet()(T.zeros(3, 1, 12, 12)).shape == (3, 10)
    model = tiny.Autoencoder(5)
    x = T.zeros(3, 1, 8, 8)
    assert model.encode(x).shape == (3, 5)
    assert model(x).shape == x.shape
    assert 0 <= model(x).min() <= model(x).max() <= 1


def test_pictures_are_placed():
    picture = T.arange(1.0, 5.0).reshape(1, 1, 2, 2)
    assert tiny.place(picture, 1, 0, size=4)[0, 0].tolist() == [
        [0, 0, 0, 0],
        [1, 2, 0, 0],
        [3, 4, 0, 0],
        [0, 0, 0, 0],
    ]


def test_each_picture_moves_by_itself_and_not_too_far():
    T.manual_seed(0)
    dots = T.zeros(400, 1, 7, 7)
    dots[:, 0, 3, 3] = 1
    places = tiny.shifted(dots, 2).flatten(1).argmax(1)
    seen = {(place // 7 - 3, place % 7 - 3) for place in places.tolist()}
    assert seen == {(i, j) for i in range(-2, 3) for j in range(-2, 3)}


def test_training_lowers_the_loss_and_draws_new_rows():
    T.manual_seed(0)
    model, rows = T.nn.Linear(2, 1), []

    def loss_of(chosen):
        rows.append(chosen.tolist())
        return (model(T.ones(len(chosen), 2)) - 3).square().mean()

    losses = tiny.train(model, loss_of, 50, 40, lr=0.1, batch=8)
    assert len(losses) == 40
    assert losses[-1] < 0.1 * losses[0]
    assert {len(r) for r in rows} == {8}
    assert rows[0] != rows[1]
    assert max(map(max, rows)) < 50


def test_shifting_a_picture_shifts_its_feature_maps():
    T.manual_seed(0)
    convolution, x = T.nn.Conv2d(1, 4, 3, padding=1), T.zeros(1, 1, 12, 12)
    x[:, :, 3:8, 3:8] = T.rand(5, 5)
    moved = x.roll((1, 2), dims=(2, 3))
    maps = convolution(x).roll((1, 2), dims=(2, 3))
    T.testing.assert_close(convolution(moved)[:, :, 2:, 3:], maps[:, :, 2:, 3:])


@pytest.mark.parametrize("stride", [1, 2])
def test_a_transposed_convolution_is_the_gradient_of_a_convolution(stride):
    T.manual_seed(0)
    F, x, weight = T.nn.functional, T.randn(2, 3, 9, 9, requires_grad=True), T.randn(4, 3, 3, 3)
    y = F.conv2d(x, weight, stride=stride, padding=1)
    grad = T.randn(y.shape)
    (expected,) = T.autograd.grad(y, x, grad)
    T.testing.assert_close(F.conv_transpose2d(grad, weight, stride=stride, padding=1), expected)
