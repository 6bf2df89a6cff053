"""Chapter 13: its small pool does what the library's does, and its recorded run shows what its text says."""

import importlib.util
import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T

FOLDER = Path(__file__).resolve().parents[2] / "chapters/13-threads"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_pool", FOLDER / "tiny_pool.py")
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)
RECORDED = json.loads((FOLDER / "recorded.json").read_text(encoding="utf-8"))


# ---------------------------------------------------------------- the small pool


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_pieces_follow_one_another_and_long_ones_begin_at_a_multiple_of_64(count, n):
    begins = [tiny.boundary(count, n, i) for i in range(n + 1)]
    assert (begins[0], begins[-1]) == (0, count)
    assert begins == sorted(begins)
    if count // n >= 4096:
        assert all(begin % 64 == 0 for begin in begins[:-1])


@given(st.integers(0, 3000), st.integers(1, 5), st.integers(1, 4))
def test_every_index_is_in_one_range_and_ranges_are_those_of_the_boundaries(count, threads, pieces):
    ranges = []
    tiny.share_out(lambda begin, end: ranges.append((begin, end)), count, threads, pieces)
    n = threads * pieces
    expected = [(tiny.boundary(count, n, i), tiny.boundary(count, n, i + 1)) for i in range(n)]
    assert sorted(ranges) == expected


def test_the_small_pool_uses_its_threads():
    barrier = threading.Barrier(3, timeout=20)  # breaks unless three threads are inside
    tiny.share_out(lambda begin, end: barrier.wait(), 3, threads=3, pieces=1)


@given(
    st.lists(st.integers(1, 50), min_size=8, max_size=8),
    st.integers(0, 300),
    st.sampled_from([1, 2, 4]),
)
def test_a_late_thread_never_makes_a_job_slower_than_one_thread(numbers, late, threads):
    pieces = 8 // threads
    costs = [numbers[k * pieces : (k + 1) * pieces] for k in range(threads)]
    done = tiny.timeline(costs, [0] + [late] * (threads - 1))
    assert sorted(piece for _, piece, *_ in done) == list(range(8))
    assert max(end for *_, end in done) <= sum(numbers)


def test_the_timelines_of_the_text():
    costs = [[10] * 4, [10] * 4]
    ends = [max(end for *_, end in tiny.timeline(costs, [0, late])) for late in (0, 25, 100)]
    assert ends == [40, 55, 80]


# ---------------------------------------------------------------- the library


@pytest.fixture
def threads():
    before = T.get_num_threads()
    yield T.set_num_threads
    T.set_num_threads(before)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_sum_adds_one_part_for_each_thread_in_order(threads, count):
    x = T.randn(1_000_003)
    threads(1)
    parts = [x[len(x) * p // count : len(x) * (p + 1) // count].sum() for p in range(count)]
    others = parts[1]
    for part in parts[2:]:
        others = others + part
    threads(count)
    assert x.sum().item() == (parts[0] + others).item()


def test_a_dot_product_does_not_depend_on_threads(threads):
    x = T.randn(1_000_003)
    found = set()
    for count in (1, 2, 3, 5, 16):
        threads(count)
        found.add(T.dot(x, x).item())
    assert len(found) == 1


def test_counting_below_the_size_at_which_the_gil_is_let_go_loses_nothing():
    counts = T.zeros(1, dtype=T.int64)
    labels, ones = T.zeros(8000, dtype=T.int64), T.ones(8000, dtype=T.int64)

    def work():
        for _ in range(200):
            counts.index_add_(0, labels, ones)

    helpers = [threading.Thread(target=work) for _ in range(3)]
    for helper in helpers:
        helper.start()
    for helper in helpers:
        helper.join()
    assert counts.item() == 3 * 200 * 8000


# ---------------------------------------------------------------- what was recorded


def test_the_recorded_run_shows_what_the_text_says_of_it():
    cores = RECORDED["cores"]
    grain = RECORDED["grain"]
    at = grain["sizes"].index(16_384)
    busy, paused = (
        grain[f"2 {kind}"][at][0] - grain[f"1 {kind}"][at][0] / 2 for kind in ("busy", "paused")
    )
    alone = grain["1 busy"][at][0] / 16_384
    assert paused > 5 * busy
    assert 2 * busy / alone < 16_384 < 2 * paused / alone
    many, one = RECORDED["pools"][str(cores)], RECORDED["pools"]["1"]
    assert many[2][1] > 2 * many[20][1]
    assert max(q[1] for q in one) < 2 * min(q[1] for q in one)
    speedups = RECORDED["speedups"]
    last = speedups["counts"].index(cores)
    gains = []
    for name in ("batch 4", "batch 64", "batch 1024", "control"):
        one, two, most = (speedups[name][k][1] for k in (0, 1, last))
        gains.append(one / most)
        if name == "batch 1024":
            serial = 2 * two / one - 1
            assert gains[-1] == pytest.approx(1 / (serial + (1 - serial) / cores), rel=0.15)
    assert gains == sorted(gains)
    assert gains[-1] < cores
    sharing = RECORDED["sharing"]
    assert sharing["128"][1] < 1.9 * sharing["alone"][1]
    assert sharing["8"][1] > max(2.5 * sharing["128"][1], 2 * sharing["alone"][1])
    assert sharing["kept"] < 0.9
    threads = RECORDED["python_threads"]
    for size, low, high in (("1000", 0.5, 1.3), ("8000", 0.5, 1.3), ("300000", 0.7 * cores, cores)):
        assert low < threads[size][0][0] / threads[size][-1][0] < high
    libraries = RECORDED["libraries"]
    assert libraries["exp"] == libraries["rows"] == [1, 1]
    assert libraries["dots"][0] == 1 < libraries["dots"][1]
    assert libraries["kept small"][0] == 1 > libraries["kept small"][1]
