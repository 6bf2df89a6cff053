"""The tools of the book: tensorlab's own source by name, and exercises that check themselves.

In a chapter's notebook:

    from tensorlab.learn import check, hint, solution, source

    source("tensorlab/_core/engine/engine.pyx", "run")  # shows a piece of the shipped source
    check("18.2")                                # checks the function you have just defined

What `exercises.py` of a chapter is written with is here too: see `tensorlab.learn.exercise`.
"""

from .excerpts import PACKAGE_FOLDER, Region, find_region, regions, source
from .exercise import BugHunt, Exercise, ExerciseError, Wrong
from .expect import (
    called_names,
    credit,
    describe,
    expect,
    expect_error,
    measured_call,
    require,
)
from .practise import check, hint, solution, status

__all__ = [
    "BugHunt",
    "Exercise",
    "ExerciseError",
    "Region",
    "Wrong",
    "called_names",
    "check",
    "credit",
    "describe",
    "expect",
    "expect_error",
    "find_region",
    "hint",
    "measured_call",
    "regions",
    "require",
    "solution",
    "source",
    "status",
]
