"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from tensorlab.distributed.algorithms.join import Join as Join
from tensorlab.distributed.algorithms.join import JoinHook as JoinHook
from tensorlab.distributed.algorithms.join import Joinable as Joinable

__all__ = [
    "Join",
    "JoinHook",
    "Joinable",
]
