"""The cache on paper of chapter 5, against the plainest account of one, and the orders that it is read in."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T

FOLDER = Path(__file__).resolve().parents[2] / "chapters/05-layout-and-caches"


def load(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


tiny, channels = load("tiny_cache"), load("channels")
sizes = st.integers(1, 9)


@given(
    st.lists(st.integers(0, 400), max_size=80),
    st.sampled_from([1, 2, 3, 4]),
    st.integers(1, 3),
    st.sampled_from([4, 16]),
)
def test_a_line_is_there_if_few_others_of_its_set_were_read_since(addresses, sets, ways, line):
    cache = tiny.Cache(sets, ways, line)
    hits = [cache.read(address) for address in addresses]
    numbers = [address // line for address in addresses]
    for now, number in enumerate(numbers):
        before = [k for k in range(now) if numbers[k] == number]
        since = (
            {n for n in numbers[before[-1] + 1 : now] if n % sets == number % sets}
            if before
            else ()
        )
        assert hits[now] == (bool(before) and len(since) < ways)
    assert cache.misses == hits.count(False)


@given(sizes, sizes, sizes)
def test_each_order_visits_every_element_once(rows, columns, side):
    everything = tiny.row_by_row(rows, columns)
    assert everything == [tuple(pair) for pair in T.ones(rows, columns).nonzero().tolist()]
    assert tiny.column_by_column(rows, columns) == sorted(everything, key=lambda pair: pair[::-1])
    blocks = tiny.block_by_block(rows, columns, side)
    assert len(blocks) == len(set(blocks))
    assert set(blocks) == set(everything)
    assert [(i // side, j // side) for i, j in blocks] == sorted(
        (i // side, j // side) for i, j in blocks
    )


@given(st.integers(1, 6))
def test_blocks_that_fit_miss_once_for_each_line(side):
    pairs = tiny.block_by_block(side * 3, side * 2, side)
    cache = tiny.Cache(sets=1, ways=side, line=4 * side)
    tiny.reads(cache, pairs, stride=side * 2)
    assert cache.misses == 3 * 2 * side


@pytest.mark.parametrize(
    ("order", "misses"), [("row_by_row", 4), ("column_by_column", 16), ("block_by_block", 4)]
)
def test_the_worked_trace(order, misses):
    sides = (4, 4, 2) if order == "block_by_block" else (4, 4)
    cache = tiny.Cache(sets=1, ways=2, line=16)
    hits = tiny.reads(cache, getattr(tiny, order)(*sides), stride=4)
    assert cache.misses == hits.count(False) == misses


def test_the_operations_on_images_do_not_depend_on_the_format():
    images = T.rand(2, 32, 6, 4)
    pixels = images.contiguous(memory_format=T.channels_last)
    for name, call in channels.operations(T).items():
        T.testing.assert_close(call(pixels), call(images), msg=name)
