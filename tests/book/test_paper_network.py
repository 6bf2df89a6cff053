"""The network on paper of chapter 16 has the library's gradients, and its rules hold for real steps."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/16-chain-rule-by-hand/paper_network.py"
numbers = st.floats(-2, 2).map(lambda x: round(x, 3))

STEPS = {
    "affine, by x": (lambda x: T.arange(12.0, dtype=T.float64).view(4, 3) @ x + 1, (3,)),
    "affine, by the weight": (lambda w: w @ T.tensor([1.0, -2.0, 0.5]).double(), (4, 3)),
    "tanh": (T.tanh, (5,)),
    "softmax": (lambda x: x.softmax(-1), (2, 4)),
    "a product": (lambda x: x * x.flip(0), (3,)),
    "a sum": (lambda x: x.sum(0), (3, 2)),
    "a broadcast sum": (lambda b: T.ones(3, 2).double() + b, (2,)),
}


@pytest.fixture(scope="module")
def paper():
    specification = importlib.util.spec_from_file_location("paper_network", PROGRAM)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@st.composite
def networks(draw):
    inputs, hidden = draw(st.integers(1, 4)), draw(st.integers(1, 4))

    def row(n):
        return [draw(numbers) for _ in range(n)]

    weights = [row(inputs) for _ in range(hidden)]
    rest = {"b": row(hidden), "v": row(hidden), "c": draw(numbers), "x": row(inputs)}
    return {"W": weights, **rest, "t": draw(numbers)}


@given(networks())
def test_the_gradients_on_paper_are_the_librarys(paper, values):
    grad = paper.backward(paper.forward(values))
    leaves = {name: T.tensor(values[name], dtype=T.float64, requires_grad=True) for name in "Wbvcx"}
    hidden = (leaves["W"] @ leaves["x"] + leaves["b"]).tanh()
    ((leaves["v"] @ hidden + leaves["c"] - values["t"]) ** 2).backward()
    for name in ("W", "b", "v", "c", "x"):
        expected = T.tensor(grad[name], dtype=T.float64)
        T.testing.assert_close(leaves[name].grad, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_back_is_the_gradient_times_the_jacobian(name):
    # Against the Jacobian column by column, from difference quotients: no derivative is used.
    step, shape = STEPS[name]
    T.manual_seed(0)
    x = T.randn(*shape, dtype=T.float64, requires_grad=True)
    y = step(x)
    v = T.randn(*y.shape, dtype=T.float64)
    (back,) = T.autograd.grad(y, x, v)
    assert back.shape == x.shape
    for i in range(x.numel()):
        nudge = T.zeros(x.numel(), dtype=T.float64)
        nudge[i] = 1e-5
        nudge = nudge.view(x.shape)
        column = (step(x.detach() + nudge) - step(x.detach() - nudge)) / 2e-5
        assert abs((column * v).sum().item() - back.reshape(-1)[i].item()) < 1e-8


def test_the_order_of_the_brackets_does_not_change_the_gradient():
    T.manual_seed(0)
    jacobians = [T.randn(6, 5).double(), T.randn(5, 4).double(), T.randn(4, 3).double()]
    v = T.randn(6).double()
    from_the_left = ((v @ jacobians[0]) @ jacobians[1]) @ jacobians[2]
    from_the_right = v @ (jacobians[0] @ (jacobians[1] @ jacobians[2]))
    T.testing.assert_close(from_the_left, from_the_right, rtol=1e-12, atol=1e-12)
