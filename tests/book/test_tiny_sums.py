"""The three ways to add in chapter 10, on numbers of the library."""

import importlib.util
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/10-reductions/tiny_sums.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_sums", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


@pytest.mark.parametrize("way", [tiny.naive, tiny.pairwise, tiny.compensated])
@given(numbers=st.lists(st.integers(-1000, 1000), min_size=1, max_size=70))
def test_integers_are_added_exactly(way, numbers):
    assert way(T.tensor(numbers, dtype=T.float64)).item() == sum(numbers)


@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=200))
def test_compensated_sums_are_within_two_roundings(numbers):
    x = T.tensor(numbers, dtype=T.float32)
    exact = math.fsum(numbers)
    assert abs(tiny.compensated(x).item() - exact) <= 2 * 2**-24 * exact * (1 + 200 * 2**-24)


def test_the_levels_lead_to_the_pairwise_sum():
    x = T.tensor([2048, 1, 1, 1, 1, 1, 1, 1], dtype=T.float16)
    found = tiny.levels(x)
    assert [len(level) for level in found] == [8, 4, 2, 1]
    assert found[-1][0].item() == tiny.pairwise(x).item() == 2054
    assert (tiny.naive(x).item(), tiny.compensated(x).item()) == (2048, 2056)


def test_the_library_halves_long_sums_as_the_small_program_does():
    x = T.rand(4 * 8192)
    blocks = T.stack([block.sum() for block in x.view(4, 8192)])
    assert x.sum().item() == tiny.pairwise(blocks).item()
