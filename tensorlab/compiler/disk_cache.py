"""Compiled kernels on disk: a folder of files that are named after what they were made from.

    $TENSORLAB_CACHE_DIR or ~/.cache/tensorlab      a folder of its owner alone (mode 0700)
        <key>.kernels       64 hexadecimal digits of a SHA-256 of key and content, a newline, the content

A key says everything that the content depends on, so an entry never changes. It is written to a
file of another name and then renamed, which is atomic: readers see all of it or nothing, and of 16
writers the last one wins with the same content. `get` returns a content only if its hash is right
and the file belongs to this user alone; anything else is removed, and the caller makes it again.
Reading an entry makes it the youngest; when all of them are larger than the limit
(TENSORLAB_CACHE_MB, 512), the oldest are removed.

Nothing here raises because of the disk: without a folder that can be used there is no cache, and
`get` returns None.
"""

import contextlib
import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path

from tensorlab.serialization.leftovers import being_written, remove_leftovers

SUFFIX = ".kernels"
UNFINISHED = re.compile(r"new-\w{8}")
DIGITS = 64
DEFAULT_LIMIT_MB = 512.0
KEPT_WHEN_FULL = 0.9  # of the limit, so that not every new entry has to remove another


def folder():
    """Return the folder of the cache, made if need be; None if there is none that is safe to use."""
    try:
        path = Path(os.environ.get("TENSORLAB_CACHE_DIR") or Path.home() / ".cache" / "tensorlab")
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = path.stat()
        if not belongs_to_us(facts):
            return None
        if stat.S_IMODE(facts.st_mode) != 0o700:
            path.chmod(0o700)
    except (OSError, RuntimeError):
        return None
    return path


def limit():
    """Return how many bytes all entries may have together."""
    text = os.environ.get("TENSORLAB_CACHE_MB")
    try:
        megabytes = float(text) if text else DEFAULT_LIMIT_MB
    except ValueError:
        raise ValueError(
            f"TENSORLAB_CACHE_MB is {text!r}; it must be a number of megabytes"
        ) from None
    return int(megabytes * 2**20)


def key_of(*parts):
    """Return a name for what is made from these texts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def checksum(key, content):
    """Return the head of an entry. It depends on the key: an entry under another name is wrong."""
    return hashlib.sha256(key.encode() + content).hexdigest().encode()


def get(key):
    """Return the content of an entry, or None if there is none that can be trusted."""
    home = folder()
    if home is None:
        return None
    path = home / (key + SUFFIX)
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            is_ours = is_private(os.fstat(file.fileno()))
            data = file.read() if is_ours else b""
    except OSError:
        return None
    content = data[DIGITS + 1 :]
    if not is_ours or data[: DIGITS + 1] != checksum(key, content) + b"\n":
        remove(path)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return content


def put(key, content):
    """Write an entry, and remove the oldest ones if there is no room; return whether it was written."""
    home = folder()
    if home is None:
        return False
    name = None
    try:
        handle, name = tempfile.mkstemp(dir=home, prefix="new-")  # mode 0600
        with being_written(name):
            with open(handle, "wb") as file:
                file.write(checksum(key, content) + b"\n" + content)
            os.replace(name, home / (key + SUFFIX))
    except OSError:
        if name is not None:
            remove(name)
        return False
    remove_leftovers(home, UNFINISHED)
    evict(home)
    return True


def evict(home):
    """Remove the entries that were used longest ago, until the rest is below the limit."""
    entries, total, most = [], 0, limit()
    for path in home.glob("*" + SUFFIX):
        with contextlib.suppress(OSError):  # another process may just have removed it
            facts = path.stat()
            entries.append((facts.st_mtime_ns, facts.st_size, path))
            total += facts.st_size
    if total <= most:
        return
    for _, size, path in sorted(entries):
        remove(path)
        total -= size
        if total <= most * KEPT_WHEN_FULL:
            return


def remove(path):
    with contextlib.suppress(OSError):
        os.unlink(path)


def belongs_to_us(facts):
    return not hasattr(os, "getuid") or facts.st_uid == os.getuid()


def is_private(facts):
    """Say whether a file is a regular one of this user that no other user may write."""
    is_shared = stat.S_IMODE(facts.st_mode) & 0o022
    return stat.S_ISREG(facts.st_mode) and belongs_to_us(facts) and not is_shared
