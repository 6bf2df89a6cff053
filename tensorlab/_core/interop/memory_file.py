"""Memory that several processes see: a file that lives in memory and has no name.

Nothing can be left behind in /dev/shm: the system frees such a file with the last process that maps it or holds its
descriptor, however that process ends.
"""

import errno
import mmap
import os
import sys
import weakref

__all__ = ["CAN_SHARE", "MemoryFile", "map_file", "new_file"]

ASK_FROM = 1 << 26  # bytes; below, asking costs more than it tells
CAN_SHARE = os.name == "posix"  # descriptors can be sent to other processes

# device and inode: the MemoryFile over it
opened: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def new_file(size):
    """Return the descriptor of an anonymous file in memory; its bytes are there, or OSError is raised now."""
    check_available(size)
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("tensorlab")
    else:
        import tempfile

        with tempfile.TemporaryFile(buffering=0) as temporary:
            file = os.dup(temporary.fileno())
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, size)
        else:
            os.ftruncate(file, size)
    except OSError:
        os.close(file)
        raise
    return file


def check_available(size):
    """Raise OSError if the machine has not so much memory; the system would end processes to find it."""
    if size < ASK_FROM or not os.path.exists("/proc/meminfo"):
        return
    with open("/proc/meminfo", encoding="ascii") as file:
        facts = dict(line.split(":") for line in file)
    available = int(facts["MemAvailable"].split()[0]) << 10
    if size > available:
        raise OSError(
            errno.ENOMEM,
            f"no memory for {size:,} bytes to share with other processes: {available:,} are available",
        )


def map_file(descriptor, size):
    """Return the mmap of a file; without a copy of the descriptor, if Python lets us choose."""
    if sys.version_info >= (3, 13):
        return mmap.mmap(descriptor, size, trackfd=False)
    return mmap.mmap(descriptor, size)


class MemoryFile:
    """A file in memory, mapped: what owns the bytes of a storage that is shared.

    Attributes
    ----------
    descriptor : int, open as long as this object lives, so that the file can be sent on
    map : mmap over all of it
    """

    descriptor = None  # in case that it can't be mapped

    def __init__(self, descriptor):
        self.map = map_file(descriptor, os.fstat(descriptor).st_size)
        self.descriptor = descriptor

    @classmethod
    def of_size(cls, size):
        """Return a new one with so many bytes."""
        return cls.over(new_file(size))

    @classmethod
    def over(cls, descriptor):
        """Return the one over the file of a descriptor, which it closes in the end; a file is mapped only once."""
        status = os.fstat(descriptor)
        key = status.st_dev, status.st_ino
        known = opened.get(key)
        if known is not None:
            os.close(descriptor)
            return known
        try:
            made = opened[key] = cls(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return made

    def __del__(self):
        if self.descriptor is not None:
            os.close(self.descriptor)
