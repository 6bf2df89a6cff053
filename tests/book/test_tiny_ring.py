"""Chapter 52: its ways to add over all ranks give the sum, and send as many bytes as its text says."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T
from tensorlab import distributed as dist

FOLDER = Path(__file__).resolve().parents[2] / "chapters/52-collectives"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_ring", FOLDER / "tiny_ring.py")
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


@pytest.mark.parametrize("way", [tiny.ring, tiny.through_rank_0])
@pytest.mark.parametrize(("ranks", "n"), [(1, 3), (2, 4), (3, 7), (4, 8), (5, 2)])
def test_each_way_gives_the_sum_on_all_ranks(way, ranks, n):
    def program(rank):
        x = T.arange(float(n)) * 10**rank
        way(x)
        return x.tolist()

    expected = (T.arange(float(n)) * sum(10**rank for rank in range(ranks))).tolist()
    assert dist.threads.spawn(program, nprocs=ranks) == [expected] * ranks


def test_the_ring_sends_less_than_two_tensors():
    def program(rank, way):
        way(T.zeros(1000))
        return tiny.bytes_sent()

    assert dist.threads.spawn(program, (tiny.ring,), 4) == [2 * 3 * 1000] * 4
    assert dist.threads.spawn(program, (tiny.through_rank_0,), 4) == [12000, 4000, 4000, 4000]


def test_watch_sees_each_step():
    def program(rank):
        seen = []
        tiny.ring(T.ones(4), lambda step, x: seen.append((step, x.sum().item())))
        return [step for step, _ in seen], seen[-1][1]

    assert dist.threads.spawn(program, nprocs=4)[2] == (list(range(7)), 16.0)
