"""A reader of pickles that hold NumPy arrays of bytes, numbers and strings, such as the files of CIFAR-10.

It is the machine of `tensorlab.serialization`, with other names: those that a pickled array mentions. Neither NumPy
nor anything else that a file names is called; stand-ins note what the file says, and the array is made here.
"""

import io
import math
import os

import numpy as np

from ..errors import FileFormatError, UnsafeGlobal
from ..serialization.unpickler import Unpickler

__all__ = ["read_arrays"]


def read_arrays(path):
    """Read a pickle in which dicts, lists, tuples, numbers, strings and arrays of bytes may stand.

    Parameters
    ----------
    path : path of the file, of pickle's protocol 2 to 5; strings of Python 2 are read as latin1

    Returns
    -------
    what was pickled; its arrays are NumPy's, of uint8

    Raises
    ------
    FileFormatError
        If the file is damaged, or holds something else. If it names a class or function, this is an UnsafeGlobal.
    """
    with open(path, "rb") as file:
        stream = io.BytesIO(file.read())
    reader = ArrayUnpickler(stream.read, stream.readline, refuse_reference)
    try:
        return finished(reader.load())
    except FileFormatError as error:
        raise type(error)(f"read_arrays: {os.fspath(path)}: {error}") from error


def refuse_reference(name):
    raise FileFormatError("it refers to another file")


class ElementType:
    """The dtype of an array in a file: its name, such as "u1"."""

    def __init__(self, name, *options):
        self.name = name

    def __setstate__(self, state):
        """Byte order and fields, which bytes don't have."""


class Array:
    """An array in a file: made empty, then given its shape and bytes."""

    def __init__(self, kind, shape, code):
        self.value = None

    def __setstate__(self, state):
        _, shape, elements, is_fortran, data = state
        if getattr(elements, "name", None) != "u1" or is_fortran:
            raise ValueError("an array doesn't hold bytes, row by row")
        data = data.encode("latin1") if isinstance(data, str) else data
        if not isinstance(data, bytes) or len(data) != math.prod(shape):
            raise ValueError(f"an array of shape {shape} doesn't have as many bytes")
        self.value = np.frombuffer(data, np.uint8).reshape(shape)


class ArrayClass:
    """The name of the class ndarray: an argument of the function that makes an array."""


NAMES = {
    **{f"numpy.{core}.multiarray._reconstruct": Array for core in ("core", "_core")},
    "numpy.ndarray": ArrayClass,
    "numpy.dtype": ElementType,
}


class ArrayUnpickler(Unpickler):
    """The machine that reads checkpoints, with the names of arrays alone."""

    def find(self, module, name):
        full = f"{module}.{name}"
        if full not in NAMES:
            raise UnsafeGlobal(f"the file names {full}, which is not allowed in a file of arrays")
        return NAMES[full]

    def may_call(self, function):
        return function in (Array, ElementType)

    def is_allowed(self, kind):
        return kind in (Array, ElementType)


def finished(value):
    """Return a value with the arrays instead of what stood in for them."""
    if isinstance(value, Array):
        if value.value is None:
            raise FileFormatError("an array has neither shape nor bytes")
        return value.value
    if isinstance(value, dict):
        return {key: finished(part) for key, part in value.items()}
    return [finished(part) for part in value] if isinstance(value, list) else value
