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


INSIDE = {
    "0-d tensors": lambda T: [T.tensor(1.5, dtype=T.float64), T.tensor(2.0, dtype=T.float64)],
    "0-d int32": lambda T: (T.tensor(1, dtype=T.int32), T.tensor(2, dtype=T.int32)),
    "0-d bool and uint8": lambda T: [True, T.tensor(1, dtype=T.uint8)],
    "0-d int32 and a float": lambda T: [T.tensor(1, dtype=T.int32), 2.5],
    "a float and 0-d float64": lambda T: [2, T.tensor(1.5, dtype=T.float64)],
    "half types": lambda T: [
        T.tensor(1.0, dtype=T.float16),
        T.tensor(2.0, dtype=T.bfloat16),
    ],
    "float16 and a float": lambda T: [T.tensor(1.0, dtype=T.float16), 2.5],
    "numpy float64": lambda T: [np.float64(1.5), np.float64(2)],
    "numpy float16": lambda T: [np.float16(1.5)],
    "numpy int16": lambda T: [np.int16(1), np.int16(2)],
    "numpy int16 and a float": lambda T: [np.int16(1), 1.5],
    "a float and numpy float64": lambda T: [1.5, np.float64(2)],
    "numpy bool": lambda T: [np.bool_(True)],
    "one element each": lambda T: [T.tensor([1.0]), T.tensor([2.0])],
    "one element each, float64": lambda T: [T.tensor([1.0], dtype=T.float64)],
    "one element in a matrix": lambda T: [T.tensor([[1.0]]), T.tensor([[2.0]])],
    "a number and one element": lambda T: [1.0, T.tensor([2.0])],
    "one element and a number": lambda T: [T.tensor([2.0]), 1.0],
    "0-d and one element": lambda T: [T.tensor(2.0), T.tensor([1.0])],
    "one element and 0-d": lambda T: [T.tensor([2.0]), T.tensor(1.0)],
    "a list and one element": lambda T: [[1.0], T.tensor([2.0])],
    "a list and 0-d": lambda T: [[1.0], T.tensor(2.0)],
    "matrix of both": lambda T: [[T.tensor([2.0]), 1], [2, T.tensor(3, dtype=T.float64)]],
    "arrays": lambda T: [np.array([1, 2], dtype=np.int16), np.array([2, 3], dtype=np.int16)],
    "arrays of one element": lambda T: [np.array([1.0]), np.array([2.0])],
    "an array and a list": lambda T: [np.array([1, 2], dtype=np.int16), [2.5, 3]],
    "a list and an array": lambda T: [[2.5, 3], np.array([1, 2], dtype=np.int16)],
    "too large": lambda T: [T.tensor(300, dtype=T.int32), T.tensor(2**40)],
}


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize("function", ["tensor", "as_tensor", "asarray"])
def test_what_a_sequence_holds_brings_its_type(name, function):
    agree(lambda T: getattr(T, function)(INSIDE[name](T)))


def test_rows_that_are_tensors_are_stacked():
    rows = [T.tensor([1, 2], dtype=T.int16), [3, 4]]
    assert T.tensor(rows).dtype == T.int64
    assert T.tensor(rows).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="a number is expected at depth 1"):
        T.tensor([T.tensor(1), T.tensor([1, 2])])


@pytest.mark.parametrize("settings", [{}, {"dtype": "float32"}, {"dtype": "float64"}])
@pytest.mark.parametrize("data", ["tensor", "array", "bytes"])
def test_asarray_copies_when_it_is_told_to(settings, data):
    def changed(T):
        given = {
            "tensor": T.zeros(2),
            "array": np.zeros(2, dtype=np.float32),
            "bytes": bytearray(16),
        }[data]
        named = {name: getattr(T, value) for name, value in settings.items()}
        x = T.asarray(given, copy=True, **named)
        x += 1
        return x, bytes(given) if data == "bytes" else given.tolist()

    agree(changed)


@pytest.mark.parametrize("make", [T.as_tensor, T.asarray, T.tensor])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
def test_an_array_that_runs_backwards_is_copied(make, dtype):
    array = np.arange(6, dtype=dtype).reshape(2, 3)[::-1, ::-1]
    assert make(array).tolist() == array.tolist()
    between = np.zeros(3, dtype=[("a", "int8"), ("b", dtype)])  # elements lie at odd distances
    between["b"] = [4, 5, 6]
    assert make(between["b"]).tolist() == [4, 5, 6]
