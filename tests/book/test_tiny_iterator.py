"""The small iterator of chapter 8 does what the library does."""

import importlib.util
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T
from tests.core.test_layout import shapes, views

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/08-broadcasting-kernels/tiny_iterator.py"


@pytest.fixture(scope="module")
def tiny():
    specification = importlib.util.spec_from_file_location("tiny_iterator", PROGRAM)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@given(st.tuples(shapes, shapes, shapes))
def test_shapes_broadcast_as_in_the_library(tiny, three):
    try:
        expected = (T.zeros(three[0]) + T.zeros(three[1]) + T.zeros(three[2])).shape
    except RuntimeError:
        with pytest.raises(ValueError, match="from the right"):
            tiny.broadcast(*three)
    else:
        assert tiny.broadcast(*three) == expected


def whole_memory(x):
    """The storage from x's first element on, as a list."""
    size = x.untyped_storage().nbytes() // x.itemsize - x.storage_offset()
    return x.as_strided((size,), (1,), x.storage_offset()).tolist() if x.numel() else []


@given(views(), views())
def test_values_are_those_of_the_library(tiny, one, two):
    x, y = one[0], two[0]
    try:
        expected = x * 10 - y
    except RuntimeError:
        return
    operands = [(whole_memory(t), tuple(t.shape), t.stride()) for t in (x, y)]
    values, shape = tiny.pointwise(lambda a, b: a * 10 - b, *operands)
    assert shape == expected.shape
    assert values == expected.reshape(-1).tolist()


@given(views())
def test_a_coalesced_iterator_visits_the_same_places(tiny, pair):
    x = pair[0]
    if x.numel() == 0:
        return
    contiguous = T.empty(x.shape).stride()
    dims = tiny.coalesce(tuple(x.shape), contiguous, x.stride())
    assert prod(size for size, _ in dims) == x.numel()
    places = T.arange(2000).as_strided(tuple(x.shape), x.stride()).reshape(-1).tolist()
    seen = {}
    for starts, size, strides in tiny.iterate(dims, 2):
        for i in range(size):
            seen[starts[0] + i * strides[0]] = starts[1] + i * strides[1]
    assert [seen[place] for place in range(x.numel())] == places
