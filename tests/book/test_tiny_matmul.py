"""The matrix products of chapter 11, in Python and in C."""

import importlib.util
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/11-matmul/tiny_matmul.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_matmul", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)

needs_a_compiler = pytest.mark.skipif(tiny.library() is None, reason="no C compiler")
ORDERS = ["".join(letters) for letters in itertools.permutations("ijk")]
SHAPES = [
    (1, 1, 1),
    (2, 3, 4),
    (6, 16, 5),
    (7, 17, 3),
    (13, 33, 70),
    (97, 131, 300),
    (5, 1100, 260),
]


@pytest.mark.parametrize("order", ORDERS)
@given(sizes=st.tuples(*[st.integers(1, 4)] * 3))
def test_every_order_takes_each_step_once(order, sizes):
    m, n, k = sizes
    found = list(tiny.steps(order, m, n, k))
    assert sorted(found) == list(itertools.product(range(m), range(n), range(k)))
    a, b = T.randint(-9, 9, (m, k)), T.randint(-9, 9, (k, n))
    assert tiny.multiply(a.tolist(), b.tolist(), order) == (a @ b).tolist()


def test_the_letters_are_loops_from_the_outside_in():
    assert list(tiny.steps("ikj", 1, 2, 2)) == [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)]
    assert list(tiny.steps("jki", 2, 1, 2)) == [(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1)]


@needs_a_compiler
@pytest.mark.parametrize("way", tiny.WAYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_way_in_c_multiplies(way, shape):
    m, n, k = shape
    generator = T.Generator().manual_seed(11)
    a, b = T.randn(m, k, generator=generator), T.randn(k, n, generator=generator)
    came = tiny.product(way, a, b.t().contiguous() if way == "ijk_along" else b, times=2)
    T.testing.assert_close(came.double(), a.double() @ b.double(), rtol=1e-4, atol=1e-4)


@needs_a_compiler
@pytest.mark.parametrize("way", ["jki", "tiled", "registers"])
def test_ways_that_add_in_the_same_order_give_the_same_bits(way):
    a, b = T.randn(50, 700), T.randn(700, 90)
    assert tiny.product(way, a, b).equal(tiny.product("ikj", a, b))


@needs_a_compiler
def test_the_peak_is_above_one_chain():
    assert 0 < tiny.peak(1, 10_000) < tiny.peak(12, 10_000)


def test_without_a_compiler_there_is_no_library(monkeypatch):
    tiny.library.cache_clear()
    monkeypatch.setattr(tiny, "compilers", list)
    try:
        assert tiny.library() is None
        assert tiny.peak() != tiny.peak()
    finally:
        tiny.library.cache_clear()


def test_a_compiler_that_fails_gives_no_library(monkeypatch):
    tiny.library.cache_clear()
    monkeypatch.setattr(tiny, "compilers", lambda: [["false"]])
    try:
        assert tiny.library() is None
    finally:
        tiny.library.cache_clear()


def test_a_race_takes_turns():
    calls = []
    found = tiny.race({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3)
    assert calls == ["a", "b"] * 3
    assert all(len(seconds) == 3 and seconds == sorted(seconds) for seconds in found.values())
