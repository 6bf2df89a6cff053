"""What a killed process has left behind: unfinished files and folders, which the next one removes.

The process that writes one holds a lock on it. The system drops the lock when the process ends, however it ends, so
what is not locked has been left: no age and no process number has to be guessed at, and two processes that save at once
leave each other alone. Where there are no such locks (Windows, some network file systems), nothing is removed.
"""

import contextlib
import os
import re
import shutil
import tempfile

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["being_written", "folder_for_writing", "remove_leftovers"]


@contextlib.contextmanager
def being_written(path):
    """Hold a lock on a new file or folder; say whether it is still there, for it had none for a moment."""
    descriptor = None
    if fcntl is not None:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield os.path.exists(path)
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def folder_for_writing(parent, prefix):
    """Make a folder whose name begins so, for as long as the context; remove those that others have left."""
    remove_leftovers(parent, re.compile(re.escape(prefix) + r"\w{8}"))
    is_there = False
    while not is_there:
        with (
            tempfile.TemporaryDirectory(
                dir=parent, prefix=prefix, ignore_cleanup_errors=True
            ) as folder,
            being_written(folder) as is_there,
        ):
            if is_there:
                yield folder


def remove_leftovers(folder, pattern):
    """Remove the files and folders in a folder whose names match and that no process writes."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for name in filter(pattern.fullmatch, os.listdir(folder or ".")):
            with contextlib.suppress(OSError):  # it is locked, or another user's, or just gone
                remove_if_unlocked(os.path.join(folder, name))


def remove_if_unlocked(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    finally:
        os.close(descriptor)
