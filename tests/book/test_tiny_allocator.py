"""The small allocator of chapter 2 decides as the library's does."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/02-storage/tiny_allocator.py"


@pytest.fixture(scope="module")
def tiny():
    specification = importlib.util.spec_from_file_location("tiny_allocator", PROGRAM)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def in_use():
    return T.memory_stats()["allocated_bytes"]


KIB, MIB = 2**10, 2**20
EDGES = [
    *(n + d for n in (1, 64, 1 * KIB, 256 * KIB, 2 * MIB, 16 * MIB) for d in (-1, 0, 1)),
    *(400_000, 1_200_000, 3_000_000, 20_000_000),
]


@pytest.mark.parametrize("nbytes", EDGES)
def test_a_block_is_as_large_as_the_librarys(tiny, nbytes):
    before = in_use()
    block = T.empty(nbytes, dtype=T.uint8)
    assert in_use() - before == tiny.block_size(nbytes)
    del block


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20), st.integers(1, 2000)), max_size=60))
def test_blocks_in_use_never_overlap(tiny, steps):
    allocator, blocks = tiny.Allocator(), []
    for is_release, which, nbytes in steps:
        if is_release and blocks:
            address, size = blocks.pop(which % len(blocks))
            allocator.release(address, size)
        else:
            blocks.append((allocator.allocate(nbytes), nbytes))
        assert allocator.in_use == sum(tiny.block_size(n) for _, n in blocks)
        ends = sorted((address, address + n) for address, n in blocks)
        assert all(ends[i][1] <= ends[i + 1][0] for i in range(len(ends) - 1))
