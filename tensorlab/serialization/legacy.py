"""The format of checkpoints before PyTorch 1.6: five pickles, one after the other, then the bytes of the storages."""

from ..errors import FileFormatError
from .storages import Storages, bytes_of, needs_swap, new_storage

__all__ = ["is_legacy", "load_legacy"]

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
START = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # the pickle of MAGIC


def is_legacy(start):
    return start.startswith(START)


def load_legacy(file, map_location, unpickle):
    """Read such a file; `unpickle(read, readline, persistent_load)` reads one of its pickles."""

    def plain(what):
        value = unpickle(file.read, file.readline, refuse)
        if value is None:
            raise FileFormatError(f"load: the file's {what} is missing")
        return value

    def refuse(identity):
        raise FileFormatError("load: the file's head refers to a storage")

    magic, protocol, system = plain("magic number"), plain("protocol"), plain("system")
    if magic != MAGIC or protocol != PROTOCOL or not isinstance(system, dict):
        raise FileFormatError(f"load: the file has protocol {protocol!r}; expected {PROTOCOL}")
    is_swapped = needs_swap("little" if system.get("little_endian", True) else "big")
    wanted, start = {}, file.tell()
    length = file.seek(0, 2)
    file.seek(start)

    def fetch(key, size, on_meta):
        if sum(wanted.values()) + size > length:
            raise FileFormatError(
                f"load: storage {key!r} has {size} bytes; the file is shorter: {length}"
            )
        wanted[key] = size
        return new_storage(size, "meta" if on_meta else "cpu")

    storages = Storages(fetch, map_location)
    result = unpickle(file.read, file.readline, storages.persistent_load)
    keys = plain("list of storages")
    if not isinstance(keys, list) or {str(key) for key in keys} != set(wanted):
        raise FileFormatError("load: the file's list of storages is not that of its tensors")
    by_key = {str(key): storage for key, storage in storages.loaded.items()}
    for key in keys:
        fill(file, str(key), by_key[str(key)], is_swapped)
    return result


def fill(file, key, storage, is_swapped):
    """Read the count and the bytes of one storage."""
    count = int.from_bytes(file.read(8), "big" if is_swapped else "little")
    size = len(storage)
    if size not in (count, 2 * count, 4 * count, 8 * count, 16 * count):
        raise FileFormatError(
            f"load: storage {key!r} is damaged: it has {count} numbers in {size} bytes"
        )
    if storage.is_meta:
        file.seek(size, 1)
        return
    data = bytes_of(storage) if size else memoryview(b"")
    if size and file.readinto(data) != len(data):
        raise FileFormatError(f"load: storage {key!r} is cut off")
