"""What a course decides about grades: points, weights, deadlines and partial credit, in one file.

late = 0.5          # the share of its points that a late answer keeps; 0 unless given
grace = 10          # minutes after a deadline that still count as in time; 0 unless given
partial = true      # what an answer has earned before it fails counts; true unless given

[points]            # of exercises; 1 unless given here or by the exercise itself
"03.1" = 2

[weights]           # of chapters: their points are multiplied; 1 unless given
"18" = 1.5

[deadlines]         # of chapters, compared with the time at which a file was written
"03" = 2026-11-08T23:59:00
"""

import math
import tomllib
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from datetime import time as time_of_day

from .exercise import ExerciseError, split_identity

KNOWN = {"late", "grace", "partial", "points", "weights", "deadlines"}


@dataclass(frozen=True)
class Course:
    """The rules of one course.

    Attributes
    ----------
    late : float, from 0 to 1, the share that a late answer keeps
    grace : float, minutes
    partial : bool, whether what is not quite right earns a part of the points
    points : dict from "03.1" to a number
    weights : dict from "03" to a number
    deadlines : dict from "03" to a datetime; one without a time zone is local time
    """

    late: float = 0.0
    grace: float = 0.0
    partial: bool = True
    points: dict = field(default_factory=dict)
    weights: dict = field(default_factory=dict)
    deadlines: dict = field(default_factory=dict)

    def most(self, exercise):
        """Return how many points a right answer to an exercise earns."""
        points = self.points.get(exercise.id, exercise.points)
        return points * self.weights.get(exercise.id[:2], 1)

    def earned(self, exercise, verdict, is_late):
        """Return the points that an answer has earned."""
        share = 1.0 if verdict.is_right else verdict.credit if self.partial else 0.0
        return self.most(exercise) * share * (self.late if is_late else 1.0)

    def is_late(self, number, path):
        """Say whether a file was written after the deadline of a chapter, and its grace."""
        deadline = self.deadlines.get(number)
        if deadline is None:
            return False
        written = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        return written > deadline.astimezone() + timedelta(minutes=self.grace)


def read_course(path):
    """Return the Course that the file `path` describes.

    Raises
    ------
    ExerciseError
        If the file can't be read, or holds what is no rule.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ExerciseError(f"{path} can't be read: {error}") from error
    if unknown := sorted(set(data) - KNOWN):
        raise ExerciseError(
            f"{path}: {unknown[0]} is no rule; known are {', '.join(sorted(KNOWN))}"
        )
    tables = {name: data.get(name, {}) for name in ("points", "weights", "deadlines")}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ExerciseError(f"{path}: {name} is {table!r}; it is a table, [{name}]")
    points = {full(key, path): number(path, key, value) for key, value in tables["points"].items()}
    weights = {
        split_identity(key)[0]: number(path, key, value) for key, value in tables["weights"].items()
    }
    deadlines = {
        split_identity(key)[0]: moment(path, key, value)
        for key, value in tables["deadlines"].items()
    }
    late = number(path, "late", data.get("late", 0.0))
    if late > 1:
        raise ExerciseError(f"{path}: late is {late:g}; it is a share, from 0 to 1")
    grace = number(path, "grace", data.get("grace", 0.0))
    partial = data.get("partial", True)
    if not isinstance(partial, bool):
        raise ExerciseError(f"{path}: partial is {partial!r}; it is true or false")
    return Course(late, grace, partial, points, weights, deadlines)


def full(identity, path):
    """Return "03.1" of an exercise that a table names."""
    _, single = split_identity(identity)
    if single is None:
        raise ExerciseError(f'{path}: points are of exercises, such as "{identity}.1"')
    return single


def number(path, name, value):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise ExerciseError(f"{path}: {name} is {value!r}; it is a number, 0 or more")
    return value


def moment(path, name, value):
    """Return a deadline as a datetime; a day alone ends at midnight."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value + timedelta(days=1), time_of_day())
    raise ExerciseError(f"{path}: {name} is {value!r}; write a time, such as 2026-11-08T23:59:00")
