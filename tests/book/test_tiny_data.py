"""The small program of chapter 35: a loader that gives each sample once in an epoch."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T
from tensorlab.utils import data

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/35-data/tiny_data.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_data", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


@pytest.mark.parametrize("count", [1, 5, 12])
def test_each_index_comes_once_in_an_epoch(count):
    dataset = tiny.Digits(T.arange(count * 4.0).reshape(count, 2, 2), T.arange(count))
    loader, orders = tiny.Loader(dataset, 4, seed=1), []
    for _ in range(3):
        dataset.seen.clear()
        batches = list(loader)
        orders.append(tuple(dataset.seen))
        assert sorted(dataset.seen) == list(range(count))
        assert [len(y) for _, y in batches] == [4] * (count // 4) + [count % 4] * (count % 4 > 0)
        for x, y in batches:
            assert x.tolist() == [dataset.images[i].tolist() for i in y.tolist()]
    assert count < 5 or len(set(orders)) == 3


def test_a_seed_fixes_all_epochs():
    found = []
    for _ in range(2):
        loader = tiny.Loader(list(range(9)), 2, seed=4)
        found.append([[batch.tolist() for batch in loader] for _ in range(3)])
    assert found[0] == found[1]
    before = T.get_rng_state()
    list(tiny.Loader(list(range(9)), 2, seed=4))
    assert T.equal(before, T.get_rng_state())


def test_batches_are_those_of_the_library():
    for count in (0, 3, 8, 9):
        mine = list(tiny.in_batches(range(count), 4))
        assert mine == list(data.BatchSampler(range(count), 4, False))


@pytest.mark.parametrize(
    "samples", [[1, 2], [0.5, 1.5], [(T.ones(2), 3), (T.zeros(2), 4)], ["a", "b"]], ids=str
)
def test_collate_is_that_of_the_library(samples):
    mine, theirs = tiny.collate(samples), data.default_collate(samples)
    if isinstance(theirs, list) and not isinstance(theirs[0], str):
        assert all(T.equal(a, b) for a, b in zip(mine, theirs, strict=True))
    elif isinstance(theirs, T.Tensor):
        assert T.equal(mine, theirs.to(mine.dtype))
    else:
        assert mine == theirs
