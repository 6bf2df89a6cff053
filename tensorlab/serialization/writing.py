"""Writer: the entries of a checkpoint into a file.

Checksums stand before the bytes that they are of, and take as long as writing them. So a file of our own is written out
of order: each place is known from the start, threads write pieces and take their checksums, and headers come last.

    header 0 | storage 0                | header 1 | storage 1       | directory
               thread 1 ->   thread 2 ->             thread 1 ->
"""

import ctypes
import errno
import os
import stat
import struct
import sys
import zipfile
import zlib
from functools import cache

from .archive import ALIGNMENT, LOCAL_HEADER, PIECE, VERSION
from .checksums import Threads, combined

__all__ = ["Writer"]

PART = 32 << 20  # bytes that one thread writes at a time
SYNC_FILE_RANGE_WRITE = 2  # of linux/fs.h
NO_ROOM = errno.ENOSPC, errno.EFBIG, errno.EDQUOT


class Writer:
    """Plans the entries of a checkpoint, and writes them when it is closed.

    Parameters
    ----------
    file : open for writing bytes
    name : str, the folder in the zip file
    is_ours : bool, whether the file is new and only ours, so that it can be written out of order
    """

    def __init__(self, file, name, is_ours=False):
        if not hasattr(file, "write"):
            raise AttributeError(
                f"save: f is a {type(file).__name__}; expected a path, or a file that is open for writing bytes"
            )
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self.name, self.entries, self.end = name, [], self.zip.fp.tell()
        self.descriptor = None
        if is_ours and hasattr(os, "pwrite") and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            self.descriptor = file.fileno()

    def add(self, entry, data):
        """Add an entry; `data` is bytes or a memoryview of bytes, which has to stay as it is until `close`."""
        info = zipfile.ZipInfo(
            f"{self.name}/{entry}"
        )  # of 1980: the same objects give the same file
        info.file_size = info.compress_size = len(data)
        info.external_attr, info.CRC = 0o600 << 16, 0
        info.header_offset = self.end
        size = LOCAL_HEADER.size + len(info.filename.encode())
        if is_long(info):
            size += 20  # a field for large sizes, which zipfile adds
        padding = -(self.end + size + 4) % ALIGNMENT
        info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
        self.end += size + 4 + padding + len(data)
        self.entries.append((info, memoryview(data)))

    def close(self):
        """Write all entries, and the directory."""
        self.add("byteorder", sys.byteorder.encode())
        self.add("version", f"{VERSION}\n".encode())
        if self.descriptor is not None:
            take_room(self.descriptor, self.end)
        with Threads() as threads:
            begun = [(info, data, self.begin(threads, info, data)) for info, data in self.entries]
            for info, data, checksum in begun:
                info.CRC = checksum()
                self.finish(info, data)
        self.zip.start_dir = self.end
        self.zip.close()

    def abandon(self):
        """Leave the file as it is; else the ZipFile would write its directory when it is deleted."""
        self.zip.fp = None

    def begin(self, threads, info, data):
        """Begin with the bytes of an entry; return the function that waits for its checksum."""
        place = info.header_offset + len(header_of(info))
        if len(data) <= PIECE:
            checksum = self.copy(data, place)
            return lambda: checksum
        parts = [
            (min(PART, len(data) - at), threads.run(self.copy, data[at : at + PART], place + at))
            for at in range(0, len(data), PART)
        ]

        def checksum():
            total = 0
            for size, checksum_of_part in parts:
                total = combined(total, checksum_of_part(), size)
            return total

        return checksum

    def copy(self, data, place):
        """Write bytes to their place, if that can be done out of order; return their checksum."""
        checksum = 0
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            checksum = zlib.crc32(piece, checksum)
            if self.descriptor is not None:
                write_at(self.descriptor, piece, place + start)
        if self.descriptor is not None and len(data) == PART:
            write_back(self.descriptor, place, PART)
        return checksum

    def finish(self, info, data):
        """Write the header of an entry, and its bytes if they are not there yet."""
        header = header_of(info)
        if self.descriptor is None:
            self.zip.fp.write(header)
            self.zip.fp.write(data)
        else:
            write_at(self.descriptor, header, info.header_offset)
        info.extra = b""  # the directory at the end repeats it otherwise
        self.zip.filelist.append(info)


def is_long(info):
    return info.file_size > zipfile.ZIP64_LIMIT


def header_of(info):
    return info.FileHeader(is_long(info))


def write_at(descriptor, data, place):
    """Write all of the data to a place of a file; one call may take less."""
    data = memoryview(data)
    while data:
        count = os.pwrite(descriptor, data, place)
        data, place = data[count:], place + count


@cache
def c_function(name, *argument_types):
    """Return a function of the C library that Python has no name for, or None."""
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None
    function.argtypes = argument_types
    return function


def write_back(descriptor, place, size):
    """Have the disk begin with a part of the file, if the system can be asked, so that less is left for fsync."""
    begin = c_function("sync_file_range", ctypes.c_int, *[ctypes.c_int64] * 2, ctypes.c_uint)
    if begin is not None:
        begin(descriptor, place, size, SYNC_FILE_RANGE_WRITE)  # a hint: no harm if it is not taken


def take_room(descriptor, size):
    """Have the system find room for the file: writing is quicker then, and a full disk is noticed before it."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        # a file system that can't
