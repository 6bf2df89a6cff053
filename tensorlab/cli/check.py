"""tensorlab check 03, tensorlab check 03.2: check the reader's file."""

import json
import os
from pathlib import Path

from .command import add_command


def add(commands):
    parser = add_command(commands, "check", run, "check your answers to a chapter's exercises")
    parser.add_argument("exercise", help="03 for a chapter, 03.2 for one exercise")
    parser.add_argument(
        "--file", type=Path, help="your file, if it is not tensorlab-exercises/NN.py"
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="time for each (default: 10)")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")


def run(options):
    from tensorlab.learn import workbook
    from tensorlab.learn.answers import check_file
    from tensorlab.learn.exercise import ExerciseError, find
    from tensorlab.learn.practise import keep
    from tensorlab.learn.report import report

    chapter, _ = find(options.exercise)
    path = options.file or workbook.place(chapter.number)
    if not path.is_file():
        if options.file:
            raise ExerciseError(f"there is no file {path}")
        raise ExerciseError(
            f"there is no {os.path.relpath(path)} here; `tensorlab start {chapter.number}` writes "
            "it, or name yours with --file"
        )
    verdicts = check_file(path, options.exercise, seconds=options.seconds)
    if options.json:
        print(json.dumps([verdict.as_dict() for verdict in verdicts], indent=1))
    else:
        print(report(verdicts))
        keep(verdicts)
    return 0 if all(verdict.is_right for verdict in verdicts) else 1
