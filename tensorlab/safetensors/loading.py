"""load, load_file and safe_open: a header that is checked, and the tensors that are asked for.

The library checks the header: sizes that fit the shapes, tensors one after the other, nothing left over. Here we
refuse what it lets pass: names that are there twice, and bytes of a bool that are neither 0 nor 1.
"""

import json
import mmap
import os
import struct
from typing import NamedTuple

from .._core.device import device as as_device
from .._core.interop.exchange import frombuffer
from ..errors import DTypeError, FileFormatError, ShapeError
from ..ops.creation import empty
from ..serialization.storages import UINT8, bytes_of
from .library import DTYPE_OF_CODE, library

__all__ = ["load", "load_file", "safe_open"]

LENGTH = struct.Struct("<Q")  # of the header, at the start of a file
FRAMEWORKS = ("pt", "torch", "pytorch")
BACKENDS = ("mmap", "pread")


class Entry(NamedTuple):
    """What a header says of a tensor; its bytes lie between two places in the file."""

    code: str
    shape: tuple
    start: int
    stop: int


# ---------------------------------------------------------------- functions
def load(data):
    """Return the tensors in bytes of the safetensors format.

    Parameters
    ----------
    data : bytes, as `save` returns them

    Returns
    -------
    dict from str to Tensor

    Raises
    ------
    FileFormatError
        If the data is damaged, or not in this format.
    DTypeError
        If a tensor has a dtype that tensorlab does not have.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.safetensors import save
    >>> load(save({"weight": tensorlab.ones(2)}))
    {'weight': tensor([1., 1.])}
    """
    lib, source = library("load"), "load: the data"
    try:
        found = dict(lib.deserialize(data))
    except lib.SafetensorError as error:
        raise FileFormatError(f"{source} is damaged, or not safetensors: {error}") from error
    entries, _ = parse_header(data[: LENGTH.size + LENGTH.unpack_from(data)[0]], source)
    tensors = {}
    for name, entry in entries.items():
        tensors[name] = x = new_tensor(name, entry, "cpu", source)
        memory_of(x)[:] = found[name]["data"]
        check_bools(name, x, source)
    return tensors


def load_file(filename, device="cpu", *, backend="mmap"):
    """Return the tensors in a file of the safetensors format.

    Parameters
    ----------
    filename : str or path
    device : "cpu", or "meta" for tensors without data
    backend : "mmap" or "pread", accepted for PyTorch's sake; tensors are read into memory of
        their own

    Returns
    -------
    dict from str to Tensor

    Raises
    ------
    FileFormatError
        If the file is damaged, or not in this format; it names the file.
    DTypeError
        If a tensor has a dtype that tensorlab does not have.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> from tensorlab import safetensors
    >>> safetensors.load_file("nothing.safetensors")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'nothing.safetensors'
    """
    with safe_open(filename, device=device, backend=backend) as file:
        return file.get_tensors()


class safe_open:
    """Open a file of the safetensors format and read from it what is asked for.

    Parameters
    ----------
    filename : str or path
    framework : "pt", "torch" or "pytorch", all of which give tensors of this library
    device : "cpu", or "meta" for tensors without data
    backend : "mmap" or "pread", accepted for PyTorch's sake

    Raises
    ------
    FileFormatError
        If the header is damaged, or the file is not in this format; it names the file.
    ValueError
        If framework or backend has another value.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import os, tempfile, tensorlab
    >>> from tensorlab import safetensors
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "x.safetensors")
    >>> safetensors.save_file({"x": tensorlab.arange(6).reshape(2, 3)}, path, {"unit": "metres"})
    >>> with safetensors.safe_open(path, framework="pt") as file:
    ...     print(file.keys(), file.metadata(), file.get_slice("x")[:, 1:])
    ['x'] {'unit': 'metres'} tensor([[1, 2],
            [4, 5]])
    >>> folder.cleanup()
    """

    def __init__(self, filename, framework="pt", device="cpu", *, backend="mmap"):
        if framework not in FRAMEWORKS:
            raise ValueError(
                f"safe_open: framework is {framework!r}; expected 'pt'. For arrays of NumPy use"
                " safetensors.safe_open of the library itself"
            )
        if backend not in BACKENDS:
            raise ValueError(f"safe_open: backend is {backend!r}; expected 'mmap' or 'pread'")
        self.device = as_device(device)
        empty((), device=self.device)  # refuses an accelerator before anything is read
        self.source = os.fsdecode(filename)
        self.file = open(filename, "rb")  # noqa: SIM115 - closed by __exit__
        try:
            self.read_header(filename)
        except BaseException:
            self.file.close()
            raise

    def read_header(self, filename):
        lib = library("safe_open")
        try:
            lib.safe_open(filename, framework="np")
        except lib.SafetensorError as error:
            raise FileFormatError(
                f"{self.source} is damaged, or not a file of safetensors: {error}"
            ) from error
        start = self.file.read(LENGTH.size)
        header = start + self.file.read(LENGTH.unpack(start)[0])
        self.entries, self.texts = parse_header(header, self.source)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.file.close()

    def keys(self):
        """Return the names of the tensors, sorted."""
        return sorted(self.offset_keys())

    def offset_keys(self):
        """Return the names of the tensors in the order in which they lie in the file."""
        self.check_open()
        return list(self.entries)

    def metadata(self):
        """Return the texts that are stored beside the tensors, as a dict, or None if there are none."""
        self.check_open()
        return None if self.texts is None else dict(self.texts)

    def get_tensor(self, name):
        """Return a tensor, in memory of its own.

        Raises
        ------
        KeyError
            If there is no tensor of this name.
        FileFormatError
            If the file has become shorter, or if a bool is neither 0 nor 1.
        DTypeError
            If tensorlab does not have the tensor's dtype.
        """
        entry = self.entry(name)
        x = new_tensor(name, entry, self.device, self.source)
        if self.device.type == "cpu":
            memory = memory_of(x)
            self.file.seek(entry.start)
            if self.file.readinto(memory) != len(memory):
                raise self.cut_off(name)
            check_bools(name, x, self.source)
        return x

    def get_tensors(self):
        """Return all tensors, as a dict by name."""
        return {name: self.get_tensor(name) for name in self.offset_keys()}

    def get_slice(self, name):
        """Return an object to index like the tensor; only what an index names is read.

        It has `get_shape()` and `get_dtype()`, too.

        Raises
        ------
        KeyError
            If there is no tensor of this name.
        """
        return TensorSlice(self, name, self.entry(name))

    def entry(self, name):
        self.check_open()
        if name not in self.entries:
            known = ", ".join(map(repr, list(self.entries)[:10])) or "none"
            raise KeyError(f"{self.source} has no tensor {name!r}; it has {known}")
        return self.entries[name]

    def check_open(self):
        if self.file.closed:
            raise ValueError(f"{self.source} is closed; read from it within the with statement")

    def cut_off(self, name):
        return FileFormatError(f"{self.source} is cut off: tensor {name!r} is not all there")


class TensorSlice:
    """A tensor in an open file, of which an index reads a part."""

    def __init__(self, opened, name, entry):
        self.opened, self.name, self.stored = opened, name, entry

    def get_shape(self):
        """Return the shape as a list."""
        return list(self.stored.shape)

    def get_dtype(self):
        """Return the format's name of the dtype, such as "F32"."""
        return self.stored.code

    def __getitem__(self, index):
        self.opened.check_open()
        entry, file = self.stored, self.opened.file
        dtype = dtype_of(self.name, entry, self.opened.source)
        is_aligned = entry.start % dtype.itemsize == 0
        if self.opened.device.type == "meta" or entry.start == entry.stop or not is_aligned:
            return self.opened.get_tensor(self.name)[index]
        if os.fstat(file.fileno()).st_size < entry.stop:
            raise self.opened.cut_off(self.name)
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        count = (entry.stop - entry.start) // dtype.itemsize
        whole = frombuffer(memory, dtype=dtype, count=count, offset=entry.start)
        part = whole.reshape(entry.shape)[index].clone()
        check_bools(self.name, part, self.opened.source)
        return part


# ---------------------------------------------------------------- the header
def parse_header(header, source):
    """Return {name: Entry}, in the order of the bytes, and the metadata or None; the library has checked the rest."""

    def unique(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise FileFormatError(f"{source} is damaged: its header has {twice!r} twice")
        return found

    found = json.loads(header[LENGTH.size :], object_pairs_hook=unique)
    texts = found.pop("__metadata__", None)
    entries = [
        (name, Entry(one["dtype"], tuple(one["shape"]), *shifted(one, len(header))))
        for name, one in found.items()
    ]
    entries.sort(key=lambda pair: (pair[1].start, pair[1].stop, pair[0]))
    return dict(entries), texts


def shifted(described, place):
    """Return where a tensor's bytes begin and end, counted from the start of the file."""
    return [place + offset for offset in described["data_offsets"]]


# ---------------------------------------------------------------- tensors
def dtype_of(name, entry, source):
    if entry.code not in DTYPE_OF_CODE:
        raise DTypeError(
            f"{source}: tensor {name!r} is {entry.code}, a dtype that tensorlab does not have;"
            " safe_open reads the others"
        )
    return DTYPE_OF_CODE[entry.code]


def new_tensor(name, entry, device, source):
    """Return the tensor that an entry describes, without its values."""
    dtype = dtype_of(name, entry, source)
    try:
        return empty(list(entry.shape), dtype=dtype, device=device)
    except ShapeError as error:  # the library counts bytes, and a shape with a 0 in it has none
        raise FileFormatError(f"{source} is damaged: tensor {name!r}: {error}") from error


def memory_of(x):
    """Return the bytes of a contiguous tensor as memory; an empty one has no storage to show."""
    return bytes_of(x.untyped_storage()) if x.numel() else memoryview(bytearray())


def check_bools(name, x, source):
    """Raise for bytes that are no truth value: an op may do anything with them."""
    if x.dtype is DTYPE_OF_CODE["BOOL"] and x.numel():
        largest = x.view(UINT8).max().item()
        if largest > 1:
            raise FileFormatError(
                f"{source} is damaged: tensor {name!r} is BOOL, and one of its bytes is {largest};"
                " expected 0 or 1"
            )
