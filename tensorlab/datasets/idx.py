"""IDX, the file format of MNIST: a few bytes about type and shape, then the numbers.

    0  0  type  dimensions | size of dimension 0 | size of dimension 1 | ... | the elements, row by row
    each size in four bytes, sizes and elements with the highest byte first

Source: Y. LeCun, C. Cortes, C. J. C. Burges, The MNIST database of handwritten digits.
"""

import math
import os

import numpy as np

from .._core.interop.arrays import from_numpy
from ..errors import FileFormatError

__all__ = ["read_idx"]

TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path, ndim=None):
    """Read an IDX file.

    Parameters
    ----------
    path : path of the file, not compressed
    ndim : int, the number of dimensions that it must have; any if not given

    Returns
    -------
    Tensor of the shape and type that the file names: uint8, int8, int16, int32, float32 or float64

    Raises
    ------
    FileFormatError
        If it isn't an IDX file, has another number of dimensions, or is shorter or longer than its shape says.
    """
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in TYPES:
        raise damaged(
            path, f"it begins with {data[:4]!r}, and an IDX file with two zeros and a type"
        )
    start = 4 + 4 * data[3]
    if len(data) < start:
        raise damaged(path, f"it ends within the sizes of its {data[3]} dimensions")
    shape = np.frombuffer(data[4:start], ">u4").tolist()
    if ndim not in (None, len(shape)):
        raise damaged(path, f"it has {len(shape)} dimensions; expected {ndim}")
    elements = np.dtype(TYPES[data[2]])
    expected = start + elements.itemsize * math.prod(shape)
    if len(data) != expected:
        raise damaged(
            path, f"it has {len(data)} bytes; expected {expected} for shape {tuple(shape)}"
        )
    array = np.frombuffer(data, elements, offset=start).reshape(shape)
    return from_numpy(array.astype(elements.newbyteorder("=")))


def damaged(path, what):
    return FileFormatError(
        f"read_idx: {os.fspath(path)} isn't a complete IDX file: {what}. Delete it and fetch it again"
    )
