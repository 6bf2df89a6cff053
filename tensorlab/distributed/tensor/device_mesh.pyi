"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.distributed import DeviceMesh as DeviceMesh
from typing import Any

__all__ = [
    "DeviceMesh",
    "init_device_mesh",
]

def init_device_mesh(device_type: str, mesh_shape: tuple[builtins.int, ...], *, mesh_dim_names: str | tuple[str, ...] | None=None, backend_override: Any=None) -> DeviceMesh: ...
