"""The processor's memory as a program sees it: how much tensors hold, which lines made them,
and a limit.

    print(memory_summary())                 # a table
    with MemoryHistory() as history:        # each block, with the line that made it
        train()
    history.live()                          # what is still there, the largest first
    viz.memory(history)                     # the picture over time

A history costs about two microseconds a block while it is recorded, and nothing else does.
"""

import linecache
import os
import sys
import threading
from typing import NamedTuple

from tensorlab import _missing
from tensorlab._core import storage as _storage
from tensorlab._core.storage import get_memory_limit, memory_stats, set_memory_limit, watch_memory

__all__ = [
    "Block",
    "MemoryHistory",
    "get_per_process_memory_fraction",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]

reset_peak_memory_stats = _storage.reset_peak_memory_stats


# ---------------------------------------------------------------- how much
def memory_allocated(device=None) -> int:
    """Bytes of the blocks that storages hold now, as they were rounded up.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.empty(1_000_000)
    >>> memory_allocated() >= x.nbytes
    True
    """
    return memory_stats()["allocated_bytes"]


def max_memory_allocated(device=None):
    """The most that it was, since the start or since `reset_peak_memory_stats`.

    Examples
    --------
    >>> max_memory_allocated() >= memory_allocated()
    True
    """
    return memory_stats()["peak_bytes"]


def memory_reserved(device=None):
    """Bytes that the allocator holds: those in use, and those that it keeps for the next who asks.

    Examples
    --------
    >>> memory_reserved() >= memory_allocated()
    True
    """
    return memory_stats()["allocated_bytes"] + memory_stats()["cached_bytes"]


def memory_summary(device=None, abbreviated=False):
    """Return what the allocator has counted, as a table.

    >>> print(memory_summary())    # doctest: +ELLIPSIS
    Memory of the cpu         now        most
    --------------------...
    """
    stats = memory_stats()
    limit = get_memory_limit()
    rows = [
        ("in use by tensors", spelled(stats["allocated_bytes"]), spelled(stats["peak_bytes"])),
        ("kept for later", spelled(stats["cached_bytes"]), spelled(stats["cache_limit_bytes"])),
    ]
    if not abbreviated:
        rows += [
            ("limit", spelled(limit) if limit else "none", ""),
            ("blocks given out", f"{stats['allocations']:,}", ""),
            ("of those, from the cache", f"{stats['cache_hits']:,}", ""),
        ]
    lines = [f"{'Memory of the cpu':<24}{'now':>12}{'most':>12}", "-" * 48]
    return "\n".join([*lines, *(f"{name:<24}{now:>12}{most:>12}" for name, now, most in rows)])


def spelled(nbytes):
    """Bytes with a unit: 1.5 MiB."""
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if nbytes >= unit:
            return f"{nbytes / unit:.1f} {name}"
    return f"{nbytes} B"


# ---------------------------------------------------------------- who made it
class Block(NamedTuple):
    """A block of memory.

    `line` is the program's line that made it, `made` and `freed` count the events of the
    history; `freed` is None while it is in use.
    """

    address: int
    nbytes: int
    line: str
    made: int
    freed: int | None


class MemoryHistory:
    """A block in which each piece of memory that a tensor takes is noted, with the line that
    made it.

    Parameters
    ----------
    max_entries : int, how many events are kept, the latest ones

    Attributes
    ----------
    blocks : list of Block, in the order in which they were made

    Examples
    --------
    >>> import tensorlab
    >>> with MemoryHistory() as history:
    ...     x = tensorlab.ones(1000)
    ...     y = x + 1
    ...     del x
    >>> [block.nbytes for block in history.blocks], [block.nbytes for block in history.live()]
    ([4032, 4032], [4032])
    """

    def __init__(self, max_entries=sys.maxsize):
        self.max_entries = max_entries
        self.events, self._live, self._ended = 0, {}, []
        self._lock = threading.RLock()

    def __enter__(self):
        if RECORDING:
            raise RuntimeError("MemoryHistory: another history is being recorded; end it first")
        RECORDING.append(self)
        watch_memory(self._note)
        return self

    def __exit__(self, *exception):
        watch_memory(None)
        RECORDING.remove(self)

    def _note(self, address, nbytes):
        with self._lock:
            self.events += 1
            if nbytes > 0:
                self._live[address] = Block(address, nbytes, line_of_program(), self.events, None)
                return
            block = self._live.pop(address, None)  # None: it was made before
            if block is not None:
                self._ended.append(block._replace(freed=self.events))
                if len(self._ended) > self.max_entries:
                    del self._ended[: len(self._ended) - self.max_entries]

    @property
    def blocks(self):
        """All blocks that were made since the history began."""
        with self._lock:
            return sorted([*self._ended, *self._live.values()], key=lambda block: block.made)

    def live(self):
        """The blocks that are in use, the largest first."""
        with self._lock:
            return sorted(self._live.values(), key=lambda block: -block.nbytes)

    def by_line(self):
        """{line: bytes in use that it made}, the most first."""
        totals = {}
        for block in self.live():
            totals[block.line] = totals.get(block.line, 0) + block.nbytes
        return dict(sorted(totals.items(), key=lambda item: -item[1]))

    def peak(self):
        """(bytes, number of the event): the most that the blocks of this history took at once."""
        changes = []
        for block in self.blocks:
            changes.append((block.made, block.nbytes))
            if block.freed is not None:
                changes.append((block.freed, -block.nbytes))
        most, when, total = 0, 0, 0
        for event, change in sorted(changes):
            total += change
            if total > most:
                most, when = total, event
        return most, when


RECORDING: list = []  # the history that is being recorded
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def line_of_program():
    """ "file:line" of the line outside of tensorlab that is being executed."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def readable(line):
    """ "file:line" for a person: the code instead, if the file is a notebook's cell, whose name is
    a number.
    """
    path, _, number = line.rpartition(":")
    if not os.path.basename(os.path.dirname(path)).startswith("ipykernel_"):
        return line
    return f"line {number} of a cell: {linecache.getline(path, int(number)).strip()}"


def memory_snapshot():
    """Return the blocks that are in use, as dicts: those of the history that is being recorded.

    Raises
    ------
    RuntimeError
        If none is.

    Examples
    --------
    >>> import tensorlab
    >>> with MemoryHistory() as history:
    ...     x = tensorlab.empty(1000)
    ...     print(len(memory_snapshot()))
    1
    """
    if not RECORDING:
        raise RuntimeError(
            "memory_snapshot: no history is being recorded; enter a MemoryHistory first"
        )
    return [block._asdict() for block in RECORDING[0].live()]


# ---------------------------------------------------------------- a limit
LIMIT = {"fraction": 1.0, "history": None}
SHOWN = 5  # lines in the message


def machine_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def set_per_process_memory_fraction(fraction, device=None):
    """Let tensors take at most this part of the machine's memory; what goes beyond raises an
    error that says who has it.

    From then on the lines that make tensors are noted, which costs two microseconds each. 1.0
    takes the limit away.

    Raises
    ------
    ValueError
        For a fraction outside of 0 to 1.

    Examples
    --------
    >>> set_per_process_memory_fraction(0.5)
    >>> get_per_process_memory_fraction()
    0.5
    >>> set_per_process_memory_fraction(1.0)
    """
    if (
        isinstance(fraction, bool)
        or not isinstance(fraction, (int, float))
        or not 0 <= fraction <= 1
    ):
        raise ValueError(
            f"set_per_process_memory_fraction: the fraction is {fraction!r}; it must be from 0 to 1"
        )
    LIMIT["fraction"] = float(fraction)
    if LIMIT["history"] is not None:
        LIMIT["history"].__exit__(None, None, None)
        LIMIT["history"] = None
    if fraction == 1:
        set_memory_limit(0, None)
        return
    if not RECORDING:
        LIMIT["history"] = MemoryHistory().__enter__()
    set_memory_limit(max(1, int(machine_memory() * fraction)), explain_limit)


def get_per_process_memory_fraction(device=None):
    """Return the part of the machine's memory that tensors may take; 1.0 where there is no limit.

    Examples
    --------
    >>> get_per_process_memory_fraction()
    1.0
    """
    return LIMIT["fraction"]


def explain_limit(nbytes):
    """The message for a request that goes beyond the limit."""
    text = (
        f"cannot allocate {spelled(nbytes)}: tensors hold {spelled(memory_allocated())}, and "
        f"the limit is "
        f"{spelled(get_memory_limit())} (set_per_process_memory_fraction)"
    )
    if not RECORDING:
        return text
    lines = list(RECORDING[0].by_line().items())[:SHOWN]
    made = "\n".join(f"{spelled(total):>12}  {readable(line)}" for line, total in lines)
    return (
        f"{text}. Most of what was made since it was set is of these lines:\n{made}"
        if lines
        else text
    )


__getattr__ = _missing.refusing(__name__)
