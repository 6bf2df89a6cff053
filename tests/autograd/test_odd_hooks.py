"""Hooks of saved tensors that return something odd must not end the process."""

import subprocess
import sys

import pytest

import tensorlab as T
from tests.autograd.odd_hooks import CHOICES

BATCH = 180  # a process takes a second to start


def batches(which):
    return [(which, first) for first in range(0, len(CHOICES[which]), BATCH)]


# What is checked is the same for both types; each night all samples are tried in both.
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("which", "first"),
    [
        *batches("some"),
        *[pytest.param(*one, marks=pytest.mark.nightly) for one in batches("all")],
    ],
)
def test_odd_values_from_unpack_raise_or_give_the_right_gradient(which, first, dtype):
    command = [sys.executable, "-m", "tests.autograd.odd_hooks"]
    command += [str(first), str(first + BATCH), dtype, which]
    ran = subprocess.run(command, capture_output=True, text=True)
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0, (
        f"the process ended with {ran.returncode} in: {lines[-1:]} {ran.stderr}"
    )
    assert lines[-1] == "done"
    assert not [line for line in lines if line.startswith("wrong")]


# ---------------------------------------------------------------- what unpack must return
def unpacking(function, unpack):
    """A leaf and what the function makes of it, whose saved tensors are unpacked so."""
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with T.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        return x, function(x)


@pytest.mark.parametrize(
    "unpack, says",
    [
        (lambda t: t.half(), r"convert it back with t.to\(device='cpu', dtype=tensorlab.float32\)"),
        (lambda t: t.to("meta"), r"convert it back with t.to\(device='cpu'"),
        (lambda t: t[:2], "pack the shape as well, and return a tensor of that shape"),
        (lambda t: t.sum(), "unpack returned a tensor of shape"),
    ],
)
def test_another_dtype_device_or_shape_is_named(unpack, says):
    _, y = unpacking(lambda x: x.sin(), unpack)
    with pytest.raises(RuntimeError, match=rf"SinBackward0 gave pack its saved 'self', .*{says}"):
        y.sum().backward()


def test_a_saved_value_in_a_list_is_named():
    _, y = unpacking(lambda x: T.einsum("i,i->", x, x), lambda t: t.half())
    with pytest.raises(RuntimeError, match="gave pack its saved"):
        y.backward()


def test_dimensions_of_size_1_that_unpack_added_are_taken_away():
    x, y = unpacking(lambda x: x.sin() * x, lambda t: t.unsqueeze(0))
    y.sum().backward()
    assert T.allclose(x.grad, (x.cos() * x + x.sin()).detach())


def test_a_custom_function_reads_what_unpack_returns():
    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            seen.append(x.dtype)
            return 2 * x.float() * grad

    seen = []
    x, y = unpacking(Square.apply, lambda t: t.half())
    y.sum().backward()
    assert seen == [T.float16]
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


# ---------------------------------------------------------------- data of another form
@pytest.mark.parametrize(
    "data", [T.zeros(0, 4), T.zeros(300, 400), T.zeros(4, 4, dtype=T.float16), T.zeros(())]
)
def test_a_saved_tensor_whose_data_took_another_form_raises(data):
    x, w = T.ones(4, 4, requires_grad=True), T.ones(4, 4, requires_grad=True)
    y = x @ w
    w.data = data
    with pytest.raises(RuntimeError, match="was saved at 0"):
        y.sum().backward()


def test_data_of_the_same_form_may_be_exchanged():
    x, w = T.ones(2, 2, requires_grad=True), T.ones(2, 2, requires_grad=True)
    y = x @ w
    w.data = T.zeros(2, 2)
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]
