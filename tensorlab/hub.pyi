"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from os import PathLike
from typing import Any, IO

__all__ = [
    "help",
    "list",
    "load",
]

def help(github: Any, model: Any, force_reload: builtins.bool=False, skip_validation: builtins.bool=False, trust_repo: Any=None) -> Any: ...
def list(github: Any, force_reload: builtins.bool=False, skip_validation: builtins.bool=False, trust_repo: Any=None, verbose: builtins.bool=True) -> Any: ...
def load(f: str | PathLike[str] | IO[bytes], map_location: Any=None, pickle_module: Any=None, *, weights_only: builtins.bool | None=None, mmap: builtins.bool | None=None, **pickle_load_args: Any) -> Any: ...
