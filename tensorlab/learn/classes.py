"""For those who teach: the files that a class gets, and the grading of what it hands in.

    stubs/03.py                  what a student fills in
    submissions/ada/03.py        what Ada handed in; submissions/ada-03.py and
                                 submissions/ada/tensorlab-exercises/03.py are found as well

Grading runs students' programs, each in a process of its own with a time limit, but as you and on
your machine: use an account or a container that has nothing to lose.
"""

import csv
import io
import json
import re
from pathlib import Path

from .answers import check_file
from .exercise import exercise_files, load_chapter
from .judge import SECONDS
from .workbook import FOLDER, file_text

COLUMNS = ("student", "exercise", "title", "kind", "state", "passed", "remark", "seconds", "file")
README = """\
Exercises of chapter(s) {numbers}
{line}

You need Python 3.11 or newer and tensorlab. Fill in the stubs of NN.py, and check them as often as
you like, without a network:

    tensorlab check {first} --file {first}.py      all exercises of chapter {first}
    tensorlab check {first}.1 --file {first}.py    one alone
    tensorlab hint {first}.1                 the next hint

Leave the lines that begin with `# %%` as they are. Hand in the files NN.py.
"""


def export(numbers, folder):
    """Write the stubs of some chapters for a class; return the paths of the new files.

    Nothing that is there already is overwritten: FileExistsError names it, and nothing is written.
    """
    folder = Path(folder)
    texts = {}
    for number in numbers:
        chapter = load_chapter(number)
        texts[f"{chapter.number}.py"] = file_text(chapter)
        for name in chapter.files:
            texts[name] = (chapter.folder / name).read_text(encoding="utf-8")
    names = [Path(name).stem for name in texts if re.fullmatch(r"\d\d\.py", name)]
    title = f"Exercises of chapter(s) {', '.join(names)}"
    texts["README.txt"] = README.format(
        numbers=", ".join(names), line="=" * len(title), first=names[0]
    )
    for name in texts:
        if (folder / name).exists():
            raise FileExistsError(f"{folder / name} is there already; choose an empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]


# ---------------------------------------------------------------- grading


def submissions(folder):
    """Yield (student, chapter number, path) of every submission under `folder`, sorted."""
    known = exercise_files()
    found = []
    for path in sorted(Path(folder).rglob("*.py")):
        parts = path.relative_to(folder).parts
        match = re.fullmatch(r"(?:(?P<student>.+)[-_])?(?P<number>\d\d)", path.stem)
        if match is None or match["number"] not in known:
            continue
        homes = [part for part in parts[:-1] if part != FOLDER]
        student = match["student"] or (homes[0] if homes else "")
        if student and not student.startswith("."):
            found.append((student, match["number"], path))
    return sorted(found, key=lambda entry: (entry[0], entry[1], str(entry[2])))


def grade(folder, numbers=None, *, seconds=SECONDS, tell=lambda text: None):
    """Return one row, a dict with COLUMNS, for every student and exercise.

    Parameters
    ----------
    folder : path of the submissions
    numbers : list of str, the chapters to grade; default: those that someone handed in
    seconds : float, how long each exercise may take
    tell : function of str, called before each file is checked

    A student who handed in nothing for a chapter has rows with the state "not handed in".
    """
    handed_in = {}
    for student, number, path in submissions(folder):
        handed_in.setdefault((student, number), path)  # of several, the first by name
    students = sorted({student for student, _ in handed_in})
    if numbers is None:
        numbers = sorted({number for _, number in handed_in})
    chapters = [load_chapter(number) for number in numbers]
    rows = []
    for student in students:
        for chapter in chapters:
            path = handed_in.get((student, chapter.number))
            tell(f"{student}: chapter {chapter.number}")
            rows += grade_file(student, chapter, path, seconds)
    return rows


def grade_file(student, chapter, path, seconds):
    """Return the rows of one student and one chapter."""
    base = {"student": student, "seconds": 0.0, "file": str(path or ""), "passed": False}
    if path is None:
        states = [(exercise, "not handed in", "", 0.0) for exercise in chapter.exercises]
    else:
        try:
            verdicts = check_file(path, chapter.number, seconds=seconds)
        except Exception as error:  # a file that is no text, say
            states = [(exercise, "unreadable", str(error), 0.0) for exercise in chapter.exercises]
        else:
            states = [
                (exercise, verdict.state, short(verdict), verdict.seconds)
                for exercise, verdict in zip(chapter.exercises, verdicts, strict=True)
            ]
    return [
        {
            **base,
            "exercise": exercise.id,
            "title": exercise.title,
            "kind": exercise.kind,
            "state": state,
            "passed": state == "right",
            "remark": remark,
            "seconds": round(seconds, 2),
        }
        for exercise, state, remark, seconds in states
    ]


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
    """Return one line for each student: what was right of each chapter, and the sum."""
    chapters = sorted({row["exercise"][:2] for row in rows})
    lines = [f"{'student':20}" + "".join(f"{number:>8}" for number in chapters) + f"{'all':>8}"]
    for student in dict.fromkeys(row["student"] for row in rows):
        own = [row for row in rows if row["student"] == student]
        cells = [[row for row in own if row["exercise"].startswith(n)] for n in chapters]
        text = "".join(f"{score(cell):>8}" for cell in [*cells, own])
        lines.append(f"{student[:19]:20}{text}")
    return "\n".join(lines) + "\n"


def score(rows):
    return f"{sum(row['passed'] for row in rows)}/{len(rows)}"
