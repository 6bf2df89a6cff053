"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any

__all__ = [
    "RankFailed",
    "spawn",
]

def spawn(fn: Any, args: Any=..., nprocs: builtins.int=2, *, seed: Any=None, timeout: builtins.float | None=None, init: builtins.bool=True) -> Any: ...


class RankFailed(RuntimeError):
    rank: Any
    def __init__(self, message: Any, rank: Any=None) -> None: ...
