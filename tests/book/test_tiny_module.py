"""The small Module of chapter 28 registers, trains, saves and loads as the shipped one does."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/28-modules/tiny_module.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_module", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


def test_names_are_those_of_the_shipped_modules():
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = T.nn.Linear(64, 32)
            self.scores = T.nn.Linear(32, 10)

    ours = {name: tuple(p.shape) for name, p in tiny.DigitNet().named_parameters()}
    assert ours == {name: tuple(p.shape) for name, p in Net().named_parameters()}
    assert list(tiny.DigitNet().state_dict()) == list(ours)


def test_a_result_is_that_of_the_formula_and_gradients_reach_every_parameter():
    T.manual_seed(1)
    net, x = tiny.DigitNet(), T.randn(3, 64)
    hidden = (x @ net.hidden.weight.T + net.hidden.bias).clamp(min=0)
    T.testing.assert_close(
        net(x), T.nn.functional.linear(hidden, net.scores.weight, net.scores.bias)
    )
    net(x).square().sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for _, parameter in net.named_parameters())


def test_a_state_that_does_not_fit_changes_nothing():
    net, other = tiny.DigitNet(), tiny.DigitNet()
    before = {name: values.clone() for name, values in net.state_dict().items()}
    state = other.state_dict()
    with pytest.raises(RuntimeError, match="names differ"):
        net.load_state_dict({"hidden.weight": state["hidden.weight"]})
    with pytest.raises(RuntimeError, match=r"scores.bias has shape"):
        net.load_state_dict({**state, "scores.bias": T.zeros(3)})
    assert all(values.equal(before[name]) for name, values in net.state_dict().items())
    net.load_state_dict(state)
    x = T.randn(2, 64)
    assert net(x).equal(other(x))


def test_assigning_again_keeps_the_place_and_a_plain_value_is_not_registered():
    module = tiny.Module()
    module.a = tiny.Parameter(T.ones(1))
    module.b = tiny.Linear(1, 1)
    module.a = tiny.Parameter(T.zeros(1))
    module.c = T.ones(1)
    assert module.registered == ["a", "b"]
    with pytest.raises(AttributeError):
        module(1)
