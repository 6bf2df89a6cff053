"""The numbers of chapter 14 in plain Python are those of the library."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/14-random/tiny_random.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_random", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


@given(st.integers(0, 2**32 - 1))
def test_uniform_numbers_are_those_of_rand_over_several_rounds(seed):
    drawn = T.rand(1300, generator=T.Generator().manual_seed(seed))
    assert drawn.tolist() == tiny.uniform(tiny.Words(seed), 1300)


@given(st.integers(0, 1000), st.integers(-50, 50), st.integers(1, 10**6))
def test_integers_are_those_of_randint(seed, low, width):
    drawn = T.randint(low, low + width, (9,), generator=T.Generator().manual_seed(seed))
    assert drawn.tolist() == tiny.integers(tiny.Words(seed), low, low + width, 9)


@given(st.integers(0, 1000), st.integers(0, 40))
def test_permutations_are_those_of_randperm(seed, n):
    drawn = T.randperm(n, generator=T.Generator().manual_seed(seed))
    assert drawn.tolist() == tiny.permutation(tiny.Words(seed), n)


@pytest.mark.parametrize("seed", range(20))
def test_a_block_of_normal_numbers_is_that_of_randn(seed):
    drawn = T.randn(16, generator=T.Generator().manual_seed(seed))
    assert drawn.tolist() == pytest.approx(tiny.normals(tiny.Words(seed)), abs=1e-6)
