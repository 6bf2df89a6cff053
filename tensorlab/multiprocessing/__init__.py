"""`multiprocessing`, with tensors whose memory is shared instead of copied.

Everything of Python's module is here under the same name. A tensor that goes through a queue or a pipe, or is an
argument of a process, arrives as a tensor over the same memory: what one process writes, the other one sees, and
nothing guards them against each other. `Tensor.share_memory_` and `Module.share_memory` move memory there beforehand,
for processes that are forked.

The process that sends a tensor must live until the other one has received it.

Five classes of Python's have no words of their own. `Process(target=f, args=(...))` is a
process that calls `f` when its `start()` is called, and `join()` waits for its end.
`ProcessError` is the base of three errors: `AuthenticationError` (the other end of a connection
has another key), `BufferTooShort` (`recv_bytes_into` got more bytes than the buffer takes; they
are in `args[0]`) and `TimeoutError` (`AsyncResult.get(timeout)` waited in vain).
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


def get_context(method=None):  # type: ignore[no-redef]
    """Return an object with the functions of this module that starts processes in one way.

    Parameters
    ----------
    method : "fork", "spawn", "forkserver", or None for the way that is set

    Raises
    ------
    ValueError
        If the system has no such way.

    Examples
    --------
    >>> get_context("spawn").get_start_method()
    'spawn'
    """
    return multiprocessing.get_context(method)


def get_start_method(allow_none=False):  # type: ignore[no-redef]
    """Return how processes are started: "fork", "spawn" or "forkserver".

    Parameters
    ----------
    allow_none : bool; True returns None while no way is set, and False sets the system's own

    Examples
    --------
    >>> get_start_method() in get_all_start_methods()
    True
    """
    return multiprocessing.get_start_method(allow_none)


def get_all_start_methods():  # type: ignore[no-redef]
    """Return the ways of starting processes that the system has, its own first.

    Examples
    --------
    >>> "spawn" in get_all_start_methods()
    True
    """
    return multiprocessing.get_all_start_methods()


def set_start_method(method, force=False):  # type: ignore[no-redef]
    """Say how processes are started from now on; a program does it once, at its beginning.

    Parameters
    ----------
    method : "fork", "spawn", "forkserver", or None for the system's own
    force : bool, whether a way that is set already may change

    Raises
    ------
    RuntimeError
        If one is set already and `force` is False.
    ValueError
        If the system has no such way.

    Examples
    --------
    >>> set_start_method(get_start_method(), force=True)
    """
    multiprocessing.set_start_method(method, force)


def get_all_sharing_strategies():
    """Return the names that `set_sharing_strategy` takes.

    Examples
    --------
    >>> sorted(get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(STRATEGIES)


def get_sharing_strategy():
    """Return the name that was set last.

    Examples
    --------
    >>> get_sharing_strategy()
    'file_descriptor'
    """
    return strategy


def set_sharing_strategy(new_strategy):
    """Take note of a strategy: "file_descriptor" or "file_system".

    Both share memory in the same way here, through descriptors of files without names. PyTorch's "file_system" gives
    names to them, which stay in /dev/shm when a process is killed.

    Parameters
    ----------
    new_strategy : str, "file_descriptor" or "file_system"

    Raises
    ------
    ValueError
        If there is no strategy of that name.

    Examples
    --------
    >>> set_sharing_strategy("file_descriptor")
    """
    global strategy
    if new_strategy not in STRATEGIES:
        raise ValueError(
            f"set_sharing_strategy: {new_strategy!r} is no strategy; expected one of {STRATEGIES}"
        )
    strategy = new_strategy


__getattr__, __dir__ = on_demand(__name__, (), dict.fromkeys(OF_SPAWNING, "spawning"))
