"""Files that are written out of order and by threads are those that are written from front to back."""

import ctypes
import errno
import io
import os
import random
import subprocess
import sys
import threading
import zipfile
import zlib
from contextlib import suppress

import pytest

import tensorlab
from tensorlab.serialization import writing
from tensorlab.serialization.checksums import Threads, combined
from tests.oracle import require_torch
from tests.serialization import examples
from tests.serialization.zips import saved

needs_pwrite = pytest.mark.skipif(not hasattr(os, "pwrite"), reason="needs pwrite")


def large():
    """Storages around the sizes from which threads write parts of them."""
    sizes = 1, 262_144, 262_145, 524_288, 786_432, 786_433, 1_600_000
    return {f"{n}": tensorlab.arange(float(n)) + n for n in sizes}


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(writing, "PART", 3 << 20)


@pytest.mark.parametrize("seed", range(5))
def test_a_checksum_follows_from_those_of_two_pieces(seed):
    rng = random.Random(seed)
    for size in (0, 1, 2, 7, 8, 255, 1000, 65537):
        first, second = rng.randbytes(rng.randrange(300)), rng.randbytes(size)
        found = combined(zlib.crc32(first), zlib.crc32(second), size)
        assert found == zlib.crc32(first + second)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_file_at_a_path_is_the_one_that_is_written_from_front_to_back(
    small_parts, tmp_path, threads
):
    before = tensorlab.get_num_threads()
    tensorlab.set_num_threads(threads)
    try:
        for value in (large(), examples.states(tensorlab), 1, {}):
            tensorlab.save(value, tmp_path / "archive.pt")
            assert (tmp_path / "archive.pt").read_bytes() == saved(value)
    finally:
        tensorlab.set_num_threads(before)


def test_every_checksum_is_that_of_the_entry(small_parts, tmp_path):
    tensorlab.save(large(), tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        assert archive.testzip() is None
        assert len(archive.infolist()) == 10
        assert {entry.extra for entry in archive.infolist()} == {
            b""
        }  # their padding is not repeated


@pytest.mark.parametrize("is_path", [True, False])
def test_entries_of_more_than_four_gigabytes_have_the_longer_fields(is_path, tmp_path, monkeypatch):
    value = {"a": tensorlab.arange(5000.0), "b": tensorlab.ones(2)}
    short = saved(value)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10_000)  # as if that were so much
    path = tmp_path / "archive.pt"
    if is_path:
        tensorlab.save(value, path)
    else:
        path.write_bytes(saved(value))
    data = path.read_bytes()
    place = data.index(b"archive/data/0")
    assert data[place - 12 : place - 4] == b"\xff" * 8  # both sizes
    assert short[place - 12 : place - 4] != b"\xff" * 8
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
    found = tensorlab.load(path)
    assert tensorlab.equal(found["a"], value["a"])
    assert data.index(value["a"].numpy().tobytes()) % 64 == 0
    theirs = require_torch().load(path)
    assert theirs["a"].tolist() == value["a"].tolist()
    assert theirs["b"].tolist() == [1, 1]


def test_a_size_at_the_limit_has_the_short_fields(monkeypatch):
    size = len(saved(tensorlab.zeros(1000, dtype=tensorlab.uint8)))
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    data = saved(tensorlab.zeros(1000, dtype=tensorlab.uint8))
    place = data.index(b"archive/data/0")
    assert data[place - 12 : place - 4] == (1000).to_bytes(4, "little") * 2
    assert len(data) >= size


@needs_pwrite
def test_a_system_that_takes_a_few_bytes_at_a_time_gets_all_of_them(tmp_path, monkeypatch):
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: pwrite(file, data[:70_001], at))
    value = large()
    tensorlab.save(value, tmp_path / "archive.pt")
    assert (tmp_path / "archive.pt").read_bytes() == saved(value)


@needs_pwrite
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EDQUOT])
def test_a_full_disk_is_noticed_before_anything_is_written(tmp_path, monkeypatch, number):
    def refuse(*given):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    monkeypatch.setattr(os, "pwrite", lambda *given: pytest.fail("written"))
    with pytest.raises(OSError, match=os.strerror(number)):
        tensorlab.save(tensorlab.ones(3), tmp_path / "x.pt")
    assert list(tmp_path.iterdir()) == []


@needs_pwrite
def test_room_is_asked_for_the_whole_file(tmp_path, monkeypatch):
    asked, allocate = [], os.posix_fallocate
    monkeypatch.setattr(
        os, "posix_fallocate", lambda file, *given: (asked.append(given), allocate(file, *given))
    )
    tensorlab.save(large(), tmp_path / "x.pt")
    ((start, size),) = asked
    data = (tmp_path / "x.pt").read_bytes()
    assert start == 0
    assert size == data.index(b"PK\1\2")  # up to the directory


@needs_pwrite
def test_a_file_system_that_can_not_find_room_in_advance_is_written_all_the_same(
    tmp_path, monkeypatch
):
    def refuse(*given):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    value = large()
    tensorlab.save(value, tmp_path / "archive.pt")
    monkeypatch.delattr(os, "posix_fallocate")
    tensorlab.save(value, tmp_path / "archive.pt")
    assert (tmp_path / "archive.pt").read_bytes() == saved(value)


@needs_pwrite
def test_what_fails_in_a_thread_is_raised_and_leaves_the_old_file(
    small_parts, tmp_path, monkeypatch
):
    path, pwrite = tmp_path / "x.pt", os.pwrite
    tensorlab.save(1, path)

    def fail(file, data, at):
        if threading.current_thread() is not threading.main_thread():
            raise OSError(errno.EIO, "Input/output error")
        return pwrite(file, data, at)

    monkeypatch.setattr(os, "pwrite", fail)
    with pytest.raises(OSError, match="Input/output error"):
        tensorlab.save(large(), path)
    assert tensorlab.load(path) == 1
    assert os.listdir(tmp_path) == ["x.pt"]


@needs_pwrite
def test_the_disk_begins_with_each_whole_part(small_parts, tmp_path, monkeypatch):
    asked, part = [], 3 << 20

    def begin(descriptor, *given):
        asked.append(given)
        return -1  # whatever it says, it was a hint

    monkeypatch.setattr(writing, "c_function", lambda name, *kinds: begin)
    tensorlab.save(tensorlab.ones(2_000_000), tmp_path / "x.pt")
    start = (tmp_path / "x.pt").read_bytes().index(tensorlab.ones(2).numpy().tobytes())
    assert sorted(asked) == [(start, part, 2), (start + part, part, 2)]


def test_a_function_that_the_c_library_lacks_is_left_out(small_parts, tmp_path, monkeypatch):
    assert writing.c_function("no_such_function_anywhere") is None
    monkeypatch.setattr(writing, "c_function", lambda name, *kinds: None)
    value = large()
    tensorlab.save(value, tmp_path / "archive.pt")
    assert (tmp_path / "archive.pt").read_bytes() == saved(value)


@pytest.mark.skipif(sys.platform != "linux", reason="sync_file_range is Linux's")
def test_the_call_to_the_system_is_right(tmp_path):
    kinds = ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint
    begin = writing.c_function("sync_file_range", *kinds)
    with open(tmp_path / "x", "wb") as file:
        file.write(bytes(1 << 16))
        file.flush()
        assert begin(file.fileno(), 0, 1 << 16, writing.SYNC_FILE_RANGE_WRITE) == 0
        assert begin(file.fileno(), -1, 1 << 16, writing.SYNC_FILE_RANGE_WRITE) == -1


class FullAtTheEnd(io.BytesIO):
    """A file on a disk that has no room for the directory of a zip file."""

    def write(self, data):
        if bytes(data[:4]) == b"PK\1\2":
            raise OSError(28, "No space left on device")
        return super().write(data)


def test_a_directory_that_can_not_be_written_is_an_error():
    with pytest.raises(OSError, match="No space left"):
        tensorlab.save([tensorlab.ones(3)], FullAtTheEnd())


def test_a_pipe_is_written_from_front_to_back():
    value, (out, into) = large(), os.pipe()
    found = []

    def read():
        with open(out, "rb") as file:
            found.append(file.read())

    reader = threading.Thread(target=read)
    reader.start()
    with open(into, "wb") as file:
        tensorlab.save(value, file)
    reader.join()
    assert found[0] == saved(value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_at_the_path_is_written_into(tmp_path):
    path, found = tmp_path / "archive.pt", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    tensorlab.save(tensorlab.arange(5), path)
    reader.join()
    assert found[0] == saved(tensorlab.arange(5))


def test_a_file_that_is_open_is_not_written_out_of_order(tmp_path):
    """What the program has written before stays, also where every write goes to the end."""
    value = large()
    for mode in ("wb", "ab"):
        with open(tmp_path / mode, mode) as file:
            file.write(b"before")
            tensorlab.save(value, file)
            file.write(b"after")
        data = (tmp_path / mode).read_bytes()
        assert data.startswith(b"before")
        assert data.endswith(b"after")
        with zipfile.ZipFile(io.BytesIO(data[: -len(b"after")])) as archive:
            assert archive.testzip() is None
            assert archive.infolist()[0].header_offset == 6


AT_EXIT = """
import atexit, sys, tensorlab
x = tensorlab.arange(900_000.0)
def save_and_load():
    tensorlab.save(x, sys.argv[1])
    assert tensorlab.equal(tensorlab.load(sys.argv[1]), x)
    print("done")
atexit.register(save_and_load)
"""


def test_large_files_can_be_saved_and_loaded_when_the_interpreter_ends(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT, str(tmp_path / "x.pt")], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_an_error_keeps_waiting_work_from_beginning():
    before, begun, free = tensorlab.get_num_threads(), [], threading.Event()
    tensorlab.set_num_threads(1)
    try:
        with suppress(KeyError), Threads() as threads:
            threads.run(free.wait, 15)
            for number in range(3):
                threads.run(begun.append, number)
            threading.Timer(0.2, free.set).start()
            raise KeyError
    finally:
        tensorlab.set_num_threads(before)
    assert begun == []
