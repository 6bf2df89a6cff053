"""tensorlab check 03, tensorlab check 03.2: check the reader's file."""

import json
import os
from pathlib import Path

from .command import add_command


def add(commands):
    parser = add_command(commands, "check", run, "check your answers to a chapter's exercises")
    parser.add_argument(
        "exercise",
        nargs="*",
        help="03 for a chapter, 03.2 for one; default: everything that you have begun",
    )
    parser.add_argument(
        "--file", type=Path, help="your file, if it is not tensorlab-exercises/NN.py"
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="time for each (default: 10)")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")


def run(options):
    from tensorlab.learn.answers import check_file
    from tensorlab.learn.practise import keep
    from tensorlab.learn.report import report

    verdicts = []
    for identity in options.exercise or begun(options.file):
        verdicts += check_file(file_of(identity, options.file), identity, seconds=options.seconds)
    if options.json:
        print(json.dumps([verdict.as_dict() for verdict in verdicts], indent=1))
    else:
        print(report(verdicts))
        keep(verdicts)
    return 0 if all(verdict.is_right for verdict in verdicts) else 1


def file_of(identity, named):
    """Return the reader's file for a chapter or an exercise."""
    from tensorlab.learn import workbook
    from tensorlab.learn.exercise import ExerciseError, find

    chapter, _ = find(identity)
    path = named or workbook.place(chapter.number)
    if path.is_file():
        return path
    if named:
        raise ExerciseError(f"there is no file {named}")
    raise ExerciseError(
        f"there is no {os.path.relpath(path)} here; `tensorlab start {chapter.number}` writes it, "
        "or name yours with --file"
    )


def begun(named):
    """Return the numbers of the chapters that the reader has a file for."""
    from tensorlab.learn import workbook
    from tensorlab.learn.exercise import ExerciseError, exercise_files

    if named:
        raise ExerciseError(f"which exercise is {named}? Write its number too, such as 03")
    numbers = [number for number in exercise_files() if workbook.place(number).is_file()]
    if not numbers:
        raise ExerciseError("nothing is begun here; `tensorlab start 03` begins chapter 3")
    return numbers
