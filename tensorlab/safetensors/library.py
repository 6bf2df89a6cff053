"""The library `safetensors`, imported when it is needed, and what it calls the dtypes."""

import sys

from .._core.dtypes import BY_NAME
from ..errors import MissingExtra

__all__ = ["DTYPE_OF_CODE", "library"]

CODES = {  # what the header of a file says
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "C64": "complex64",
}
DTYPE_OF_CODE = {code: BY_NAME[name] for code, name in CODES.items()}


def library(what):
    """Return the module `safetensors`; `what` is the function that needs it.

    Files hold numbers with the smaller end first, and are read and written as they lie in memory. So another machine is
    refused, rather than given other numbers.
    """
    if sys.byteorder != "little":
        raise NotImplementedError(
            f"{what}: this machine keeps the larger end of a number first; files of safetensors are read and written"
            " on little-endian machines only. tensorlab.save and load work on both"
        )
    try:
        import safetensors
    except ImportError as error:
        raise MissingExtra(
            f"{what}: needs the library safetensors; install it with"
            ' pip install "tensorlab-book[safetensors]"'
        ) from error
    return safetensors
