"""`multiprocessing`, with tensors whose memory is shared instead of copied.

Everything of Python's module is here under the same name. A tensor that goes through a queue or a pipe, or is an
argument of a process, arrives as a tensor over the same memory: what one process writes, the other one sees, and
nothing guards them against each other. `Tensor.share_memory_` and `Module.share_memory` move memory there beforehand,
for processes that are forked.

The process that sends a tensor must live until the other one has received it.
"""

import multiprocessing
from multiprocessing import *  # noqa: F403

from .._on_demand import on_demand
from . import reductions

OF_SPAWNING = (
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
)
__all__ = [
    *multiprocessing.__all__,
    *OF_SPAWNING,
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
]

STRATEGIES = "file_descriptor", "file_system"
strategy = STRATEGIES[0]
reductions.init_reductions()


def get_all_sharing_strategies():
    """Return the names that `set_sharing_strategy` takes."""
    return set(STRATEGIES)


def get_sharing_strategy():
    """Return the name that was set last."""
    return strategy


def set_sharing_strategy(new_strategy):
    """Take note of a strategy: "file_descriptor" or "file_system".

    Both share memory in the same way here, through descriptors of files without names. PyTorch's "file_system" gives
    names to them, which stay in /dev/shm when a process is killed.

    Raises
    ------
    ValueError
        If there is no strategy of that name.
    """
    global strategy
    if new_strategy not in STRATEGIES:
        raise ValueError(
            f"set_sharing_strategy: {new_strategy!r} is no strategy; expected one of {STRATEGIES}"
        )
    strategy = new_strategy


__getattr__, __dir__ = on_demand(__name__, (), dict.fromkeys(OF_SPAWNING, "spawning"))
