"""For those who teach: the grading of what a class hands in.

    submissions/ada/03.py        what Ada handed in; submissions/ada-03.py, a notebook 03.ipynb and
                                 submissions/ada/tensorlab-exercises/03.py are found as well

A student's program runs in a process of its own that only answers questions (`witness`); the
checks run in another (`referee`), so a verdict can't be forged. It still runs as you and on
your machine: use a sandbox, or an account that has nothing to lose.
"""

import csv
import io
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .answers import check_apart
from .cells import read_sections
from .course import Course
from .exercise import ExerciseError, exercise_files, load_chapter
from .judge import SECONDS
from .similar import similar
from .workbook import FOLDER

COLUMNS = (
    *("student", "exercise", "title", "kind", "state", "passed", "points", "of", "late"),
    *("judged", "remark", "seconds", "file"),
)
SUFFIXES = (".py", ".ipynb")


def submissions(folder):
    """Yield (student, chapter number, path) of every submission under `folder`, sorted."""
    known = exercise_files()
    found = []
    for path in sorted(Path(folder).rglob("*")):
        parts = path.relative_to(folder).parts
        match = re.fullmatch(r"(?:(?P<student>.+)[-_])?(?P<number>\d\d)", path.stem)
        if match is None or match["number"] not in known or path.suffix not in SUFFIXES:
            continue
        if not path.is_file() or path.is_symlink():  # a link could lead to another's file
            continue
        homes = [part for part in parts[:-1] if part != FOLDER]
        student = match["student"] or (homes[0] if homes else "")
        if student and not student.startswith("."):
            found.append((student, match["number"], path))
    return sorted(found, key=lambda entry: (entry[0], entry[1], str(entry[2])))


def handed_in(folder):
    """Return {(student, chapter number): path}: of several files, the one that was written last."""
    found = {}
    for student, number, path in submissions(folder):
        before = found.get((student, number))
        if before is None or path.stat().st_mtime > before.stat().st_mtime:
            found[student, number] = path
    return found


def grade(
    folder,
    numbers=None,
    *,
    seconds=SECONDS,
    course=None,
    jobs=1,
    sandbox=None,
    tell=lambda text: None,
):
    """Return one row, a dict with COLUMNS, for every student and exercise.

    Parameters
    ----------
    folder : path of the submissions
    numbers : list of str, the chapters to grade; default: those that someone handed in
    seconds : float, how long each exercise may take
    course : Course or None, points, weights and deadlines; a point for each exercise unless given
    jobs : int, how many files are judged at a time
    sandbox : str or None, as for `sandbox.named`
    tell : function of str, called before each file is checked

    Returns
    -------
    list of dict; "verdict" holds the whole Verdict, or None if nothing could be checked. A student
    who handed in nothing for a chapter has rows with the state "not handed in".
    """
    course = course or Course()
    files = handed_in(folder)
    students = sorted({student for student, _ in files})
    if numbers is None:
        numbers = sorted({number for _, number in files})
    chapters = [load_chapter(number) for number in numbers]

    def graded(place):
        student, chapter = place
        path = files.get((student, chapter.number))
        tell(f"{student}: chapter {chapter.number}")
        return grade_file(student, chapter, path, seconds, course, sandbox, folder)

    places = [(student, chapter) for student in students for chapter in chapters]
    with ThreadPoolExecutor(max(jobs, 1)) as pool:  # each waits for processes
        return [row for rows in pool.map(graded, places) for row in rows]


def grade_file(student, chapter, path, seconds, course, sandbox, root):
    """Return the rows of one student and one chapter."""
    is_late = path is not None and course.is_late(chapter.number, path)
    base = {"student": student, "file": str(path or ""), "late": is_late}
    if path is None:
        outcomes = [("not handed in", "", None)] * len(chapter.exercises)
    else:
        try:
            verdicts = check_apart(
                path, chapter.number, seconds=seconds, sandbox=sandbox, root=root
            )
        except Exception as error:  # a file that is no text, say
            outcomes = [("unreadable", str(error), None)] * len(chapter.exercises)
        else:
            outcomes = [(verdict.state, short(verdict), verdict) for verdict in verdicts]
    return [
        {
            **base,
            "exercise": exercise.id,
            "title": exercise.title,
            "kind": exercise.kind,
            "state": state,
            "passed": state == "right",
            "points": round(course.earned(exercise, verdict, is_late), 4) if verdict else 0.0,
            "of": course.most(exercise),
            "judged": "beside" if exercise.beside else "apart",
            "remark": remark,
            "seconds": round(verdict.seconds, 2) if verdict else 0.0,
            "verdict": verdict,
        }
        for exercise, (state, remark, verdict) in zip(chapter.exercises, outcomes, strict=True)
    ]


def processors():
    """Return how many processes may run at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def alike(folder, numbers=None, least=0.8):
    """Return the Pairs of answers in a folder of submissions that are alike: see `similar`."""
    pieces = {}
    for (student, number), path in handed_in(folder).items():
        if numbers is None or number in numbers:
            try:
                pieces[student, number] = read_sections(path, load_chapter(number))
            except ExerciseError:
                continue  # `grade` says what is wrong with it
    pairs = []
    for number in sorted({number for _, number in pieces}):
        for exercise in load_chapter(number).exercises:
            answers = {
                (exercise.id, student): own[exercise.id]
                for (student, chapter), own in sorted(pieces.items())
                if chapter == number and exercise.id in own
            }
            pairs += similar(answers, exercise.stub, least)
    return pairs


def short(verdict):
    """Return what is wrong in one line, for a table."""
    last = verdict.trace.strip().split("\n")[-1] if verdict.state == "error" else ""
    pieces = [verdict.remark, last]
    if verdict.came and verdict.expected:
        pieces.append(f"came {verdict.came}, expected {verdict.expected}")
    return "" if verdict.is_right else " ".join(" ".join(filter(None, pieces)).split())


def as_csv(rows):
    """Return rows as CSV; a cell that a spreadsheet would take for a formula is made text."""
    target = io.StringIO()
    writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: harmless(row[name]) for name in COLUMNS})
    return target.getvalue()


def harmless(cell):
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") else cell


def as_json(rows):
    return json.dumps([{name: row[name] for name in COLUMNS} for row in rows], indent=1) + "\n"


def as_table(rows):
    """Return one line for each student: what was right of each chapter and in all, and the points."""
    chapters = sorted({row["exercise"][:2] for row in rows})
    lines = [f"{'student':20}" + "".join(f"{name:>8}" for name in [*chapters, "all", "points"])]
    for student in dict.fromkeys(row["student"] for row in rows):
        own = [row for row in rows if row["student"] == student]
        cells = [[row for row in own if row["exercise"].startswith(n)] for n in chapters]
        text = "".join(f"{score(cell):>8}" for cell in [*cells, own])
        points = f"{sum(row['points'] for row in own):g}/{sum(row['of'] for row in own):g}"
        lines.append(f"{student[:19]:20}{text}{points:>8}")
    return "\n".join(lines) + "\n"


def score(rows):
    return f"{sum(row['passed'] for row in rows)}/{len(rows)}"
