"""The small program of chapter 30: its fans and its start are those of nn.init."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T
from tensorlab.nn import init

PROGRAM = (
    Path(__file__).resolve().parents[2] / "chapters/30-initialisation-and-factories/tiny_init.py"
)
SPECIFICATION = importlib.util.spec_from_file_location("tiny_init", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


@pytest.mark.parametrize("shape", [(4, 3), (5, 2, 3), (2, 3, 4, 5)])
def test_fans_and_start_are_those_of_the_library(shape):
    assert tiny.fans(T.empty(shape)) == init._calculate_fan_in_and_fan_out(T.empty(shape))
    weight = T.zeros(shape, requires_grad=True)
    T.manual_seed(1)
    assert tiny.he_(weight) is weight
    T.manual_seed(1)
    expected = init.kaiming_normal_(T.zeros(shape), nonlinearity="relu")
    T.testing.assert_close(weight.detach(), expected)


def test_forward_returns_the_activations_of_each_layer():
    first, second = T.tensor([[1.0, -1.0]]), T.tensor([[2.0], [-3.0]])
    found = tiny.forward([first, second], T.tensor([[3.0, 1.0], [1.0, 3.0]]))
    assert [x.tolist() for x in found] == [[[2.0], [0.0]], [[4.0, 0.0], [0.0, 0.0]]]


def test_sizes_and_differences():
    x = T.tensor([[3.0, 4.0], [3.0, 4.0]])
    assert tiny.size(x) == pytest.approx(12.5**0.5)
    assert tiny.size(1e30 * x) == pytest.approx(1e30 * 12.5**0.5)
    assert tiny.difference(x) == 0
    assert tiny.difference(T.tensor([[1.0], [-1.0]])) == pytest.approx(1)
