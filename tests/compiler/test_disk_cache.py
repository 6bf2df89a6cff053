"""The cache returns what was put there or nothing, whatever has happened to the files, and stays below its limit."""

import os
import random
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tensorlab.compiler import disk_cache

CONTENT = bytes(range(256)) * 20


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORLAB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TENSORLAB_CACHE_MB", raising=False)
    return tmp_path / "cache"


def entry(home, key):
    return home / f"{key}.kernels"


def test_what_is_put_is_got():
    assert disk_cache.get("key") is None
    assert disk_cache.put("key", CONTENT)
    assert disk_cache.get("key") == CONTENT
    assert disk_cache.put("key", b"")
    assert disk_cache.get("key") == b""


def test_an_entry_is_written_where_it_will_be(monkeypatch):
    """From another file system it could not be moved in one step."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert disk_cache.put("key", CONTENT)
    assert disk_cache.get("key") == CONTENT


def test_keys_tell_apart_what_is_divided_differently():
    keys = [
        disk_cache.key_of(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""))
    ]
    assert len(set(keys)) == 4
    assert all(len(key) == 64 for key in keys)


def test_the_folder_is_its_owners_alone(home):
    assert stat.S_IMODE(disk_cache.folder().stat().st_mode) == 0o700
    home.chmod(0o777)
    assert stat.S_IMODE(disk_cache.folder().stat().st_mode) == 0o700


def test_the_folder_is_in_the_home_directory_unless_named(monkeypatch, tmp_path):
    monkeypatch.delenv("TENSORLAB_CACHE_DIR")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert disk_cache.folder() == tmp_path / ".cache" / "tensorlab"


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("TENSORLAB_CACHE_DIR")
    monkeypatch.setattr(Path, "home", homeless)
    assert disk_cache.folder() is None


def corrupt(data, rng):
    """One of the things that happen to files."""
    kind = rng.choice(["flip", "flip", "truncate", "empty", "longer", "other head", "zeros"])
    data = bytearray(data)
    if kind == "flip":
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "truncate":
        del data[rng.randrange(len(data)) :]
    elif kind == "empty":
        data.clear()
    elif kind == "longer":
        data += bytes(rng.randint(1, 9))
    elif kind == "other head":
        data[:64] = b"0" * 64
    else:
        start = rng.randrange(len(data) - 1)
        data[start:] = b"\0" * (len(data) - start)
    return bytes(data)


def test_a_thousand_damaged_entries_are_never_returned(home):
    rng = random.Random(0)
    for k in range(1000):
        key = f"key{k % 7}"
        disk_cache.put(key, CONTENT)
        path = entry(home, key)
        data = path.read_bytes()
        damaged = corrupt(data, rng)
        if damaged == data:
            continue
        path.write_bytes(damaged)
        assert disk_cache.get(key) is None
        assert not path.exists()
        assert disk_cache.put(key, CONTENT)
        assert disk_cache.get(key) == CONTENT


def test_an_entry_under_another_name_is_not_returned(home):
    disk_cache.put("one", CONTENT)
    os.rename(entry(home, "one"), entry(home, "two"))
    assert disk_cache.get("two") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_an_entry_that_others_may_write_is_not_returned(home, mode):
    disk_cache.put("key", CONTENT)
    entry(home, "key").chmod(mode)
    assert disk_cache.get("key") is None
    assert not entry(home, "key").exists()


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away"
)
def test_entries_and_folders_of_another_user_are_not_used(home):
    disk_cache.put("key", CONTENT)
    os.chown(entry(home, "key"), 12345, 12345)
    assert disk_cache.get("key") is None
    disk_cache.put("key", CONTENT)
    os.chown(home, 12345, 12345)
    assert disk_cache.folder() is None
    assert disk_cache.get("key") is None
    assert not disk_cache.put("key", CONTENT)


def test_a_link_or_a_folder_in_place_of_an_entry_is_not_followed(home, tmp_path):
    disk_cache.put("key", CONTENT)
    os.rename(entry(home, "key"), tmp_path / "elsewhere")
    entry(home, "key").symlink_to(tmp_path / "elsewhere")
    assert disk_cache.get("key") is None
    entry(home, "dir").mkdir()
    assert disk_cache.get("dir") is None
    assert not disk_cache.put("dir", CONTENT)


def test_without_a_folder_nothing_is_kept_and_nothing_raised(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TENSORLAB_CACHE_DIR", str(tmp_path / "file"))
    assert disk_cache.get("key") is None
    assert not disk_cache.put("key", CONTENT)


def test_a_full_disk_leaves_no_half_written_entry(home, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert not disk_cache.put("key", CONTENT)
    assert list(home.iterdir()) == []


def test_the_entries_used_longest_ago_are_removed(home, monkeypatch):
    monkeypatch.setenv("TENSORLAB_CACHE_MB", str(10 * len(CONTENT) / 2**20))
    for k in range(9):
        disk_cache.put(f"key{k}", CONTENT)
        os.utime(entry(home, f"key{k}"), ns=(k * 10**9, k * 10**9))
    assert disk_cache.get("key0") == CONTENT  # the youngest now
    disk_cache.put("key9", CONTENT)
    kept = {path.stem for path in home.iterdir()}
    assert kept == {"key0", *(f"key{k}" for k in range(3, 10))}
    assert sum(path.stat().st_size for path in home.iterdir()) <= 9 * len(CONTENT)


def test_entries_that_fill_the_cache_exactly_are_kept(home, monkeypatch):
    disk_cache.put("one", CONTENT)
    size = entry(home, "one").stat().st_size
    monkeypatch.setenv("TENSORLAB_CACHE_MB", str(2 * size / 2**20))
    disk_cache.put("two", CONTENT)
    assert disk_cache.get("one") == disk_cache.get("two") == CONTENT


def test_the_limit_is_512_megabytes_or_a_number(monkeypatch):
    assert disk_cache.limit() == 512 * 2**20
    monkeypatch.setenv("TENSORLAB_CACHE_MB", "0.5")
    assert disk_cache.limit() == 2**19
    monkeypatch.setenv("TENSORLAB_CACHE_MB", "much")
    with pytest.raises(ValueError, match="TENSORLAB_CACHE_MB is 'much'"):
        disk_cache.limit()


WORKER = """
import ctypes, sys
from tests.compiler.test_toolchain import source, value_at
from tensorlab.compiler import toolchain
for group in range(int(sys.argv[1])):
    names = [f"k{group}_{k}" for k in range(10)]
    addresses = toolchain.load([source(name, k + group) for k, name in enumerate(names)])
    for k, name in enumerate(names):
        assert value_at(addresses[name]) == 100 + k + group, name
print("good")
"""


def start_workers(count, groups):
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(groups)],
            cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(count)
    ]  # fmt: skip


def finish(workers):
    for worker in workers:
        out, errors = worker.communicate(timeout=500)
        assert (worker.returncode, out, errors) == (0, "good\n", "")


def test_four_processes_that_start_together_get_right_kernels(home):
    finish(start_workers(4, 2))
    assert len(list(home.glob("*.kernels"))) == 2 == len(list(home.iterdir()))


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(20))
def test_sixteen_processes_share_a_cache_that_is_damaged_under_them(home, start):
    workers, rng = start_workers(16, 5), random.Random(start)
    while any(worker.poll() is None for worker in workers):
        time.sleep(0.02)
        for path in home.glob("*.kernels") if home.exists() else ():
            if rng.random() < 0.2:
                try:
                    path.write_bytes(corrupt(path.read_bytes(), rng))
                except (OSError, ValueError, IndexError):
                    continue
    finish(workers)
