"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "device_count",
    "empty_cache",
    "is_available",
    "manual_seed",
    "seed",
    "synchronize",
]

def device_count() -> Any: ...
def empty_cache() -> Any: ...
def is_available() -> Any: ...
def manual_seed(seed: Any) -> Any: ...
def seed() -> Any: ...
def synchronize() -> Any: ...
