"""Tensors of one element as Python numbers, and the errors of the others."""

import math

import numpy as np
import pytest

import tensorlab as T
from tests.ops.agreement import agree


@pytest.mark.parametrize(
    ("value", "dtype"), [(0, T.int64), (3, T.uint8), (2.5, T.float16), (0.0, T.float32)]
)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_is_the_number_it_holds(value, dtype, shape):
    x = T.full(shape, value, dtype=dtype)
    assert bool(x) is bool(value)
    assert int(x) == int(value)
    assert type(int(x)) is int
    assert float(x) == float(value)
    assert complex(x) == complex(value)


def test_truth_is_not_the_length():
    assert not T.tensor([0.0])
    assert T.tensor([math.nan])
    assert not T.zeros(1, 1)
    assert T.tensor(True)


@pytest.mark.parametrize(("shape", "count"), [((2,), 2), ((0,), 0)])
def test_other_sizes_have_no_truth_and_no_number(shape, count):
    x = T.ones(shape)
    with pytest.raises(RuntimeError, match=rf"bool: .* {count} elements.*x.all\(\)"):
        bool(x)
    for convert in (int, float, complex):
        with pytest.raises(ValueError, match=f"{convert.__name__}: .* {count} elements"):
            convert(x)


def test_one_integer_is_an_index():
    letters = "abc"
    assert letters[T.tensor(1)] == "b"
    assert letters[T.tensor([[2]])] == "c"
    assert letters[T.tensor(True)] == "b"
    assert list(range(T.tensor(2))) == [0, 1]
    for x in (T.tensor(1.0), T.ones(2, dtype=T.int64)):
        with pytest.raises(TypeError, match="it must hold one integer"):
            letters[x]


def test_values_that_no_int_has_raise_what_python_raises():
    with pytest.raises(ValueError, match="NaN"):
        int(T.tensor(math.nan))
    with pytest.raises(OverflowError):
        int(T.tensor(math.inf))


@pytest.mark.parametrize("is_enabled", [True, False])
def test_numpy_of_a_tensor_that_requires_grad(is_enabled):
    def program(M):
        x = M.ones(2, requires_grad=True)
        with M.set_grad_enabled(is_enabled):
            return x.numpy().tolist(), np.asarray(x * 2).tolist()

    agree(program)
