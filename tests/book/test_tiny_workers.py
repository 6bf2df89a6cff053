"""Chapter 36: its small pool and its arithmetic do what the library's loader does."""

import importlib.util
import multiprocessing
from pathlib import Path

import pytest

from tensorlab.learn.exercise import load_chapter
from tensorlab.utils import data

FOLDER = Path(__file__).resolve().parents[2] / "chapters/36-workers"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_workers", FOLDER / "tiny_workers.py")
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"
)


# ---------------------------------------------------------------- the small pool
class Squares:
    def __getitem__(self, i):
        return i * i, multiprocessing.current_process().name


def wait_for_the_workers():
    for process in multiprocessing.active_children():
        process.join(20)  # None has told them to end
    assert multiprocessing.active_children() == []


@needs_fork
@pytest.mark.parametrize(("workers", "ahead"), [(1, 1), (2, 2), (3, 1)])
def test_batches_come_in_the_order_of_the_plan(workers, ahead):
    plan = [[3, 1], [0], [7, 7, 2], [5], [4]]
    found = list(tiny.batches_of(Squares(), plan, workers, ahead))
    assert [[value for value, _ in batch] for batch in found] == [
        [i * i for i in batch] for batch in plan
    ]
    names = [batch[0][1] for batch in found]
    assert len(set(names)) == workers
    assert names[workers:] == names[:-workers]
    wait_for_the_workers()


@needs_fork
def test_a_pool_stays_ahead_of_what_it_gives():
    given = multiprocessing.get_context("fork").Semaphore(0)
    asked = multiprocessing.get_context("fork").Value("i", 0)

    class Counting:
        def __getitem__(self, i):
            with asked.get_lock():
                asked.value += 1
            given.release()
            return i

    batches = tiny.batches_of(Counting(), [[i] for i in range(9)], workers=2, ahead=2)
    try:
        assert next(batches) == [0]
        # two lists ahead for each of two workers, and one more in the place of the first
        for _ in range(5):
            assert given.acquire(timeout=20)
        assert not given.acquire(timeout=0.2)
        assert asked.value == 5
    finally:
        rest = list(batches)
        wait_for_the_workers()
    assert rest == [[i] for i in range(1, 9)]


# ---------------------------------------------------------------- arithmetic
def test_the_schedule_of_the_text():
    loads = [1, 1, 1, 1, 5, 1]
    rows = tiny.schedule(loads, 2, workers=2, ahead=1)
    assert rows[4] == (4, 0, 5, 10, 9, 10, 12)
    assert rows[-1][-1] == 14
    assert tiny.schedule(loads, 2, workers=2, ahead=2)[-1][-1] == 13


@pytest.mark.parametrize(
    ("workers", "total"), [(1, 3 * 12 + 1), (2, 3 * 6 + 2), (3, 3 + 12), (8, 3 + 12)]
)
def test_the_slower_of_loading_and_training_sets_the_pace(workers, total):
    assert tiny.schedule([3] * 12, 1, workers, 2)[-1][-1] == total


@needs_fork
@pytest.mark.parametrize("ahead", [1, 2])
def test_a_live_loader_is_never_earlier_than_the_schedule(ahead):
    # no more can be asked of a machine that is busy
    loads, unit = [1, 1, 4, 1], 0.01
    loader = data.DataLoader(
        tiny.Waiting([load * unit for load in loads]),
        batch_size=None,
        num_workers=2,
        prefetch_factor=ahead,
    )
    rows = tiny.watch(loader, 2 * unit)
    planned = tiny.schedule(loads, 2, workers=2, ahead=ahead)
    assert [row[:2] for row in rows] == [row[:2] for row in planned]
    for row, plan in zip(rows, planned, strict=True):
        begun, loaded, asked, got, done = row[2:]
        assert loaded - begun >= loads[row[0]] * unit
        assert done - got >= 2 * unit
        assert got >= loaded
        assert got >= asked
        for now, then in zip((loaded, got, done), (plan[3], plan[5], plan[6]), strict=True):
            assert now >= then * unit


def test_without_workers_the_loop_loads_itself():
    rows = tiny.watch(data.DataLoader(tiny.Waiting([0.01, 0.01]), batch_size=None), 0.01)
    assert [row[:2] for row in rows] == [(0, 0), (1, 0)]
    assert all(
        asked <= begun < loaded <= got < done for _, _, begun, loaded, asked, got, done in rows
    )
    assert rows[0][2] == 0


# ---------------------------------------------------------------- exercise 36.1
class Numbers(data.IterableDataset):
    def __init__(self, count, is_shared):
        self.count, self.is_shared = count, is_shared

    def __iter__(self):
        info = data.get_worker_info()
        if info is None or not self.is_shared:
            return iter(range(self.count))
        return iter(range(info.id, self.count, info.num_workers))


@needs_fork
@pytest.mark.parametrize(
    ("count", "size", "workers"), [(10, 4, 0), (10, 4, 3), (7, 2, 4), (1, 1, 2)]
)
def test_the_solution_counts_the_batches_of_a_live_loader(count, size, workers):
    names = {}
    exec(load_chapter("36")["36.1"].solution, names)
    sets = {
        "indices": list(range(count)),
        "stream": Numbers(count, False),
        "shared": Numbers(count, True),
    }
    for kind, dataset in sets.items():
        live = len(list(data.DataLoader(dataset, size, num_workers=workers)))
        assert names["batches"](count, size, workers, kind) == live
