"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab.distributed import DeviceMesh

__all__ = [
    "implicit_replication",
    "local_map",
]

def implicit_replication() -> Any: ...
def local_map(func: Any=None, out_placements: Any=None, in_placements: Any=None, in_grad_placements: Any=None, device_mesh: DeviceMesh | None=None, *, redistribute_inputs: builtins.bool=False) -> Any: ...
