"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.nn import Buffer as Buffer
from tensorlab.nn import Parameter as Parameter
from tensorlab.nn import UninitializedBuffer as UninitializedBuffer
from tensorlab.nn import UninitializedParameter as UninitializedParameter
from typing import Any
from tensorlab import Tensor

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "is_lazy",
]

def is_lazy(tensor: Tensor) -> Any: ...
