"""Storages of a checkpoint: bytes that a pickle names by a key, and where they are to be put."""

import sys

from .._core.device import device
from ..errors import DeviceError, FileFormatError
from ..ops.creation import empty
from . import names

__all__ = ["Storages", "bytes_of"]

UINT8 = names.BY_NAME["uint8"]


def bytes_of(storage):
    """Return the bytes of a storage as memory."""
    return memoryview(names.tensor_over(storage, UINT8, 0, None, None)).cast("B")


def new_storage(size):
    return empty(size, dtype=UINT8).untyped_storage()


class Storages:
    """Finds the storage for each key, once.

    Parameters
    ----------
    fetch : function from (key, bytes that are needed) to a storage with the file's data
    map_location : as in `load`
    is_swapped : bool, whether the file's numbers have their bytes in the other order
    """

    def __init__(self, fetch, map_location, is_swapped=False):
        self.fetch, self.is_swapped = fetch, is_swapped
        self.relocate = relocation(map_location)
        self.loaded = {}

    def persistent_load(self, identity):
        """Return (storage, dtype) for an id ("storage", type, key, location, count); without a dtype the storage."""
        if not isinstance(identity, tuple) or len(identity) < 5 or identity[0] != "storage":
            raise FileFormatError(f"load: the file refers to {identity!r}; expected a storage")
        kind, key, location, count = identity[1:5]
        is_described = isinstance(kind, names.StorageType) and isinstance(location, str)
        if not is_described or type(count) is not int or count < 0:
            raise FileFormatError(f"load: the file describes storage {key!r} wrongly")
        size = 1 if kind.dtype is None else kind.dtype.itemsize
        if key not in self.loaded:
            storage = self.fetch(str(key), count * size)
            if self.is_swapped and size > 1:
                swap(storage, size)
            self.loaded[key] = self.relocate(storage, location)
        storage = self.loaded[key]
        if len(storage) < count * size:
            raise FileFormatError(
                f"load: storage {key!r} has {len(storage)} bytes; {count * size} are expected"
            )
        return storage if kind.dtype is None else (storage, kind.dtype)


def swap(storage, size):
    """Turn the bytes of each number around."""
    data = bytes_of(storage)
    for i in range(size // 2):
        data[i::size], data[size - 1 - i :: size] = (
            bytes(data[size - 1 - i :: size]),
            bytes(data[i::size]),
        )


def needs_swap(order):
    if order not in ("little", "big"):
        raise FileFormatError(
            f"load: the file's byte order is {order!r}; expected 'little' or 'big'"
        )
    return order != sys.byteorder


# ---------------------------------------------------------------- where to
def relocation(map_location):
    """Return the function from a storage and its location in the file to the storage to use."""
    if map_location is None:
        return on_its_device
    if isinstance(map_location, dict):
        return lambda storage, location: on_its_device(
            storage, map_location.get(location, location)
        )
    if isinstance(map_location, (str, device)):
        return lambda storage, location: on_its_device(storage, str(map_location))
    if not callable(map_location):
        raise TypeError(
            f"load: map_location is a {type(map_location).__name__}; expected a device, a dict or a function"
        )

    def ask(storage, location):
        found = map_location(storage, location)
        return on_its_device(storage, location) if found is None else found

    return ask


def on_its_device(storage, location):
    if location.partition(":")[0] != "cpu":
        raise DeviceError(
            f"load: a storage in the file lies on {location!r}, and here is only the CPU; use map_location='cpu'"
        )
    return storage
