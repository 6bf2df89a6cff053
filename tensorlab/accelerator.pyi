"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "current_accelerator",
    "device_count",
    "is_available",
    "synchronize",
]

def current_accelerator(check_available: builtins.bool=False) -> Any: ...
def device_count() -> Any: ...
def is_available() -> Any: ...
def synchronize(device: Any=None) -> Any: ...
