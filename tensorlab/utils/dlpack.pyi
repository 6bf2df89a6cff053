"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from enum import IntEnum
from typing import Any
from tensorlab import _Device
from tensorlab import Tensor

__all__ = [
    "DLDeviceType",
    "from_dlpack",
    "to_dlpack",
]

def from_dlpack(ext_tensor: Any, *, device: _Device | None=None, copy: builtins.bool | None=None) -> Tensor: ...
def to_dlpack(tensor: Tensor) -> Any: ...


class DLDeviceType(IntEnum):
    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
