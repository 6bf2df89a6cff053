"""A transform as a block: the level is there inside of it, and what goes wrong in it says so.

with recording("grad") as level: ...
"""

import traceback

from tensorlab._core.dispatch.levels import enter_level, leave_level
from tensorlab.func.batching import batching as batching_rules
from tensorlab.func.batching import run_batched
from tensorlab.func.pushing import pushing as pushing_rules
from tensorlab.func.pushing import run_pushed

RECORDS, PUSHES, BATCHES, REPLACES = range(4)
_PACKAGE = __name__.partition(".")[0]


def recording(transform):
    """A level that records: grad, vjp."""
    return _Running(transform, RECORDS)


def pushing(transform):
    """A level that computes tangents: jvp."""
    return _Running(transform, PUSHES, pushing_rules, run_pushed)


def batching(transform, size, randomness):
    """A level that computes for all examples of a batch: vmap."""
    return _Running(
        transform, BATCHES, batching_rules, run_batched, size=size, randomness=randomness
    )


def replacing(transform, run):
    """A level that gives boxes new values where the program writes: functionalize."""
    return _Running(transform, REPLACES, None, run)


class _Running:
    """The block; a class, as a generator takes three times as long."""

    __slots__ = ("arguments", "level", "settings")

    def __init__(self, *arguments, **settings):
        self.arguments, self.settings = arguments, settings

    def __enter__(self):
        self.level = enter_level(*self.arguments, **self.settings)
        return self.level

    def __exit__(self, cls, error, trace):
        if error is not None:
            _say_where(self.level, error)
        leave_level(self.level)


def _say_where(level, error):
    """Add a note to an error: in which transform, at which level, and in which line of the program."""
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
