"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from os import PathLike
from typing import Any, IO

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]

def add_safe_globals(safe_globals: Any) -> Any: ...
def clear_safe_globals() -> Any: ...
def get_safe_globals() -> Any: ...
def get_unsafe_globals_in_checkpoint(f: Any) -> Any: ...
def load(f: str | PathLike[str] | IO[bytes], map_location: Any=None, pickle_module: Any=None, *, weights_only: builtins.bool | None=None, mmap: builtins.bool | None=None, **pickle_load_args: Any) -> Any: ...
def safe_globals(safe_globals: Any) -> Any: ...
def save(obj: object, f: str | PathLike[str] | IO[bytes], pickle_module: Any=None, pickle_protocol: builtins.int=2, _use_new_zipfile_serialization: builtins.bool=True, _disable_byteorder_record: builtins.bool=False) -> None: ...
