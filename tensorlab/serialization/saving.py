"""save: objects and the memory of their tensors into one file."""

import os

from .._core.profiling import Range
from .archive import replacing
from .pickler import dumps
from .storages import bytes_of
from .writing import Writer

__all__ = ["save"]


def save(
    obj,
    f,
    pickle_module=None,
    pickle_protocol=2,
    _use_new_zipfile_serialization=True,
    _disable_byteorder_record=False,
):
    """Save an object into a file that `load` reads, and PyTorch's `torch.load`.

    Parameters
    ----------
    obj : tensors, and containers of them: a state dict, lists, numbers, text. Tensors over one
        storage share it after loading, too. A whole storage is saved even if a tensor shows a
        part of it: save a clone of a small view
    f : str, path or file that is open for writing bytes
    pickle_module, pickle_protocol, _use_new_zipfile_serialization, _disable_byteorder_record :
        accepted for PyTorch's sake; the format is always the newer one

    Raises
    ------
    OSError
        If it can't be written. A file at a path that was there before is then still there, as it was.

    Notes
    -----
    At a path the file is written beside the old one, and takes its place when it is complete on the disk.

    Examples
    --------
    >>> import io
    >>> import tensorlab
    >>> file = io.BytesIO()
    >>> save({"weight": tensorlab.ones(2)}, file)
    >>> file.seek(0)
    0
    >>> tensorlab.load(file)
    {'weight': tensor([1., 1.])}
    """
    with Range("tensorlab.save"):
        write_to(obj, f)


def write_to(obj, f):
    """Save an object at a path, or into a file."""
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0]
        pickled = dumps(obj)  # before anything is opened
        with replacing(f) as file:
            write(Writer(file, name, is_ours=True), *pickled)
        return
    write(Writer(f, "archive"), *dumps(obj))


def write(writer, pickled, storages):
    try:
        writer.add("data.pkl", pickled)
        for key, storage in enumerate(storages):
            writer.add(f"data/{key}", bytes_of(storage) if len(storage) else b"")
        writer.close()
    except BaseException:
        writer.abandon()
        raise
