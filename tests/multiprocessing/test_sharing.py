"""Tensors in shared memory: moved in place, sent to processes, seen on both sides."""

import errno
import gc
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
import weakref
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import tensorlab
from tensorlab import multiprocessing as mp
from tensorlab import nn
from tensorlab._core.interop import memory_file
from tests.oracle import require_torch

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs descriptors that can be sent")

DTYPES = [
    tensorlab.bool,
    tensorlab.uint8,
    tensorlab.int64,
    tensorlab.bfloat16,
    tensorlab.float16,
    tensorlab.float32,
    tensorlab.float64,
]
LONG = 60  # seconds: more than any machine needs


# ---------------------------------------------------------------- in place
@pytest.mark.parametrize("size", [1, 1000, 100_000, 3_000_000])
def test_values_and_views_move_along(size):
    x = tensorlab.arange(float(size))
    part, row = x[size // 2 :], x.view(1, -1)
    before = x.data_ptr()
    assert not x.is_shared()
    assert part.share_memory_() is part
    assert x.is_shared()
    assert row.is_shared()
    assert x.data_ptr() != before
    assert part.data_ptr() == x.data_ptr() + 4 * (size // 2)
    assert tensorlab.equal(x, tensorlab.arange(float(size)))
    x[-1] = -7
    assert part[-1] == -7
    assert row[0, -1] == -7


def test_it_is_pytorchs():
    torch = require_torch()
    for T in (tensorlab, torch):
        x = T.ones(3, 4)
        view = x.t()[1:]
        x.share_memory_()
        where = x.data_ptr()
        assert x.share_memory_().data_ptr() == where
        assert (x._version, view.is_shared(), x.clone().is_shared()) == (0, True, False)
        assert T.empty(0).share_memory_().is_shared()
        assert not T.empty(2, device="meta").is_shared()
        with pytest.raises(RuntimeError):
            T.empty(2, device="meta").share_memory_()
        assert x.detach().is_shared()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype):
    x = tensorlab.arange(5).to(dtype)
    assert tensorlab.equal(x.clone().share_memory_(), x)


def test_values_that_a_graph_keeps_move_along():
    w = tensorlab.tensor([2.0, 3.0], requires_grad=True)
    y = (w * w).exp()
    kept = y.grad_fn
    y.detach().share_memory_()
    w.detach().share_memory_()
    y.sum().backward()
    del kept
    expected = tensorlab.tensor([2.0, 3.0]).pow(2).exp() * 2 * tensorlab.tensor([2.0, 3.0])
    tensorlab.testing.assert_close(w.grad, expected)


def descriptors():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def test_the_old_memory_is_freed_at_once_and_the_new_one_in_the_end():
    gc.collect()
    before, files = tensorlab.memory_stats()["allocated_bytes"], descriptors()
    x = tensorlab.ones(1_000_000)
    assert tensorlab.memory_stats()["allocated_bytes"] >= before + 4_000_000
    x.share_memory_()
    assert tensorlab.memory_stats()["allocated_bytes"] < before + 4_000_000
    del x
    assert descriptors() == files


def test_memory_of_numpy_is_copied():
    array = np.arange(4.0)
    x = tensorlab.from_numpy(array).share_memory_()
    x[0] = 9
    assert x.tolist() == [9, 1, 2, 3]
    assert array[0] == 0
    watch = weakref.ref(array)
    del array
    assert watch() is None


def test_read_only_memory_becomes_writable():
    array = np.arange(4.0)
    array.flags.writeable = False
    x = tensorlab.from_numpy(array).share_memory_()
    x += 1
    assert x.tolist() == [1, 2, 3, 4]


def test_memory_that_an_array_looks_at_stays():
    x = tensorlab.ones(3)
    array = x.numpy()
    with pytest.raises(RuntimeError, match=r"1 array\(s\) or buffer\(s\) outside tensorlab"):
        x.share_memory_()
    assert not x.is_shared()
    array[0] = 5
    assert x[0] == 5
    del array
    assert x.share_memory_().tolist() == [5, 1, 1]


def test_a_lazy_clone_stays_a_clone():
    x = tensorlab.ones(3)
    y = x._lazy_clone()
    y.share_memory_()
    y[0] = 2
    assert (x.tolist(), y.tolist()) == ([1, 1, 1], [2, 1, 1])
    z = tensorlab.ones(3)
    clone = z._lazy_clone()
    z.share_memory_().add_(1)
    assert (z.tolist(), clone.tolist()) == ([2, 2, 2], [1, 1, 1])


def test_shared_memory_has_one_size():
    x = tensorlab.ones(3).share_memory_()
    with pytest.raises(RuntimeError, match="cannot be resized"):
        x.resize_(10_000)


def test_without_memory_nothing_changes():
    resource = pytest.importorskip("resource")
    x = tensorlab.ones(2)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            x.share_memory_()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not x.is_shared()
    assert x.tolist() == [1, 1]


def test_a_module_moves_with_its_gradients_and_buffers():
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    model(tensorlab.randn(4, 3)).sum().backward()
    weight = model[0].weight
    assert model.share_memory() is model
    assert model[0].weight is weight
    for tensor in (*model.parameters(), *model.buffers(), weight.grad):
        assert tensor.is_shared()
    before = weight.detach().clone()
    tensorlab.optim.SGD(model.parameters(), lr=1.0).step()
    tensorlab.testing.assert_close(weight.detach(), before - weight.grad)
    assert weight.is_shared()


def test_the_state_of_adagrad_can_be_shared():
    weight = nn.Parameter(tensorlab.ones(3))
    optimizer = tensorlab.optim.Adagrad([weight])
    optimizer.share_memory()
    assert optimizer.state[weight]["sum"].is_shared()


# ---------------------------------------------------------------- other processes
def add_one(x, *_):
    x += 1


def double_what_comes(inbox, outbox):
    while (x := inbox.get()) is not None:
        x *= 2
        outbox.put(x)
        inbox.get()  # until the other side has it
    outbox.close()


@pytest.mark.parametrize("method", mp.get_all_start_methods())
def test_an_argument_is_the_same_memory(method):
    model = nn.Linear(2, 3).share_memory()
    x = tensorlab.zeros(3)
    x.share_memory_()
    before = model.weight.detach().clone()
    process = mp.get_context(method).Process(target=train_a_step, args=(model, x))
    process.start()
    process.join(LONG)
    assert process.exitcode == 0
    assert x.tolist() == [1, 1, 1]
    tensorlab.testing.assert_close(model.weight.detach(), before + 1)


def train_a_step(model, x):
    with tensorlab.no_grad():
        model.weight += 1
    x += 1


def test_a_queue_sends_memory_and_not_values():
    context = mp.get_context("fork")
    there, back = context.Queue(), context.Queue()
    process = context.Process(target=double_what_comes, args=(there, back), daemon=True)
    process.start()
    x = tensorlab.arange(6.0).view(2, 3)
    part = x[:, 1:]
    there.put(part)
    y = back.get(timeout=LONG)
    there.put("received")
    there.put(None)
    assert x.tolist() == [[0, 2, 4], [3, 8, 10]]
    assert y.tolist() == part.tolist()
    assert (y.stride(), y.storage_offset()) == (part.stride(), part.storage_offset())
    y[0, 0] = -1
    assert x[0, 1] == -1
    process.join(LONG)
    assert process.exitcode == 0
    for queue in (there, back):
        queue.close()
        queue.join_thread()


def test_a_pipe_and_pythons_own_module_send_memory_too():
    ours, theirs = multiprocessing.Pipe()
    x = tensorlab.zeros(2, requires_grad=True)
    shared = tensorlab.ones(5)
    ours.send({"x": x, "both": [shared, shared[1:]], "p": nn.Parameter(tensorlab.ones(1))})
    got = theirs.recv()
    assert got["x"].requires_grad
    assert isinstance(got["p"], nn.Parameter)
    got["both"][1][0] = 4
    assert got["both"][0][1] == 4
    assert shared[1] == 4
    ours.close()
    theirs.close()


def test_a_storage_that_is_sent_twice_is_mapped_once():
    x = tensorlab.ones(5)
    first, second = (pickle.loads(bytes(ForkingPickler.dumps(x))) for _ in range(2))
    assert first.data_ptr() == second.data_ptr() == x.data_ptr()
    del x, first
    gc.collect()
    second += 1
    assert second.tolist() == [2] * 5


def test_tensors_without_memory_are_sent():
    for x in (tensorlab.empty(0, 3), tensorlab.empty(4, device="meta")):
        y = pickle.loads(bytes(ForkingPickler.dumps(x)))
        assert (y.shape, y.device) == (x.shape, x.device)


def test_a_result_of_others_is_refused():
    y = tensorlab.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match=r"can't be sent to another process.*detach\(\)"):
        ForkingPickler.dumps(y)
    ForkingPickler.dumps(y.detach())
    with tensorlab.no_grad():
        ForkingPickler.dumps(tensorlab.ones(2, requires_grad=True) * 2)


def test_an_ordinary_pickle_still_copies():
    x = tensorlab.ones(3)
    copy = pickle.loads(pickle.dumps(x))
    copy += 1
    assert x.tolist() == [1, 1, 1]
    assert not x.is_shared()


def test_strategies():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    assert mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(ValueError, match="'fast' is no strategy; expected one of"):
        mp.set_sharing_strategy("fast")


def test_everything_of_multiprocessing_is_there():
    torch = require_torch()
    missing = [name for name in torch.multiprocessing.__all__ if not hasattr(mp, name)]
    assert missing == []
    assert mp.Process is multiprocessing.Process
    assert set(multiprocessing.__all__) < set(mp.__all__)


def test_more_memory_than_there_is_is_refused():
    """The system would grant it, and then end processes to find it."""
    from tensorlab._core.interop.memory_file import new_file

    if not os.path.exists("/proc/meminfo"):
        pytest.skip("the memory of this system can't be asked for")
    with pytest.raises(
        OSError, match=r"no memory for 1,099,511,627,776 bytes .*: [\d,]+ are avail"
    ):
        new_file(1 << 40)


def test_views_that_were_frozen_move_with_their_memory():
    program = """
import gc
import tensorlab
x = tensorlab.zeros(100_000)
view = x[10:]
before = x.data_ptr()
gc.freeze()
x.share_memory_()
x.fill_(3)
assert x.data_ptr() != before
assert view.data_ptr() == x.data_ptr() + 40
assert view.sum().item() == 3 * 99_990
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_file_that_gets_no_room_is_closed(monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "the disk is full")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    before = descriptors()
    with pytest.raises(OSError, match="the disk is full"):
        memory_file.new_file(1 << 12)
    assert descriptors() == before


def test_a_file_that_can_not_be_mapped_is_closed():
    from tensorlab._core.interop.memory_file import MemoryFile

    before = descriptors()
    reader, writer = os.pipe()
    with pytest.raises((OSError, ValueError)):
        MemoryFile.over(reader)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)
    os.close(writer)
    assert descriptors() == before


def test_a_descriptor_of_a_file_that_is_mapped_already_is_closed():
    first = memory_file.MemoryFile.of_size(1 << 16)
    copy = os.dup(first.descriptor)
    assert memory_file.MemoryFile.over(copy) is first
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(copy)
    os.fstat(first.descriptor)


def test_without_fallocate_a_file_has_its_size_too(monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    file = memory_file.new_file(12_345)
    assert os.fstat(file).st_size == 12_345
    os.close(file)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system lacks posix_fallocate")
def test_the_bytes_of_a_new_file_are_there():
    file = memory_file.new_file(1 << 20)
    assert os.fstat(file).st_blocks * 512 >= 1 << 20  # with ftruncate there would be none
    os.close(file)


def test_what_is_available_is_counted_in_kibibytes(monkeypatch):
    facts = "MemTotal: 999999999 kB\nMemAvailable:  70000 kB\n"
    monkeypatch.setattr(memory_file, "open", lambda *a, **k: io.StringIO(facts), raising=False)
    monkeypatch.setattr(os.path, "exists", lambda path: path == "/proc/meminfo")
    memory_file.check_available(70_000 << 10)
    with pytest.raises(OSError, match="no memory for 71,680,001 bytes.*: 71,680,000 are available"):
        memory_file.check_available((70_000 << 10) + 1)


def test_without_files_in_memory_a_temporary_file_is_used(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    file = memory_file.MemoryFile.of_size(1000)
    file.map[:3] = b"abc"
    assert os.pread(file.descriptor, 4, 0) == b"abc\0"
    assert os.fstat(file.descriptor).st_size == 1000


def test_where_nothing_can_be_shared_tensors_are_copied(monkeypatch):
    registered = []
    monkeypatch.setattr("tensorlab.multiprocessing.reductions.CAN_SHARE", False)
    monkeypatch.setattr(ForkingPickler, "register", lambda *given: registered.append(given))
    mp.reductions.init_reductions()
    assert registered == []
    monkeypatch.setattr("tensorlab.ops.sharing.CAN_SHARE", False)
    with pytest.raises(RuntimeError, match="this system can't send memory to other processes"):
        tensorlab.ones(3).share_memory_()
