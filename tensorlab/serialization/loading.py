"""load: a file back into objects, without trusting it."""

import contextlib
import io
import os
import pickle
import pickletools

from .._core.device import device
from .._core.interop.exchange import frombuffer
from .._core.profiling import Range
from ..errors import EmptyFile, FileFormatError
from . import names
from .archive import Reader
from .checksums import Threads
from .legacy import START, is_legacy, load_legacy
from .storages import UINT8, ProgramError, Storages, bytes_of, needs_swap, new_storage
from .unpickler import Unpickler

__all__ = ["get_unsafe_globals_in_checkpoint", "load"]

LARGE = 1 << 20  # bytes; a thread is worth it from here


def load(
    f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args
):
    """Load what `save` or PyTorch's `torch.save` has written.

    Parameters
    ----------
    f : str, path or file that is open for reading bytes and can seek
    map_location : device, dict of locations, or function of a storage and its location; "cpu"
        loads what was on an accelerator, and "meta" gives tensors that have a shape and a dtype
        and no data, which is not read
    weights_only : bool, True unless given: a file can hold tensors, containers, numbers and text, and what
        `serialization.add_safe_globals` allows. With False it can name any class and call any function: a file from
        a stranger can then do to your computer whatever you can
    mmap : bool, whether the tensors' memory stays in the file until it is touched; `f` is then
        a path. Loading takes the same time for any size, and checksums of the storages are not
        looked at
    pickle_module, pickle_load_args : accepted for PyTorch's sake

    Returns
    -------
    the object; tensors that shared memory share it again

    Raises
    ------
    FileFormatError
        If the file is damaged or not a checkpoint; it names what is damaged. Of an empty file, EmptyFile.
    UnsafeGlobal
        If the file names what is not allowed.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import io
    >>> import tensorlab
    >>> file = io.BytesIO()
    >>> tensorlab.save(tensorlab.arange(3), file)
    >>> file.seek(0)
    0
    >>> load(file)
    tensor([0, 1, 2])
    """
    is_restricted = weights_only is None or bool(weights_only)
    with Range("tensorlab.load"), opened(f, mmap) as file, errors_of_program():
        start = file.read(len(START))
        file.seek(0)
        if not start:
            raise EmptyFile("load: the file is empty; perhaps saving it was interrupted")
        if is_legacy(start):
            if mmap:
                raise RuntimeError("load: mmap needs a file in the newer format; save it again")
            return load_legacy(file, map_location, reader_of_pickles(is_restricted))
        if not start.startswith(b"PK"):
            raise FileFormatError(
                f"load: the file begins with {start[:8]!r}; a checkpoint begins with b'PK', or is of the format "
                "before PyTorch 1.6"
            )
        return load_zip(file, map_location, reader_of_pickles(is_restricted), bool(mmap))


@contextlib.contextmanager
def opened(f, mmap):
    """Open a path, or use a file that is open."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file
        return
    if mmap:
        raise ValueError("load: mmap needs a path; an open file can't be mapped")
    for method in ("read", "readline", "seek", "tell"):
        if not hasattr(f, method):
            raise AttributeError(
                f"load: f is a {type(f).__name__} without {method}(); expected a path, or a file that is open for "
                "reading bytes and can seek. io.BytesIO(f.read()) makes one"
            )
    place = f.tell()
    yield f if hasattr(f, "readinto") and place == 0 else io.BytesIO(f.read())


@contextlib.contextmanager
def errors_of_program():
    """Raise what the program's map_location raised as it is, not as an error of the file."""
    try:
        yield
    except ProgramError as carrier:
        raise carrier.error from carrier.error.__cause__


def load_zip(file, map_location, unpickle, is_mapped):
    archive = Reader(file)
    if is_mapped:
        return unpickled(archive, map_location, unpickle, mapper_of(archive))
    with Threads() as threads:
        is_read = str(map_location) != "meta" if isinstance(map_location, (str, device)) else True
        return unpickled(archive, map_location, unpickle, reader_of(archive, threads, is_read))


def unpickled(archive, map_location, unpickle, storage_of):
    """Read the pickle; `storage_of` is a function of an entry and its size."""
    order = archive.read("byteorder").decode("latin1") if archive.has("byteorder") else "little"

    def fetch(key, size, on_meta):
        entry = f"data/{key}"
        found = archive.size(entry)
        if found != size:
            raise FileFormatError(
                f"load: entry {entry!r} has {found} bytes; its tensors need {size}"
            )
        return new_storage(size, "meta") if on_meta else storage_of(entry, size)

    storages = Storages(fetch, map_location, needs_swap(order))
    data = io.BytesIO(archive.read("data.pkl"))
    return unpickle(data.read, data.readline, storages.persistent_load)


def mapper_of(archive):
    """Return the function that maps an entry."""
    memory = archive.mapped()

    def storage_of(entry, size):
        if not size:
            return new_storage(0)
        place = archive.places[f"{archive.name}/{entry}"]
        return frombuffer(memory, dtype=UINT8, count=size, offset=place).untyped_storage()

    return storage_of


def reader_of(archive, threads, is_read):
    """Return the function that reads an entry. If they are to be read, large ones are by threads from now on."""
    ahead = {}
    for entry, size in archive.storages() if is_read else ():
        if size >= LARGE:
            storage = new_storage(size)
            ahead[entry] = storage, threads.run(archive.read_into, entry, bytes_of(storage))

    def storage_of(entry, size):
        if entry not in ahead:
            storage = new_storage(size)
            archive.read_into(entry, bytes_of(storage) if size else memoryview(b""))
            return storage
        storage, wait = ahead.pop(entry)
        wait()
        return storage

    return storage_of


# ---------------------------------------------------------------- pickles
def reader_of_pickles(is_restricted):
    """Return the function that reads a pickle: our own reader, or Python's, which runs what a file says."""
    if is_restricted:
        return lambda read, readline, persistent_load: Unpickler(
            read, readline, persistent_load
        ).load()
    return lambda read, readline, persistent_load: Anything(read, readline, persistent_load).load()


class Anything(pickle._Unpickler):
    """Python's reader, which imports whatever a file names; PyTorch's names are ours."""

    def __init__(self, read, readline, persistent_load):
        super().__init__(self.Stream(read, readline))
        self.persistent_load = persistent_load

    class Stream:
        def __init__(self, read, readline):
            self.read, self.readline = read, readline

    def find_class(self, module, name):
        known = names.TABLE.get(f"{module}.{name}")
        if known is None:
            names.refuse_missing(module, name)
            return super().find_class(module, name)
        return known


def get_unsafe_globals_in_checkpoint(f):
    """Return the names in a checkpoint that `weights_only=True` refuses, sorted; nothing is loaded.

    Examples
    --------
    >>> import fractions
    >>> import io
    >>> import tensorlab
    >>> file = io.BytesIO()
    >>> tensorlab.save(fractions.Fraction(1, 3), file)
    >>> _ = file.seek(0)
    >>> get_unsafe_globals_in_checkpoint(file)
    ['fractions.Fraction']
    """
    with opened(f, None) as file:
        data = Reader(file).read("data.pkl")
    found, strings, kept, pushed = set(), [], {}, None
    for instruction, argument, _ in pickletools.genops(data):
        name = instruction.name
        if name == "GLOBAL":
            found.add(argument.replace(" ", "."))
        elif name == "STACK_GLOBAL":
            found.add(".".join(strings[-2:]))
        elif name.endswith("PUT") or name == "MEMOIZE":
            kept[len(kept) if argument is None else int(argument)] = pushed
            continue  # what was pushed last is still what it was
        pushed = kept.get(int(argument)) if name.endswith("GET") else argument
        if isinstance(pushed, str):
            strings.append(pushed)
    return sorted(found - names.TABLE.keys() - names.own.keys() - names.allowed.keys())
