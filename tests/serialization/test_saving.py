"""save replaces a file as a whole or not at all; load says where tensors go and what is allowed."""

import argparse
import fractions
import io
import os
import pickle
import random
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import pytest

import tensorlab
from tensorlab import nn
from tensorlab.errors import DeviceError, FileFormatError, UnsafeGlobal
from tensorlab.serialization.archive import replacing
from tests.oracle import require_torch
from tests.serialization.examples import shown

posix = pytest.mark.skipif(os.name != "posix", reason="signals, limits and rights of POSIX")
# Saves numbers over and over, and says so once it has begun. In two cases every second save has to fail: the disk is
# full after some bytes, or the folder can't be written.
WRITER = """
import os, resource, sys, tensorlab

path, case = sys.argv[1:]
folder = os.path.dirname(path)

def save(step):
    tensorlab.save({"step": step, "x": tensorlab.full((50_000,), float(step))}, path)

save(0)  # what is imported at the first call may lie where only root can read
if os.geteuid() == 0:
    os.seteuid(65534)  # root may write everywhere

def fail_to_save():
    try:
        save(-1)
    except OSError:
        return
    os._exit(1)

for step in range(1, 10**9):
    save(step)
    if case == "full disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (step * 777 % 200_000, resource.RLIM_INFINITY))
        fail_to_save()
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    if case == "read-only folder":
        os.chmod(folder, 0o500)
        fail_to_save()
        os.chmod(folder, 0o700)
    if step == 1:
        print("begun", flush=True)
"""
CASES = "nothing", "full disk", "read-only folder"


@pytest.fixture
def folder_for_all():
    """A folder that belongs to the user as whom the program saves."""
    with tempfile.TemporaryDirectory() as name:
        if os.geteuid() == 0:
            os.chown(name, 65534, 65534)
        yield Path(name)


def kill_at_random(folder, case, times):
    """Kill a program that saves, and check what is there.

    Returns the step that was found each time, and how many saves were killed in the middle.
    """
    steps, path, moments, in_the_middle = [], folder / "x.pt", random.Random(case), 0
    for _ in range(times):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), case], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout.readline() == "begun\n"
        time.sleep(0.05 * moments.random())
        assert child.poll() is None
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        folder.chmod(0o700)
        found = tensorlab.load(path)
        assert found["x"].tolist() == [float(found["step"])] * 50_000
        steps.append(found["step"])
        parts = [name for name in os.listdir(folder) if name != "x.pt"]
        assert all(re.fullmatch(r"\.x\.pt\.[0-9a-f]{8}\.part", name) for name in parts)
        assert len(parts) <= 1  # the next program has removed what the one before left
        in_the_middle += len(parts)
    assert min(steps) >= 1
    tensorlab.save({}, path)
    assert os.listdir(folder) == ["x.pt"]
    return steps, in_the_middle


@posix
@pytest.mark.parametrize("case", CASES)
def test_a_killed_save_leaves_the_old_file_or_the_new_one(folder_for_all, case):
    steps, _ = kill_at_random(folder_for_all, case, 3)
    assert max(steps) > 1


@posix
@pytest.mark.nightly
@pytest.mark.parametrize(("case", "times"), list(zip(CASES, (80, 60, 60), strict=True)))
def test_two_hundred_killed_saves(folder_for_all, case, times):
    _, in_the_middle = kill_at_random(folder_for_all, case, times)
    assert in_the_middle > times / 10


FULL = """
import resource, signal, sys, tensorlab
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    tensorlab.save(tensorlab.zeros(100_000), sys.argv[1])
except OSError as error:
    print("refused:", error.strerror)
"""


@posix
def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    tensorlab.save({"a": 1}, path)
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("refused:"), done.stderr
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.pt"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        tensorlab.save(1, tmp_path / "nowhere" / "x.pt")


@posix
def test_a_folder_that_cannot_be_written_is_an_error(folder_for_all):
    path, user = folder_for_all / "x.pt", os.geteuid()
    tensorlab.save({"a": 1}, path)
    folder_for_all.chmod(0o500)
    if user == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(PermissionError):
            tensorlab.save({"a": 2}, path)
    finally:
        os.seteuid(user)
        folder_for_all.chmod(0o700)
    assert tensorlab.load(path) == {"a": 1}
    assert os.listdir(folder_for_all) == ["x.pt"]


def test_what_cannot_be_pickled_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    tensorlab.save({"a": 1}, path)
    with pytest.raises((AttributeError, TypeError, Exception), match="lambda|pickle"):
        tensorlab.save({"a": lambda: 1}, path)
    with pytest.raises(NotImplementedError, match="meta has no data"):
        tensorlab.save(tensorlab.empty(2, device="meta"), path)
    assert tensorlab.load(path) == {"a": 1}
    assert [one.name for one in tmp_path.iterdir()] == ["x.pt"]


@posix
def test_links_and_rights_stay(tmp_path):
    path, link = tmp_path / "x.pt", tmp_path / "link.pt"
    old = os.umask(0o027)
    try:
        tensorlab.save(1, path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    old = os.umask(0)
    try:
        tensorlab.save(1, tmp_path / "open.pt")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "open.pt").stat().st_mode) == 0o666
    path.chmod(0o604)
    link.symlink_to(path)
    tensorlab.save(2, link)
    assert link.is_symlink()
    assert tensorlab.load(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@posix
def test_a_file_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    steps, fsync, replace = [], os.fsync, os.replace

    def noting_fsync(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        steps.append((kind, os.fstat(descriptor).st_size if kind == "file" else None))
        fsync(descriptor)

    def noting_replace(source, target):
        steps.append(("replace", os.path.getsize(source)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_replace)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    tensorlab.save(tensorlab.arange(1000), tmp_path / "x.pt")
    size = os.path.getsize(tmp_path / "x.pt")
    assert steps == [("file", size), ("replace", size), ("folder", None)]
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_entries_are_named_after_the_file(tmp_path):
    import zipfile

    for file, name in (("model.pt", "model"), ("model.v2.tar", "model.v2"), ("plain", "plain")):
        tensorlab.save(1, tmp_path / file)
        with zipfile.ZipFile(tmp_path / file) as archive:
            assert {one.partition("/")[0] for one in archive.namelist()} == {name}
        assert tensorlab.load(tmp_path / file) == 1


def test_equal_objects_give_equal_files(tmp_path):
    files = []
    for _ in range(2):
        file = io.BytesIO()
        tensorlab.save({"a": tensorlab.arange(5), "b": [1, 2]}, file)
        files.append(file.getvalue())
    assert files[0] == files[1]


def test_storages_lie_at_multiples_of_64(tmp_path):
    file = io.BytesIO()
    values = [tensorlab.full((n,), float(n)) for n in (1, 3, 17, 100)]
    tensorlab.save(values, file)
    for x in values:
        assert file.getvalue().index(bytes(memoryview(x).cast("B"))) % 64 == 0


def test_large_entries_are_written_in_pieces():
    x, file = tensorlab.arange(700_000), io.BytesIO()  # more than five pieces
    tensorlab.save(x, file)
    file.seek(0)
    assert tensorlab.equal(tensorlab.load(file), x)


def test_a_file_that_is_open_is_written_and_read_where_it_stands(tmp_path):
    with open(tmp_path / "x.bin", "wb") as file:
        tensorlab.save(tensorlab.arange(3), file)
    with open(tmp_path / "x.bin", "rb") as file:
        assert tensorlab.load(file).tolist() == [0, 1, 2]
    with pytest.raises(AttributeError, match="expected a path, or a file"):
        tensorlab.save(1, 5)
    with pytest.raises(AttributeError, match=r"without read\(\); expected a path"):
        tensorlab.load(5)
    with pytest.raises(ValueError, match="mmap needs a path"):
        tensorlab.load(io.BytesIO(), mmap=True)
    with pytest.raises(FileNotFoundError):
        tensorlab.load(tmp_path / "none.pt")


# ------------------------------------------------------------ where to
@pytest.fixture
def from_cuda():
    """Return a file whose storage lies on "cuda:0"."""
    import zipfile

    file, moved = io.BytesIO(), io.BytesIO()
    tensorlab.save(tensorlab.arange(3), file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(moved, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename.endswith("pkl"):
                data = data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
            new.writestr(info.filename, data)
    return lambda: io.BytesIO(moved.getvalue())


def test_what_was_on_an_accelerator_needs_a_location(from_cuda):
    with pytest.raises(DeviceError, match="lies on 'cuda:0'.*map_location='cpu'"):
        tensorlab.load(from_cuda())
    seen = []

    def keep(storage, location):
        seen.append((len(storage), location))
        return storage

    for location in ("cpu", tensorlab.device("cpu"), {"cuda:0": "cpu"}, keep):
        assert tensorlab.load(from_cuda(), location).tolist() == [0, 1, 2]
    assert seen == [(24, "cuda:0")]
    with pytest.raises(DeviceError):
        tensorlab.load(from_cuda(), {"cpu": "cpu"})
    with pytest.raises(DeviceError):
        tensorlab.load(from_cuda(), lambda storage, location: None)
    with pytest.raises(DeviceError):
        tensorlab.load(from_cuda(), "cuda:1")
    with pytest.raises(TypeError, match="map_location is a int"):
        tensorlab.load(from_cuda(), 3)


# ------------------------------------------------------------ what is allowed
class Settings:
    def __init__(self, width=1):
        self.width = width


class Guarded(Settings):
    def __setstate__(self, state):
        self.width = state["width"] + 1


def in_a_file(obj):
    file = io.BytesIO()
    tensorlab.save(obj, file)
    return lambda: io.BytesIO(file.getvalue())


def test_a_class_must_be_allowed():
    names = tensorlab.serialization
    file, name = in_a_file({"a": Settings(3), "b": Guarded(4)}), f"{__name__}.Settings"
    with pytest.raises(UnsafeGlobal, match=f"names {name}, which is not allowed.*add_safe_globals"):
        tensorlab.load(file())
    assert name in names.get_unsafe_globals_in_checkpoint(file())
    with names.safe_globals([Settings, Guarded]):
        assert set(names.get_safe_globals()) == {Settings, Guarded}
        assert not set(names.get_unsafe_globals_in_checkpoint(file())) & {name}
    assert names.get_safe_globals() == []
    allowed = [Settings, (Guarded, f"{__name__}.Guarded")]
    with pytest.raises(UnsafeGlobal):
        tensorlab.load(file())
    import copyreg

    with names.safe_globals([*allowed, copyreg._reconstructor, object]):
        try:
            found = tensorlab.load(file())
        finally:
            names.clear_safe_globals()
    assert (found["a"].width, found["b"].width) == (3, 5)
    assert names.get_safe_globals() == []


def test_a_name_in_a_file_can_stand_for_another_class():
    names, file = tensorlab.serialization, in_a_file([Settings(7)])
    import copyreg

    names.add_safe_globals([(Guarded, f"{__name__}.Settings"), copyreg._reconstructor, object])
    try:
        assert names.get_safe_globals()[0] == (Guarded, f"{__name__}.Settings")
        assert isinstance(tensorlab.load(file())[0], Guarded)
    finally:
        names.clear_safe_globals()


def test_what_was_allowed_before_stays_allowed():
    names = tensorlab.serialization
    names.add_safe_globals([Settings])
    try:
        with names.safe_globals([Guarded]):
            assert names.get_safe_globals() == [Settings, Guarded]
        assert names.get_safe_globals() == [Settings]
        with pytest.raises(KeyError), names.safe_globals([Guarded]):
            raise KeyError
        assert names.get_safe_globals() == [Settings]
    finally:
        names.clear_safe_globals()


def test_a_whole_model_needs_trust():
    tensorlab.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    file = in_a_file(model)
    with pytest.raises(UnsafeGlobal, match=r"Sequential|_reconstructor"):
        tensorlab.load(file())
    found = tensorlab.load(file(), weights_only=False)
    x = tensorlab.ones(1, 2)
    assert tensorlab.equal(found(x), model(x))
    assert found[0].weight.is_leaf
    assert found[0].weight.requires_grad


def test_a_bad_file_is_refused_without_restrictions_too():
    file = in_a_file(tensorlab.arange(3))().getvalue()
    with pytest.raises(FileFormatError):
        tensorlab.load(io.BytesIO(file[:-30]), weights_only=False)


# ------------------------------------------------------------ the format of before
def test_damaged_files_of_the_older_format_are_refused(tmp_path):
    torch = require_torch()
    file = io.BytesIO()
    torch.save([torch.arange(3), torch.ones(2, 2)], file, _use_new_zipfile_serialization=False)
    data = file.getvalue()
    assert tensorlab.load(io.BytesIO(data))[1].tolist() == [[1, 1], [1, 1]]
    (tmp_path / "old.pt").write_bytes(data)
    with pytest.raises(RuntimeError, match="mmap needs a file in the newer format"):
        tensorlab.load(tmp_path / "old.pt", mmap=True)
    for changed in (data[:-3], data[:-40], data[:200], data[:20]):
        with pytest.raises(FileFormatError):
            tensorlab.load(io.BytesIO(changed))
    place = data.rindex((3).to_bytes(8, "little"))
    for count in (0, 5, 2**40):
        with pytest.raises(FileFormatError, match="is damaged"):
            tensorlab.load(
                io.BytesIO(data[:place] + count.to_bytes(8, "little") + data[place + 8 :])
            )


def test_heads_of_the_older_format_are_checked():
    torch = require_torch()
    from tensorlab.serialization.legacy import START

    with pytest.raises(FileFormatError, match="the file's protocol is missing"):
        tensorlab.load(io.BytesIO(START + b"\x80\x02N."))
    with pytest.raises(FileFormatError, match="has protocol 7; expected 1001"):
        tensorlab.load(io.BytesIO(START + b"\x80\x02K\x07.\x80\x02}."))
    file = io.BytesIO()
    torch.save([torch.zeros(1000), torch.ones(1000)], file, _use_new_zipfile_serialization=False)
    data = file.getvalue()
    with pytest.raises(FileFormatError, match="has 4000 bytes; the file is shorter: 5000"):
        tensorlab.load(io.BytesIO(data[:5000]))
    storages = data.rindex(b"\x80\x02]")
    digit = storages + 15
    assert data[digit : digit + 1].isdigit()
    other = b"%d" % ((int(data[digit : digit + 1]) + 1) % 10)
    with pytest.raises(FileFormatError, match="list of storages is not that of its tensors"):
        tensorlab.load(io.BytesIO(data[:digit] + other + data[digit + 1 :]))


def test_an_older_file_that_does_not_say_its_byte_order_is_little_endian():
    torch = require_torch()
    file = io.BytesIO()
    torch.save(torch.tensor([1.5, -2.0]), file, _use_new_zipfile_serialization=False)
    unsaid = file.getvalue().replace(b"little_endian", b"little_endiam")
    assert unsaid != file.getvalue()
    for package in (tensorlab, torch):
        assert package.load(io.BytesIO(unsaid)).tolist() == [1.5, -2.0]


def test_tensors_of_the_first_versions_learn_nothing():
    torch = require_torch()

    class First:
        def __reduce__(self):
            storage = torch.arange(13.0).storage()
            return torch._utils._rebuild_tensor, (storage, 3, (2, 3), (1, 4))

    file = io.BytesIO()
    with warnings.catch_warnings(action="ignore"):  # of the typed storage
        torch.save(First(), file)
    found = [package.load(io.BytesIO(file.getvalue())) for package in (tensorlab, torch)]
    assert shown(found[0]) == shown(found[1])
    assert found[0].tolist() == [[3.0, 7.0, 11.0], [4.0, 8.0, 12.0]]
    assert not found[0].requires_grad


def test_long_names_of_files_are_no_hindrance(tmp_path):
    path = tmp_path / ("ü" * 120 + ".pt")  # 243 bytes; systems allow 255
    tensorlab.save(tensorlab.ones(2), path)
    tensorlab.save(tensorlab.ones(3), path)
    assert tensorlab.load(path).shape == (3,)
    assert os.listdir(tmp_path) == [path.name]


@posix
def test_what_replaces_a_private_file_is_private_from_the_start(tmp_path):
    path = tmp_path / "private.pt"
    path.touch(mode=0o600)
    with replacing(path) as file:
        seen = [stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()]
        file.write(b"x")
    assert seen == [0o600, 0o600]
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_names_that_come_again_are_found(protocol):
    value = ["fractions", fractions.Fraction(1, 2), "Fraction", fractions.Fraction(1, 3)]
    value = [value, fractions.Fraction(1, 5), argparse.Namespace(), argparse.ArgumentTypeError()]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/data.pkl", pickle.dumps(value, protocol))
    file.seek(0)
    found = tensorlab.serialization.get_unsafe_globals_in_checkpoint(file)
    rebuilt = ["copy_reg._reconstructor"] if protocol < 2 else []
    assert [name for name in found if not name.startswith(("builtins", "__builtin__"))] == sorted(
        ["argparse.ArgumentTypeError", "argparse.Namespace", "fractions.Fraction", *rebuilt]
    )


def test_a_mapped_file_takes_no_memory_of_ours(tmp_path):
    tensorlab.save(tensorlab.ones(1 << 20), tmp_path / "x.pt")

    def taken(**options):
        before = tensorlab.memory_stats()["allocated_bytes"]
        found = tensorlab.load(tmp_path / "x.pt", **options)
        assert found.sum() == 1 << 20
        return tensorlab.memory_stats()["allocated_bytes"] - before

    assert taken() == 4 << 20
    assert taken(mmap=True) == 0
