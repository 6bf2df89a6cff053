"""save and save_file: which tensors can be written, and the writing."""

from typing import NamedTuple

from .._tensor import Tensor
from ..errors import MemoryLayoutError, NoDataError
from ..serialization.archive import replacing
from .library import library

__all__ = ["groups_that_share", "save", "save_file"]


def save(tensors, metadata=None):
    """Return tensors as bytes in the safetensors format.

    Parameters
    ----------
    tensors : dict from str to Tensor, each contiguous, and no two in the same memory
    metadata : dict from str to str, stored beside them

    Returns
    -------
    bytes, which `load` reads

    Raises
    ------
    ValueError
        If something is not a Tensor, not contiguous, or called "__metadata__".
    MemoryLayoutError
        If tensors share memory: the file would hold it twice, and loading would part them.
    NoDataError
        If a tensor lies on the device "meta".

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import safetensors
    >>> data = safetensors.save({"x": tensorlab.tensor([1.5, -2.0])})
    >>> safetensors.load(data)
    {'x': tensor([ 1.5000, -2.0000])}
    """
    return serialized(tensors, metadata, "save")


def save_file(tensors, filename, metadata=None):
    """Save tensors into a file in the safetensors format.

    Parameters
    ----------
    tensors : dict from str to Tensor, each contiguous, and no two in the same memory
    filename : str or path
    metadata : dict from str to str, stored beside them

    Raises
    ------
    ValueError
        If something is not a Tensor, not contiguous, or called "__metadata__".
    MemoryLayoutError
        If tensors share memory; `save_model` leaves out what is there twice.
    NoDataError
        If a tensor lies on the device "meta".
    OSError
        If it can't be written. A file that was there before is then still there, as it was.

    Notes
    -----
    The file is written beside the old one, and takes its place when it is complete on the disk.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> import tensorlab
    >>> from tensorlab.safetensors import load_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.safetensors")
    ...     save_file({"weight": tensorlab.ones(2)}, path)
    ...     print(load_file(path))
    {'weight': tensor([1., 1.])}
    """
    data = serialized(tensors, metadata, "save_file")  # before anything is opened
    with replacing(filename) as file:
        file.write(data)


def serialized(tensors, metadata, what):
    check(tensors, metadata, what)
    lib = library(what)
    specs = {
        name: lib.TensorSpec(
            dtype=str(x.dtype).partition(".")[2],
            shape=list(x.shape),
            data_ptr=x.data_ptr(),
            data_len=x.nbytes,
        )
        for name, x in tensors.items()
    }
    if not tensors and not metadata:
        metadata = (
            None  # of two empty dicts, version 0.8 of the library makes a header that is no JSON
        )
    return bytes(lib.serialize(specs, metadata=metadata))


# ---------------------------------------------------------------- what can be written
def check(tensors, metadata, what):
    """Raise for what the format has no place for."""
    if not isinstance(tensors, dict):
        raise ValueError(
            f"{what}: tensors is a {type(tensors).__name__}; expected a dict from str to Tensor"
        )
    for name, x in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"{what}: the name {name!r} is a {type(name).__name__}; expected a str")
        if name == "__metadata__":
            raise ValueError(
                f"{what}: a tensor is called '__metadata__', which is the format's own name for"
                " metadata; give it another"
            )
        if not isinstance(x, Tensor):
            raise ValueError(f"{what}: {name!r} is a {type(x).__name__}; expected a Tensor")
    for name, text in (metadata or {}).items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(
                f"{what}: metadata has {name!r}: {text!r}; expected str for both, such as str({text!r})"
            )
    check_memory(tensors, what)


def check_memory(tensors, what):
    """Raise for tensors without memory, in common memory, or with gaps."""
    for name, x in tensors.items():
        if x.device.type == "meta":
            raise NoDataError(f"{what}: {name!r} lies on the device 'meta', which has no data")
    shared = [sorted(group) for group in groups_that_share(tensors) if len(group) > 1]
    if shared:
        text = " and ".join(", ".join(map(repr, group)) for group in shared)
        raise MemoryLayoutError(
            f"{what}: tensors share memory: {text}. The file would hold it twice, and they would"
            " not share it after loading. Save one of them, or a clone() of each; save_model does"
            " that for a module"
        )
    for name, x in tensors.items():
        if not x.is_contiguous():
            raise ValueError(
                f"{what}: {name!r} is not contiguous: its shape is {tuple(x.shape)} and its stride"
                f" {x.stride()}. Save {name!r}.contiguous(), or the tensor that it is a view of"
            )


class Region(NamedTuple):
    """The memory from a tensor's first byte to its last."""

    start: int
    stop: int
    name: str


def region(name, x):
    last = sum((size - 1) * step for size, step in zip(x.shape, x.stride(), strict=True))
    return Region(x.data_ptr(), x.data_ptr() + (last + 1) * x.element_size(), name)


def groups_that_share(tensors):
    """Return lists of names, by address: in each, regions overlap from one to the next; empty tensors have none."""
    regions = [region(name, x) for name, x in tensors.items() if x.numel() and x.data_ptr()]
    groups, stop = [], 0
    for one in sorted(regions):
        if one.start >= stop:
            groups.append([])
        groups[-1].append(one.name)
        stop = max(stop, one.stop)
    return groups
