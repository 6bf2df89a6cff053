"""tensorlab grade FOLDER: check what a class handed in, and print a table, CSV or JSON."""

import sys
from pathlib import Path

from .command import add_command


def add(commands):
    about = "for teachers: check all submissions in a folder"
    parser = add_command(commands, "grade", run, about)
    parser.add_argument("folder", type=Path, help="with ada/03.py or ada-03.py for each student")
    parser.add_argument("--chapters", help="numbers with commas; default: those handed in")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table")
    parser.add_argument("--seconds", type=float, default=10.0, help="time for each (default: 10)")


def run(options):
    from tensorlab.learn import classes
    from tensorlab.learn.exercise import ExerciseError, split_identity

    if not options.folder.is_dir():
        raise ExerciseError(f"there is no folder {options.folder}")
    numbers = None
    if options.chapters:
        numbers = [split_identity(part)[0] for part in options.chapters.split(",")]
    rows = classes.grade(
        options.folder,
        numbers,
        seconds=options.seconds,
        tell=lambda text: print(text, file=sys.stderr, flush=True),
    )
    if not rows:
        raise ExerciseError(
            f"{options.folder} has no submissions; expected NAME/03.py or NAME-03.py"
        )
    writers = {"table": classes.as_table, "csv": classes.as_csv, "json": classes.as_json}
    print(writers[options.format](rows), end="")
    return 0
