"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab.distributed import DistError

__all__ = [
    "RankFailed",
    "spawn",
]

def spawn(fn: Any, args: tuple[Any, ...]=..., nprocs: builtins.int=2, *, seed: Any=None, timeout: builtins.float | None=None, init: builtins.bool=True) -> Any: ...


class RankFailed(DistError):
    rank: Any
    def __init__(self, message: Any, rank: builtins.int | None=None) -> None: ...
