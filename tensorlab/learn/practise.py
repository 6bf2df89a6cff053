"""Practising in a notebook: `check("03.2")`, `hint("03.2")`, `solution("03.2")`, `status()`.

The functions print; the command line's commands have the same names and do the same with a file.
"""

import sys

from .exercise import BugHunt, ExerciseError, all_chapters, find
from .judge import Verdict, judge
from .progress import Progress
from .report import WIDTH, report
from .workbook import wrapped

__all__ = ["check", "hint", "solution", "status"]


def check(identity, names=None):
    """Check the reader's answer to an exercise, or to all exercises of a chapter, and print.

    Parameters
    ----------
    identity : str, "03.2" or "03"
    names : dict, the reader's names; by default those of the cell or file that calls

    Raises
    ------
    ExerciseError
        If there is no such exercise.
    """
    if names is None:
        names = sys._getframe(1).f_globals
    _, exercises = find(identity)
    verdicts = [judge(exercise, names) for exercise in exercises]
    print(report(verdicts, hint='hint("{}")'))
    keep(verdicts)


def keep(verdicts: list[Verdict]):
    progress = Progress()
    progress.note_verdicts(verdicts)
    for note in (progress.note, progress.save()):
        if note:
            print(note)


def hint(identity):
    """Print the next hint of an exercise, after those that were given already."""
    print(hint_text(identity))


def solution(identity):
    """Print the solution of an exercise, why it is right, and what people get wrong."""
    print(solution_text(identity))


def status():
    """Print how far the reader is in every chapter."""
    print(status_text())


# ---------------------------------------------------------------- the texts


def one(identity):
    """Return the single exercise that is meant."""
    chapter, exercises = find(identity)
    if len(exercises) > 1:
        known = ", ".join(exercise.id for exercise in exercises)
        raise ExerciseError(f"which exercise of chapter {chapter.number}? It has {known}")
    return exercises[0]


def hint_text(identity):
    exercise = one(identity)
    progress = Progress()
    entry = progress.of(exercise.id)
    was_last = entry["hints"] >= len(exercise.hints)
    entry["hints"] = min(entry["hints"] + 1, len(exercise.hints))
    note = progress.save()
    lines = [f"{exercise.id} {exercise.title}"]
    for number, text in enumerate(exercise.hints[: entry["hints"]], start=1):
        lines.append(wrapped(f"Hint {number} of {len(exercise.hints)}: {text}", WIDTH))
    if was_last:
        lines.append(f"There are no more. The solution: tensorlab solution {exercise.id}")
    return "\n\n".join([*lines, *([note] if note else [])])


def solution_text(identity):
    exercise = one(identity)
    if not exercise.solution:
        raise ExerciseError(
            f"these exercises came without solutions; those who gave you {exercise.id} have it"
        )
    progress = Progress()
    progress.of(exercise.id)["solution_seen"] = True
    note = progress.save()
    reason = wrapped(exercise.reason, WIDTH)
    lines = [f"{exercise.id} {exercise.title}", exercise.solution, reason]
    if issubclass(exercise, BugHunt):
        lines += [f"Planted: {planted}" for planted in exercise.planted]
    for wrong in exercise.wrong:
        why = wrapped(f"A common wrong answer: {wrong.why}", WIDTH)
        lines.append(f"{why}\n\n{indented(wrong.code)}")
    return "\n\n".join([*lines, *([note] if note else [])])


def indented(code):
    return "\n".join(f"    {line}".rstrip() for line in code.split("\n"))


def status_text():
    progress = Progress()
    lines = [progress.note] if progress.note else []
    for chapter in all_chapters():
        solved = sum(progress.of(e.id)["solved"] is not None for e in chapter.exercises)
        lines.append(f"{chapter.number} {chapter.title}: {solved} of {len(chapter.exercises)}")
        lines += [
            f"   {exercise.id} {exercise.title} · {story(progress.of(exercise.id))}"
            for exercise in chapter.exercises
        ]
    return "\n".join(lines)


def story(entry):
    """Return one exercise's record in words."""
    tries = f"{entry['tries']} {'try' if entry['tries'] == 1 else 'tries'}"
    parts = []
    if entry["solved"]:
        parts.append(f"solved on {entry['solved'][:10]} ({tries})")
    elif entry["tries"]:
        parts.append(tries)
    else:
        parts.append("not begun")
    if entry["hints"]:
        parts.append(f"{entry['hints']} {'hint' if entry['hints'] == 1 else 'hints'}")
    if entry["solution_seen"]:
        parts.append("solution seen")
    return ", ".join(parts)
