"""The scalar engine of chapter 15 gives the derivatives that the library gives."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/15-a-scalar-engine/scalar_engine.py"


@pytest.fixture(scope="module")
def scalar():
    specification = importlib.util.spec_from_file_location("scalar_engine", PROGRAM)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


OPERATIONS = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "sub": lambda x, y: x - y,
    "tanh": lambda x, y: x.tanh(),
    "constant": lambda x, y: 2.0 * x + 0.5,
}


def run_all(leaves, steps):
    """Compute from leaves by steps (what, i, j), each on what there is by then; return everything."""
    numbers = list(leaves)
    for what, i, j in steps:
        x, y = numbers[i % len(numbers)], numbers[j % len(numbers)]
        numbers.append(OPERATIONS[what](x, y))
    return numbers


def run(leaves, steps):
    return run_all(leaves, steps)[-1]


kinds = st.sampled_from(list(OPERATIONS))
places = st.integers(0, 30)
programs = st.lists(st.tuples(kinds, places, places), min_size=1, max_size=12)
values = st.lists(st.floats(-1, 1), min_size=3, max_size=3)


@given(values, programs)
def test_gradients_equal_the_librarys(scalar, start, steps):
    numbers = [scalar.Number(value) for value in start]
    tensors = [T.tensor(value, dtype=T.float64, requires_grad=True) for value in start]
    ours, theirs = run(numbers, steps), run(tensors, steps)
    scalar.backward(ours)
    theirs.backward()
    assert ours.value == pytest.approx(theirs.item(), rel=1e-9, abs=1e-12)
    for number, tensor in zip(numbers, tensors, strict=True):
        expected = 0.0 if tensor.grad is None else tensor.grad.item()
        assert number.grad == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(values, programs)
def test_inputs_are_made_before_results(scalar, start, steps):
    result = run([scalar.Number(value) for value in start], steps)
    for node in scalar.ancestors(result):
        assert all(source.sequence_number < node.sequence_number for source, _ in node.inputs)


@given(values, programs)
def test_results_run_in_the_librarys_order(scalar, start, steps):
    numbers = run_all([scalar.Number(value) for value in start], steps)
    tensors = run_all([T.tensor(value, requires_grad=True) for value in start], steps)
    found = scalar.last_made_first(scalar.ancestors(numbers[-1]))
    ours = [numbers.index(node) for node in found if node.inputs and node in numbers]
    theirs = []
    for i, tensor in enumerate(tensors[3:], start=3):
        tensor.register_hook(lambda grad, i=i: theirs.append(i))
    tensors[-1].backward()
    assert ours == theirs


def test_a_number_used_twice_gets_the_sum(scalar):
    x = scalar.Number(3.0)
    scalar.backward(x * x + x)
    assert x.grad == 7.0


def test_a_second_backward_adds_to_grad(scalar):
    x = scalar.Number(3.0)
    y = x * x
    scalar.backward(y)
    scalar.backward(y)
    assert x.grad == 12.0
    assert y.grad == 0.0
