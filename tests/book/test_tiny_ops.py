"""The small ops of chapter 17 differentiate and save as the library's own do."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/17-derivatives/tiny_ops.py"


@pytest.fixture(scope="module")
def tiny():
    specification = importlib.util.spec_from_file_location("tiny_ops", PROGRAM)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def mul(tiny):
    op = tiny.Op("mul(x, y)", lambda x, y: x * y)
    op.derivative("x")(lambda grad, y: grad * y)
    op.derivative("y")(lambda grad, x: grad * x)
    return op


def operands(*needs):
    column = T.tensor([[1.0], [2.0]], requires_grad=needs[0])
    row = T.tensor([3.0, 4.0, 5.0], requires_grad=needs[1])
    return column, row


@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True)])
def test_a_small_op_saves_what_the_librarys_node_saves(mul, needs):
    column, row = operands(*needs)
    node, theirs = mul(column, row).grad_fn, (column * row).grad_fn
    names = {"_saved_self": "x", "_saved_other": "y"}
    assert node.saved_names == sorted(
        names[name]
        for name in dir(theirs)
        if name.startswith("_saved_") and getattr(theirs, name) is not None
    )


def test_its_gradients_are_summed_back_as_the_librarys_are(mul):
    ours, theirs = operands(True, True), operands(True, True)
    mul(*ours).sum().backward()
    (theirs[0] * theirs[1]).sum().backward()
    for one, other in zip(ours, theirs, strict=True):
        assert one.grad.shape == one.shape
        T.testing.assert_close(one.grad, other.grad)


def test_its_formulas_are_differentiated_again(tiny):
    op = tiny.Op("exp(x)", T.exp)
    op.derivative("x")(lambda grad, out: grad * out)
    x = T.tensor([0.5, 1.0], requires_grad=True)
    (grad,) = T.autograd.grad(op(x).sum(), x, create_graph=True)
    (second,) = T.autograd.grad(grad.sum(), x)
    T.testing.assert_close(second, x.detach().exp())


def test_numbers_and_shapes_reach_a_formula(tiny):
    op = tiny.Op("scaled_sum(x, factor)", lambda x, factor: x.sum() * factor)
    op.derivative("x")(lambda grad, x_shape, factor: (grad * factor).expand(x_shape))
    x = T.ones(2, 3, requires_grad=True)
    out = op(x, 4.0)
    assert out.grad_fn.saved_names == []
    out.backward()
    assert x.grad.tolist() == [[4.0] * 3] * 2


def test_an_unknown_name_is_refused_when_it_is_declared(tiny):
    op = tiny.Op("exp(x)", T.exp)
    with pytest.raises(ValueError, match="asks for 'y'"):
        op.derivative("x")(lambda grad, y: grad * y)
