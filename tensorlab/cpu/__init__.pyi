"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.cpu import amp as amp
from typing import Any

__all__ = [
    "amp",
    "current_device",
    "device_count",
    "get_capabilities",
    "is_available",
    "synchronize",
]

def current_device() -> Any: ...
def device_count() -> Any: ...
def get_capabilities() -> Any: ...
def is_available() -> Any: ...
def synchronize(device: Any=None) -> Any: ...
