"""Loaders with workers: PyTorch's batches and random numbers, and what happens when a worker fails."""

import errno
import gc
import itertools
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import weakref
from contextlib import suppress
from multiprocessing import forkserver, resource_tracker

import numpy as np
import pytest

import tensorlab
from tensorlab.utils import data
from tests.cases import by_day
from tests.oracle import require_torch

pytestmark = [
    pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"),
    # PyTorch's opinion on how many this machine should have
    pytest.mark.filterwarnings("ignore:This DataLoader will create .* worker processes"),
]

# Whatever has to happen at once happens within so many seconds, even on a machine that is busy with other
# tests; what hangs here would do so for HANG.
SOON, HANG = 15, 60


def open_files():
    """Return what each descriptor of this process is open for."""
    found = {}
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(OSError):  # the one of listdir itself
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


@pytest.fixture(autouse=True)
def nothing_is_left():
    resource_tracker.ensure_running()  # both keep a pipe once they have been started
    forkserver.ensure_running()
    gc.collect()  # what earlier tests left must not count for this one
    tensorlab.empty_cache()  # and each worker would get a copy of it
    before = open_files()
    yield

    def left():
        gc.collect()
        more = {n: what for n, what in open_files().items() if before.get(n) != what}
        return multiprocessing.active_children(), more if len(open_files()) > len(before) else {}

    end = time.monotonic() + SOON  # PyTorch's queues keep their pipes for a moment
    while any(left()) and time.monotonic() < end:
        time.sleep(0.01)
    assert left() == ([], {})


def numbers(T, size=23):
    """A data set whose samples hold random numbers of all three kinds."""

    class Numbers(T.utils.data.Dataset):
        def __len__(self):
            return size

        def __getitem__(self, i):
            return i, T.rand(30, 40), random.random(), np.random.rand(2)  # noqa: NPY002

    return Numbers()


def stream(T, sizes):
    class Stream(T.utils.data.IterableDataset):
        def __iter__(self):
            info = T.utils.data.get_worker_info()
            return iter([100 * info.id + i for i in range(sizes[info.id])])

    return Stream()


def passes(T, make, count=2, **options):
    T.manual_seed(5)
    loader = T.utils.data.DataLoader(make(T), **options)
    return [[plain(batch) for batch in loader] for _ in range(count)]


def plain(batch):
    if isinstance(batch, (list, tuple)):
        return [plain(part) for part in batch]
    return batch.tolist() if hasattr(batch, "tolist") else batch


class Squares(data.Dataset):
    """At the top level, so that other start methods can pickle it."""

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return tensorlab.full((3,), i * i)


# ---------------------------------------------------------------- the same as PyTorch
@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 1},
        {"num_workers": 2, "shuffle": True},
        {"num_workers": 3, "batch_size": 4, "shuffle": True, "prefetch_factor": 1},
        {"num_workers": 3, "batch_size": 4, "drop_last": True, "persistent_workers": True},
        {"num_workers": 2, "batch_size": None, "shuffle": True},
        {"num_workers": 2, "batch_sampler": [[1, 2], [3], [0, 5, 6]]},
    ],
    ids=str,
)
def test_batches_and_random_numbers_are_pytorchs(options):
    assert passes(tensorlab, numbers, **options) == passes(require_torch(), numbers, **options)


STREAMS = itertools.product(
    [(4, 4), (5, 2, 3), (0, 3), (1, 0)],
    [{}, {"batch_size": 2, "drop_last": True}, {"batch_size": None}],
    [False, True],
)


# By day each size and each option is tried once or twice.
@pytest.mark.parametrize("case", by_day(STREAMS, every=5), ids=str)
def test_streams_are_read_as_in_pytorch(case):
    sizes, more, kept = case
    # one batch at a time: with more in advance PyTorch's order depends on which worker is quicker
    options = {"num_workers": len(sizes), "prefetch_factor": 1, "persistent_workers": kept, **more}
    ours = passes(tensorlab, lambda T: stream(T, sizes), **options)
    theirs = passes(require_torch(), lambda T: stream(T, sizes), **options)
    assert [sorted(p, key=str) for p in ours] == [sorted(p, key=str) for p in theirs]


def test_the_seeds_of_numpy_are_pytorchs():
    torch = require_torch()
    state = torch.utils.data._utils.worker._generate_state
    for seed, worker in ((2**62 + 12345, 0), (17, 3)):
        words = [worker, seed & 0xFFFFFFFF, seed >> 32, 0]
        assert np.random.SeedSequence(words).generate_state(4).tolist() == state(seed, worker)


def test_workers_do_not_import_numpys_random_numbers_each_for_itself():
    program = """if True:
        import sys
        from tensorlab.utils import data
        loader = data.DataLoader(range(1), num_workers=1, multiprocessing_context="fork")
        list(loader)
        print("numpy.random" in sys.modules)
    """
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "True\n"


def test_a_worker_knows_itself():
    def look(samples):
        info = data.get_worker_info()
        return info.id, info.num_workers, info.seed, len(info.dataset), tensorlab.get_num_threads()

    seen = list(data.DataLoader(range(4), num_workers=2, collate_fn=look))
    assert [part[:2] for part in seen] == [(0, 2), (1, 2)] * 2
    assert seen[1][2] == seen[0][2] + 1
    assert {part[3:] for part in seen} == {(4, 1)}
    assert data.get_worker_info() is None


def test_each_worker_calls_the_function_given_with_its_number():
    def start(number):
        data.get_worker_info().dataset.mark = number

    class Marked(Squares):
        mark = None

    loader = data.DataLoader(
        Marked(),
        num_workers=2,
        worker_init_fn=start,
        collate_fn=lambda _: data.get_worker_info().dataset.mark,
    )
    assert list(loader) == [0, 1] * 5


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_start_methods_give_the_same(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    loader = data.DataLoader(Squares(), 4, num_workers=1, multiprocessing_context=method)
    assert [batch[:, 0].tolist() for batch in loader] == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]


def test_systems_without_poll_give_the_same(monkeypatch):
    monkeypatch.delattr("select.poll")
    loader = data.DataLoader(Squares(), 4, num_workers=2)
    assert [batch[:, 0].tolist() for batch in loader] == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]


def test_without_order_a_quick_worker_is_heard_first():
    second_is_here = multiprocessing.get_context("fork").Event()

    def wait(samples):
        if samples == [0]:
            second_is_here.wait(HANG)
        return samples[0]

    batches = iter(data.DataLoader(range(4), num_workers=2, collate_fn=wait, in_order=False))
    first = next(batches)
    second_is_here.set()
    assert first == 1
    assert sorted([first, *batches]) == [0, 1, 2, 3]


# ---------------------------------------------------------------- the way of a batch
@pytest.mark.parametrize("size", [10, 100_000])
def test_batches_arrive_whole(size):
    """Small ones through the pipe, large ones in a segment."""

    def batch(samples):
        x = tensorlab.arange(size, dtype=tensorlab.float64)
        return {
            "x": x,
            "same": x,
            "half": x.to(tensorlab.bfloat16)[::2],
            "array": np.arange(size, dtype=np.int16),
            "leaf": tensorlab.ones(size, requires_grad=True),
            "none": tensorlab.zeros(0, 3),
            "meta": tensorlab.empty(7, device="meta"),
            "text": "a" * size,
        }

    here = batch(None)
    for there in data.DataLoader(range(3), num_workers=1, collate_fn=batch):
        assert tensorlab.equal(there["x"], here["x"])
        assert tensorlab.equal(there["half"], here["half"])
        assert (there["array"] == here["array"]).all()
        assert there["leaf"].requires_grad
        assert there["none"].shape == (0, 3)
        assert there["meta"].device.type == "meta"
        assert there["text"] == here["text"]
        there["x"][0] = -1  # both see the same memory, and it may be written
        assert there["same"][0] == -1
        there["array"][1] = 5


def test_a_batch_is_copied_once_and_its_own_memory_stays_where_it_is():
    made = []  # of the batches before, in the worker

    def batch(samples):
        was_moved = any(one.is_shared() for one in made)
        made.append(tensorlab.ones(9000))
        return made[-1], was_moved

    assert [moved for _, moved in data.DataLoader(range(3), num_workers=1, collate_fn=batch)] == (
        [False] * 3
    )


def test_a_batch_that_was_sent_is_freed_without_a_collection():
    arrays = []

    def batch(samples):
        tensors = tensorlab.memory_stats()["allocated_bytes"]
        living = sum(array() is not None for array in arrays)
        array = np.ones(9000)
        arrays.append(weakref.ref(array))
        return tensors, living, tensorlab.ones(9000), array

    loader = data.DataLoader(
        range(5), num_workers=1, worker_init_fn=lambda _: gc.disable(), collate_fn=batch
    )
    tensors, living, *_ = zip(*loader, strict=True)
    assert max(tensors) - min(tensors) < 9000
    assert living == (0,) * 5


def test_segments_are_used_again_and_kept_batches_keep_their_values():
    loader = data.DataLoader(
        range(300), num_workers=1, collate_fn=lambda samples: tensorlab.full((9000,), samples[0])
    )
    batches = iter(loader)
    first = next(batches)
    last = list(batches)[-1]
    receiver_count = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert first[0] == 0
    assert last[-1] == 299
    kept = list(loader)  # more than there may be descriptors for
    assert [x[5].item() for x in kept] == list(range(300))
    assert receiver_count < 100


def test_segments_in_use_are_few():
    loader = data.DataLoader(
        range(50), num_workers=1, persistent_workers=True, collate_fn=lambda s: tensorlab.ones(9000)
    )
    batches = iter(loader)
    for batch in batches:
        del batch
    assert 1 <= len(batches.workers[0].receiver.segments) <= 4
    assert not batches.workers[0].receiver.held
    batches.close()


def test_of_a_large_table_only_the_row_travels():
    table = tensorlab.arange(1_000_000.0).reshape(10, -1)
    loader = data.DataLoader(table, batch_size=None, num_workers=1)
    rows = list(loader)
    assert all(tensorlab.equal(row, table[i]) for i, row in enumerate(rows))
    assert len(rows[3].untyped_storage()) < 600_000


@pytest.mark.parametrize("part", [slice(None), slice(1)])
def test_a_tensor_with_a_graph_is_refused(part):
    weight = tensorlab.ones(2, requires_grad=True)
    collate = lambda samples: (weight * 2)[part]
    loader = data.DataLoader(range(2), num_workers=1, collate_fn=collate)
    with pytest.raises(RuntimeError, match=r"its graph stays here; detach\(\)"):
        next(iter(loader))


# ---------------------------------------------------------------- failures
class Failing(data.Dataset):
    def __init__(self, act, at=5, size=8):
        self.act, self.at, self.size = act, at, size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        if i == self.at:
            self.act()
        return i


def fail(error):
    raise error


class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ValueError("no picture"), ValueError),
        (KeyError("name"), KeyError),
        (StopIteration(), RuntimeError),
        (Odd(1, 2), RuntimeError),
    ],
)
def test_what_a_sample_raises_is_raised_here_and_the_loop_can_go_on(error, shown):
    loader = data.DataLoader(Failing(lambda: fail(error)), 2, num_workers=2)
    batches = iter(loader)
    assert [next(batches).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(shown) as caught:
        batches.deliver(batches.next_number())
    text = str(caught.value)
    assert (
        f"Caught {type(error).__name__} in DataLoader worker process 0 (batch 2, indices [4, 5])"
        in text
    )
    assert text.count("Traceback") == 1
    assert "in __getitem__" in text
    assert "\n" in text
    assert next(batches).tolist() == [6, 7]
    with pytest.raises(StopIteration):
        next(batches)


@pytest.mark.fault
def test_a_function_that_fails_to_start_a_worker_is_reported():
    loader = data.DataLoader(range(4), num_workers=1, worker_init_fn=lambda n: fail(OSError("x")))
    with pytest.raises(OSError, match=r"worker process 0 \(batch 0, indices \[0\]\)"):
        next(iter(loader))


@pytest.mark.fault
def test_a_worker_that_is_killed_is_named():
    loader = data.DataLoader(
        Failing(lambda: os.kill(os.getpid(), signal.SIGKILL)), 2, num_workers=2
    )
    batches = iter(loader)
    pid = batches.workers[0].process.pid
    start = time.monotonic()
    with pytest.raises(
        RuntimeError,
        match=rf"worker \(pid\(s\) {pid}\) exited unexpectedly: worker 0 ended killed by SIGKILL .*"
        r"batch 2, indices \[4, 5\]",
    ):
        list(batches)
    assert time.monotonic() - start < SOON
    assert batches.workers == []
    with pytest.raises(StopIteration):
        next(batches)


@pytest.mark.fault
def test_a_worker_that_exits_is_named():
    with pytest.raises(RuntimeError, match="worker 1 ended with exit code 3, while .* batch 5"):
        list(data.DataLoader(Failing(lambda: os._exit(3)), num_workers=2))


class Slow(Failing):
    """One sample takes its time."""

    def __init__(self, act, at, slow, seconds):
        super().__init__(act, at)
        self.slow, self.seconds = slow, seconds

    def __getitem__(self, i):
        if i == self.slow:
            time.sleep(self.seconds)
        return super().__getitem__(i)


@pytest.mark.fault
def test_of_a_worker_that_is_ahead_the_batch_is_named_at_which_it_ended():
    """Its batch 3 has arrived, and waits for batch 2 of the other worker."""
    start = time.monotonic()
    loader = data.DataLoader(Slow(lambda: os._exit(3), 5, 2, HANG), num_workers=2)
    with pytest.raises(RuntimeError, match="worker 1 ended with exit code 3, while .* batch 5"):
        list(loader)
    assert time.monotonic() - start < SOON


@pytest.mark.fault
def test_a_worker_may_end_after_its_last_batch():
    batches = iter(data.DataLoader(Slow(None, None, 6, 1), num_workers=2))
    for _ in range(6):
        next(batches)
    while 7 not in batches.arrived:
        batches.receive()
    batches.workers[1].process.kill()
    batches.workers[1].process.join()
    assert 6 not in batches.arrived
    assert list(batches) == [6, 7]


@pytest.mark.fault
def test_a_worker_that_hangs_is_named_after_the_timeout():
    start = time.monotonic()
    loader = data.DataLoader(Failing(lambda: time.sleep(HANG)), num_workers=2, timeout=2)
    batches = iter(loader)
    with pytest.raises(RuntimeError, match=r"timed out after 2 seconds: worker 1 .*batch 5"):
        list(batches)
    assert 2 <= time.monotonic() - start < SOON
    assert batches.workers == []


@pytest.mark.fault
def test_a_batch_without_memory_is_an_error():
    import resource

    def limit(number):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    loader = data.DataLoader(
        range(2),
        num_workers=1,
        worker_init_fn=limit,
        collate_fn=lambda samples: tensorlab.zeros(1_000_000),
    )
    with pytest.raises(OSError, match="worker process 0"):
        next(iter(loader))


@pytest.mark.fault
@pytest.mark.parametrize("kept", [False, True])
def test_a_loop_that_is_left_leaves_no_process(kept):
    loader = data.DataLoader(Squares(), num_workers=2, persistent_workers=kept)
    for _batch in loader:
        break
    if kept:  # the next pass begins anew, whatever was on its way
        assert [batch[0, 0].item() for batch in loader] == [i * i for i in range(10)]
        workers = [worker.process.pid for worker in loader._iterator.workers]
        list(loader)
        assert [worker.process.pid for worker in loader._iterator.workers] == workers


@pytest.mark.fault
def test_a_copy_of_the_loader_in_a_forked_child_leaves_the_workers_alone():
    batches = iter(data.DataLoader(Squares(), num_workers=1))
    next(batches)
    child = multiprocessing.get_context("fork").Process(target=batches.close)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert len(list(batches)) == 9


@pytest.mark.fault
def test_a_busy_worker_is_not_waited_for_long():
    loader = data.DataLoader(Failing(lambda: time.sleep(HANG), at=2), num_workers=1)
    batches = iter(loader)
    next(batches)
    next(batches)
    start = time.monotonic()
    del batches
    gc.collect()
    assert time.monotonic() - start < SOON


# ---------------------------------------------------------------- stopped workers
def stop(batches):
    process = batches.workers[0].process
    os.kill(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


@pytest.mark.fault
def test_a_stopped_worker_with_a_full_pipe_is_not_waited_for():
    batches = iter(data.DataLoader(range(4), num_workers=1))
    next(batches)
    stop(batches)
    pipe = batches.workers[0].connection.fileno()
    os.set_blocking(pipe, False)
    with suppress(BlockingIOError):
        while True:
            os.write(pipe, bytes(1))
    os.set_blocking(pipe, True)
    start = time.monotonic()
    batches.close()
    assert time.monotonic() - start < SOON


@pytest.mark.fault
@pytest.mark.parametrize("size", [1_000_000, 1000])
def test_a_stopped_worker_that_takes_no_task_is_named(size):
    """At the first large task the pipe is full; of small ones it can take many, and they are not done."""
    plan = [[0] * size for _ in range(9)]
    loader = data.DataLoader(
        range(1), batch_sampler=plan, num_workers=1, prefetch_factor=3, timeout=2, collate_fn=len
    )
    batches = iter(loader)
    assert next(batches) == size
    assert batches.workers[0].connection.poll(SOON)  # so a batch is delivered, and a task is sent
    stop(batches)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out after 2 seconds: worker 0 .* batch "):
        list(batches)
    assert time.monotonic() - start < SOON
    assert batches.workers == []


def in_the_middle_of_a_message(monkeypatch, **options):
    """Return a pass whose only worker has written a part of its batch."""
    monkeypatch.setattr("tensorlab.utils.data.segments.CAN_SHARE", False)
    loader = data.DataLoader(
        range(1), num_workers=1, collate_fn=lambda _: tensorlab.ones(1_000_000), **options
    )
    batches = iter(loader)
    assert batches.workers[0].connection.poll(SOON)
    return batches  # the pipe holds less than the batch, so the worker can't have finished


@pytest.mark.fault
def test_a_worker_that_is_stopped_in_the_middle_of_a_message_is_named(monkeypatch):
    batches = in_the_middle_of_a_message(monkeypatch, timeout=2)
    stop(batches)
    with pytest.raises(RuntimeError, match="timed out after 2 seconds: worker 0 .* batch 0"):
        next(batches)


@pytest.mark.fault
def test_a_worker_that_is_killed_in_the_middle_of_a_message_is_named(monkeypatch):
    batches = in_the_middle_of_a_message(monkeypatch)
    batches.workers[0].process.kill()
    with pytest.raises(RuntimeError, match="worker 0 ended killed by SIGKILL .* batch 0"):
        next(batches)


def test_a_loader_without_descriptors_says_so(monkeypatch):
    loader = data.DataLoader(
        range(3), num_workers=1, collate_fn=lambda _: tensorlab.ones(1_000_000)
    )
    batches = iter(loader)

    def refuse(connection):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("multiprocessing.reduction.recv_handle", refuse)
    with pytest.raises(OSError, match="Too many open files"):
        next(batches)
    batches.close()


PROGRAM = r"""
import os, sys, time
import tensorlab
class Slow(tensorlab.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i):
        os.write(1, b"%d\n" % os.getpid())
        time.sleep(60)
if __name__ == "__main__":
    next(iter(tensorlab.utils.data.DataLoader(Slow(), num_workers=2)))
"""


@pytest.mark.fault
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_program(how):
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    workers = [int(program.stdout.readline()) for _ in range(2)]
    time.sleep(0.1)
    program.send_signal(how)
    start = time.monotonic()
    while any(is_running(pid) for pid in workers) and time.monotonic() < start + SOON:
        time.sleep(0.02)
    assert not any(is_running(pid) for pid in workers)
    _, errors = program.communicate(timeout=SOON)
    assert errors.count("Traceback") == (1 if how == signal.SIGINT else 0)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.fault
def test_workers_can_be_forked_after_threads_have_run():
    x = tensorlab.ones(400, 400)
    x @ x
    tensorlab.exp(tensorlab.ones(2_000_000)).sum()
    loader = data.DataLoader(
        range(4), num_workers=2, collate_fn=lambda samples: (x @ x).exp().isinf().sum()
    )
    assert [total.item() for total in loader] == [160_000] * 4


@pytest.mark.fault
def test_a_local_function_can_not_be_spawned():
    loader = data.DataLoader(
        Squares(), num_workers=1, collate_fn=lambda samples: 0, multiprocessing_context="spawn"
    )
    with pytest.raises((AttributeError, pickle.PicklingError)) as caught:
        iter(loader)
    assert "define them at the top level of a module" in caught.value.__notes__[0]


# ---------------------------------------------------------------- options
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"timeout": -1}, ValueError, "timeout is -1; expected seconds, from 0 up"),
        ({"prefetch_factor": 0}, ValueError, "prefetch_factor is 0; expected a positive integer"),
        ({"multiprocessing_context": "thread"}, ValueError, "'thread'; expected one of"),
        ({"multiprocessing_context": 3}, TypeError, "is 3; expected a context"),
    ],
)
def test_options_of_workers_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        data.DataLoader(range(3), num_workers=1, **options)


def test_a_loader_has_the_settings_of_pytorchs():
    ours = data.DataLoader(range(3), num_workers=2)
    theirs = require_torch().utils.data.DataLoader(range(3), num_workers=2)
    for name in (
        "prefetch_factor",
        "persistent_workers",
        "in_order",
        "timeout",
        "pin_memory_device",
    ):
        assert getattr(ours, name) == getattr(theirs, name)
    assert data.DataLoader(range(3)).prefetch_factor is None


def test_a_loader_whose_workers_stay_can_be_pickled():
    loader = data.DataLoader(Squares(), num_workers=1, persistent_workers=True)
    list(loader)
    copy = pickle.loads(pickle.dumps(loader))
    assert copy._iterator is None
    loader._iterator.close()


def test_workers_that_stay_end_with_their_loader_at_once():
    loaders = [data.DataLoader(Squares(), num_workers=1, persistent_workers=True) for _ in range(2)]
    for loader in loaders:
        assert len(list(loader)) == 10
    first, second = (loader._iterator.workers[0].process for loader in loaders)
    gc.disable()  # the loader must not need the collector
    try:
        del loader, loaders[0]
        assert not first.is_alive()
        # not killed after GRACE: it was told, though the second worker has a copy of its pipe
        assert first.exitcode == 0
        assert second.is_alive()
    finally:
        gc.enable()


def test_an_iterator_knows_its_length_without_the_loader():
    batches = iter(data.DataLoader(Squares(), 4, num_workers=1))
    assert len(batches) == 3


def test_a_sample_may_raise_broken_pipe():
    loader = data.DataLoader(Failing(lambda: fail(BrokenPipeError("server")), at=0), num_workers=1)
    with pytest.raises(BrokenPipeError, match="Original Traceback(.|\n)*server"):
        next(iter(loader))


def test_what_can_not_be_pickled_is_reported():
    loader = data.DataLoader(range(2), num_workers=1, collate_fn=lambda samples: lambda: 0)
    with pytest.raises(
        (AttributeError, pickle.PicklingError), match="in DataLoader worker process 0"
    ):
        next(iter(loader))
