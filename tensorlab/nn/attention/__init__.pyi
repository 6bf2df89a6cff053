"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.nn.attention import bias as bias
from enum import IntEnum
from typing import Any

__all__ = [
    "SDPBackend",
    "WARN_FOR_UNFUSED_KERNELS",
    "bias",
    "sdpa_kernel",
]

WARN_FOR_UNFUSED_KERNELS: builtins.bool

def sdpa_kernel(backends: Any, set_priority: builtins.bool=False) -> Any: ...


class SDPBackend(IntEnum):
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4
