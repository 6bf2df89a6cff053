"""Unfinished files of killed processes are removed by the next one; those of living processes are not."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile

import pytest

import tensorlab
from tensorlab import safetensors
from tensorlab.compiler import disk_cache
from tensorlab.datasets.utils import extract_archive
from tensorlab.serialization import archive, leftovers

pytestmark = pytest.mark.skipif(leftovers.fcntl is None, reason="there are no such locks")

IN_THE_MIDDLE = """
import sys, time
import tensorlab
from tensorlab.serialization.archive import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    sys.stdin.readline()
    file.write(b" whole")
"""


def begin(path, program=IN_THE_MIDDLE):
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "begun\n"
    return child


def end(child, how=None):
    if how is None:
        child.stdin.write("go on\n")
    else:
        child.send_signal(how)
    child.communicate()


def others(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("."))


def save(path):
    tensorlab.save({"x": tensorlab.ones(3)}, path)


def save_safely(path):
    safetensors.save_file({"x": tensorlab.ones(3)}, path)


@pytest.mark.parametrize("write", [save, save_safely])
def test_the_next_save_removes_what_a_killed_one_left(tmp_path, write):
    path = tmp_path / "x.pt"
    write(path)
    end(begin(path), signal.SIGKILL)
    assert len(others(tmp_path)) == 1
    write(path)
    assert os.listdir(tmp_path) == ["x.pt"]


def test_two_processes_that_save_at_once_leave_each_other_alone(tmp_path):
    path = tmp_path / "x.pt"
    first, second = begin(path), begin(path)
    assert len(others(tmp_path)) == 2
    save(path)
    assert len(others(tmp_path)) == 2
    end(second)
    assert path.read_bytes() == b"half whole"
    save(path)
    assert len(others(tmp_path)) == 1
    end(first)
    assert path.read_bytes() == b"half whole"
    assert others(tmp_path) == []


def test_so_do_two_threads(tmp_path):
    path, inside, go_on = tmp_path / "x.pt", threading.Event(), threading.Event()

    def slowly():
        with archive.replacing(path) as file:
            file.write(b"slow")
            inside.set()
            go_on.wait()

    thread = threading.Thread(target=slowly)
    thread.start()
    inside.wait()
    save(path)
    go_on.set()
    thread.join()
    assert path.read_bytes() == b"slow"


def test_other_files_stay(tmp_path):
    names = [".y.pt.01234567.part", ".x.pt.0123456.part", ".x.pt.01234567.parts", ".x.pt"]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / ".x.pt.0123abcd.part").write_bytes(b"of a killed save")
    (tmp_path / ".x.pt.76543210.part").symlink_to(tmp_path / ".x.pt")
    save(tmp_path / "x.pt")
    assert others(tmp_path) == sorted([*names, ".x.pt.76543210.part"])


def test_a_file_that_was_taken_for_a_leftover_is_begun_again(tmp_path, monkeypatch):
    """There is a moment between making a file and locking it."""
    lock, removed = archive.being_written, []

    def too_late(name):
        if not removed:
            os.unlink(name)
            removed.append(name)
        return lock(name)

    monkeypatch.setattr(archive, "being_written", too_late)
    save(tmp_path / "x.pt")
    assert len(removed) == 1
    assert tensorlab.load(tmp_path / "x.pt")["x"].tolist() == [1, 1, 1]


def test_a_folder_that_can_not_be_listed_can_be_saved_into(tmp_path, monkeypatch):
    def refuse(_):
        raise PermissionError

    monkeypatch.setattr(os, "listdir", refuse)
    save(tmp_path / "x.pt")
    assert tensorlab.load(tmp_path / "x.pt")["x"].tolist() == [1, 1, 1]


def test_without_locks_nothing_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(leftovers, "fcntl", None)
    (tmp_path / ".x.pt.01234567.part").write_bytes(b"")
    save(tmp_path / "x.pt")
    assert others(tmp_path) == [".x.pt.01234567.part"]


UNPACKING = """
import sys, tensorlab
from tensorlab.serialization.leftovers import folder_for_writing
with folder_for_writing(sys.argv[1], ".unpacking-") as folder:
    open(folder + "/half", "w").close()
    print("begun", flush=True)
    sys.stdin.readline()
"""


def test_unpacking_removes_what_a_killed_one_left(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("inside", "text")
    killed, living = begin(tmp_path, UNPACKING), begin(tmp_path, UNPACKING)
    end(killed, signal.SIGKILL)
    assert len(others(tmp_path)) == 2
    extract_archive(tmp_path / "a.zip")
    assert len(others(tmp_path)) == 1
    end(living)
    assert sorted(os.listdir(tmp_path)) == ["a.zip", "inside"]


def test_the_cache_of_kernels_removes_what_a_killed_process_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORLAB_CACHE_DIR", str(tmp_path))
    handle, name = tempfile.mkstemp(dir=tmp_path, prefix="new-")
    os.close(handle)
    living = tempfile.mkstemp(dir=tmp_path, prefix="new-")[1]
    with leftovers.being_written(living):
        assert disk_cache.put("key", b"content")
        assert os.path.exists(living)
    assert not os.path.exists(name)
    assert disk_cache.get("key") == b"content"
