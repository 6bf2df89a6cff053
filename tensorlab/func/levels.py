"""A transform as a block: the level is there inside of it, and what goes wrong in it says so."""

import traceback
from contextlib import contextmanager

from tensorlab._core.dispatch.levels import enter_level, leave_level
from tensorlab.func.batching import run_batched
from tensorlab.func.pushing import run_pushed

RECORDS, PUSHES, BATCHES = range(3)
_PACKAGE = __name__.partition(".")[0]


@contextmanager
def recording(transform):
    """A level that records: grad, vjp."""
    with _level(transform, RECORDS) as level:
        yield level


@contextmanager
def pushing(transform):
    """A level that computes tangents: jvp."""
    with _level(transform, PUSHES, run_pushed) as level:
        yield level


@contextmanager
def batching(transform, size, randomness):
    """A level that computes for all examples of a batch: vmap."""
    with _level(transform, BATCHES, run_batched, size, randomness) as level:
        yield level


@contextmanager
def _level(transform, kind, rules=None, size=0, randomness="error"):
    level = enter_level(transform, kind, rules, size, randomness)
    try:
        yield level
    except Exception as error:
        _say_where(level, error)
        raise
    finally:
        leave_level(level)


def _say_where(level, error):
    """Add a note to an error: in which transform, at which level, and in which line of the program it was raised."""
    lines = [
        (frame, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__", "").partition(".")[0] != _PACKAGE
    ]
    where = ""
    if lines:
        frame, line = lines[-1]
        where = f", in {frame.f_code.co_name}, {frame.f_code.co_filename}:{line}"
    note = f"raised inside of {level.transform}, level {level.number}{where}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
