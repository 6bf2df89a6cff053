"""The container of a checkpoint: a zip file whose entries are stored as they are, each with a checksum.

    name/data.pkl        the objects, as a pickle in which a tensor names its storage
    name/byteorder       "little" or "big"
    name/data/0, 1, ...  the bytes of each storage, at a multiple of 64, so that they can be mapped
    name/version         3

A save writes into a new file beside the old one, which takes its place when all is on the disk: whatever happens
meanwhile, one of both is there, complete. What a killed save has left beside it is removed by the next one.
"""

import contextlib
import mmap
import os
import re
import secrets
import stat
import struct
import threading
import zipfile
import zlib

from ..errors import FileFormatError
from .leftovers import being_written, remove_leftovers

__all__ = ["Reader", "replacing"]

ALIGNMENT = 64
VERSION = "3"
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
PIECE = 1 << 20  # bytes that are in the cache while their checksum is taken


# ---------------------------------------------------------------- a file that takes the place of another
@contextlib.contextmanager
def replacing(path):
    """Open a new file that takes the place of `path` at the end; if anything fails, `path` stays as it was."""
    path = os.path.realpath(path)  # a link stays a link
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "wb") as file:  # a pipe or a device has nothing to keep
            yield file
        return
    folder, base = os.path.split(path)
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else None
    start = f".{base[:40]}."
    remove_leftovers(folder, re.compile(re.escape(start) + r"[0-9a-f]{8}\.part"))
    # a file that replaces one has no more readers than that, even now
    with part_file(os.path.join(folder, start), 0o666 if mode is None else 0o600) as file:
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(file.name, mode)
            os.replace(file.name, path)
            sync_folder(folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(file.name)
            raise


@contextlib.contextmanager
def part_file(start, mode):
    """Open a new file, which is locked until the context is left."""
    while True:
        name = f"{start}{secrets.token_hex(4)}.part"
        file = open(name, "xb", opener=lambda path, flags: os.open(path, flags, mode))  # noqa: SIM115
        with being_written(name) as is_there:
            if is_there:
                yield file
                return
        file.close()  # another save took it for a leftover before it was locked


def sync_folder(folder):
    """Have the folder's entries on the disk; only POSIX systems can open one."""
    if os.name == "posix":
        descriptor = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ---------------------------------------------------------------- reading
class Reader:
    """Finds the entries of a checkpoint and checks them.

    Raises
    ------
    FileFormatError
        If the file is not a checkpoint, or is damaged; it names the entry.
    """

    def __init__(self, file):
        self.file, self.lock = file, threading.Lock()
        try:
            with zipfile.ZipFile(file) as directory:
                infos = directory.infolist()
        except (
            zipfile.BadZipFile,
            struct.error,
            ValueError,
            NotImplementedError,
            OSError,
        ) as error:
            raise FileFormatError(
                f"load: the file's directory is damaged or cut off: {error}"
            ) from error
        self.length = file.seek(0, os.SEEK_END)
        if any(info.filename.endswith("/constants.pkl") for info in infos):
            raise FileFormatError(
                "load: the file is a TorchScript archive, which holds a program for PyTorch's interpreter. Take the "
                "weights out in PyTorch: torch.save(torch.jit.load(path).state_dict(), new_path)"
            )
        self.entries = {}
        for info in infos:
            self.check(info)
            self.entries[info.filename] = info
        pickles = [name for name in self.entries if name.endswith("/data.pkl")]
        if len(pickles) != 1 or pickles[0].count("/") != 1:
            raise FileFormatError(
                f"load: the file has {len(pickles)} entries called data.pkl; a checkpoint has one"
            )
        self.name = pickles[0].partition("/")[0]
        self.places = self.find_places()

    def check(self, info):
        """Raise for an entry that no checkpoint has."""
        name = info.filename
        if name in self.entries:
            raise FileFormatError(f"load: the file has two entries called {name!r}")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise FileFormatError(f"load: entry {name!r} is compressed; a checkpoint's are stored")
        if info.header_offset < 0:
            raise FileFormatError(f"load: entry {name!r} begins before the file")
        if info.flag_bits & 1:
            raise FileFormatError(f"load: entry {name!r} is encrypted")
        if info.file_size > self.length:
            raise FileFormatError(
                f"load: entry {name!r} has {info.file_size} bytes, and the whole file {self.length}"
            )

    def find_places(self):
        """Return where the bytes of each entry begin; entries must not share any."""
        places = {name: self.place_of(info) for name, info in self.entries.items()}
        last, owner = 0, None
        for name in sorted(places, key=places.get):
            info = self.entries[name]
            if info.header_offset < last:
                raise FileFormatError(f"load: entries {owner!r} and {name!r} overlap")
            last, owner = places[name] + info.file_size, name
        return places

    def place_of(self, info):
        self.file.seek(info.header_offset)
        header = self.file.read(LOCAL_HEADER.size)
        if len(header) != LOCAL_HEADER.size or header[:4] != b"PK\3\4":
            raise FileFormatError(
                f"load: entry {info.filename!r} is damaged: its header is not there"
            )
        *_, name_length, extra_length = LOCAL_HEADER.unpack(header)
        if self.file.read(name_length) != info.orig_filename.encode():
            raise FileFormatError(f"load: entry {info.filename!r} has another name in its header")
        place = info.header_offset + LOCAL_HEADER.size + name_length + extra_length
        if place + info.file_size > self.length:
            raise FileFormatError(f"load: entry {info.filename!r} ends after the file")
        return place

    def storages(self):
        """Return (entry, bytes) for each storage."""
        start = f"{self.name}/"
        entries = [(name.removeprefix(start), info) for name, info in self.entries.items()]
        return [(name, info.file_size) for name, info in entries if name.startswith("data/")]

    def has(self, entry):
        return f"{self.name}/{entry}" in self.entries

    def size(self, entry):
        return self.info(entry).file_size

    def info(self, entry):
        try:
            return self.entries[f"{self.name}/{entry}"]
        except KeyError:
            raise FileFormatError(f"load: the file has no entry {entry!r}") from None

    def read(self, entry):
        """Return the bytes of an entry."""
        data = bytearray(self.size(entry))
        self.read_into(entry, memoryview(data))
        return bytes(data)

    def read_into(self, entry, memory):
        """Read an entry into memory of its size."""
        info, checksum = self.info(entry), 0
        place = self.places[info.filename]
        for start in range(0, len(memory), PIECE):
            piece = memory[start : start + PIECE]
            with self.lock:  # another thread may read another entry
                self.file.seek(place + start)
                count = self.file.readinto(piece)
            if count != len(piece):
                raise FileFormatError(f"load: entry {info.filename!r} is cut off")
            checksum = zlib.crc32(piece, checksum)
        if checksum != info.CRC:
            raise FileFormatError(
                f"load: entry {info.filename!r} is damaged: its checksum is {checksum:08x}, not {info.CRC:08x}"
            )

    def mapped(self):
        """Return the whole file as memory that is read when it is touched; writing changes a copy."""
        return mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_COPY)
