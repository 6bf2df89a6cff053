"""Storages of a checkpoint: bytes that a pickle names by a key, and where they are to be put."""

import sys

from .._core.device import device
from .._core.state.devices import device_names
from .._core.storage import Storage
from ..errors import DeviceError, FileFormatError
from ..ops.creation import empty
from . import names

__all__ = ["ProgramError", "Storages", "bytes_of"]

UINT8 = names.BY_NAME["uint8"]


def bytes_of(storage):
    """Return the bytes of a storage as memory; a copy of them if they are on a device of their own."""
    if storage.device.type != "cpu":
        storage = new_storage(len(storage)).copy_(storage)
    return memoryview(names.tensor_over(storage, UINT8, 0, None, None)).cast("B")


def new_storage(size, device="cpu"):
    return empty(size, dtype=UINT8, device=device).untyped_storage()


class ProgramError(Exception):
    """Carries an error of the program's own function past those who look for errors of the file."""

    def __init__(self, error):
        super().__init__(error)
        self.error = error


class Storages:
    """Finds the storage for each key, once.

    Parameters
    ----------
    fetch : function from (key, bytes that are needed, is it for meta) to a storage, with the
        file's data if not
    map_location : as in `load`
    is_swapped : bool, whether the file's numbers have their bytes in the other order
    """

    def __init__(self, fetch, map_location, is_swapped=False):
        self.fetch, self.is_swapped = fetch, is_swapped
        self.place_of, self.move = relocation(map_location)
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
            self.loaded[key] = self.load(str(key), count * size, size, location)
        storage = self.loaded[key]
        if len(storage) < count * size:
            raise FileFormatError(
                f"load: storage {key!r} has {len(storage)} bytes; {count * size} are expected"
            )
        return storage if kind.dtype is None else (storage, kind.dtype)

    def load(self, key, size, size_of_number, location):
        """Return the storage where it is to be."""
        place = self.place_of(location)
        storage = self.fetch(key, size, place == "meta")
        if self.is_swapped and size_of_number > 1 and not storage.is_meta:
            swap(storage, size_of_number)
        return self.move(put_on(storage, place), location)


def put_on(storage, place):
    """A storage of the cpu, or a copy of it on another device."""
    if place in ("cpu", "meta"):
        return storage
    return new_storage(len(storage), place).copy_(storage)


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
    """Return two functions: from a location in the file to the device where a storage is to be, and from the storage,
    which is there, and its location to the storage to use.
    """

    def stay(storage, _):
        return storage

    if map_location is None:
        return known_device, stay
    if isinstance(map_location, dict):
        return lambda location: known_device(str(map_location.get(location, location))), stay
    if isinstance(map_location, (str, device)):
        return lambda _: known_device(str(map_location)), stay
    if not callable(map_location):
        raise TypeError(
            f"load: map_location is a {type(map_location).__name__}; expected a device, a dict or a function"
        )

    def ask(storage, location):
        try:
            found = map_location(storage, location)
            if not isinstance(found, (Storage, type(None))):
                raise TypeError(
                    f"load: map_location returned a {type(found).__name__}; expected the storage, another one, or None"
                )
        except Exception as error:
            raise ProgramError(error) from error
        if found is None:
            return put_on(storage, known_device(location))
        return found

    return lambda _: "cpu", ask


def known_device(location):
    """Return the kind of device of a location, if there is one here."""
    kind = location.partition(":")[0]
    if kind not in device_names():
        others = ", ".join(device_names()[2:])
        here = f"here are only the CPU and {others}" if others else "here is only the CPU"
        raise DeviceError(
            f"load: a storage in the file lies on {location!r}, and {here}; use map_location='cpu'"
        )
    return kind
