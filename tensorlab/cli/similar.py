"""tensorlab similar FOLDER: which answers of a class are alike."""

import csv
import sys
from pathlib import Path

from .command import add_command


def add(commands):
    about = "for teachers: list answers of a class that are alike"
    parser = add_command(commands, "similar", run, about)
    parser.add_argument("folder", type=Path, help="with submissions, as for grade")
    parser.add_argument("--chapters", help="numbers with commas; default: those handed in")
    parser.add_argument("--least", type=float, default=0.8, help="similarity (default: 0.8)")
    parser.add_argument("--format", choices=("table", "csv"), default="table")


def run(options):
    from tensorlab.learn.classes import alike
    from tensorlab.learn.exercise import ExerciseError, split_identity

    if not options.folder.is_dir():
        raise ExerciseError(f"there is no folder {options.folder}")
    numbers = None
    if options.chapters:
        numbers = [split_identity(part)[0] for part in options.chapters.split(",")]
    pairs = alike(options.folder, numbers, options.least)
    if options.format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("exercise", "one", "other", "similarity"))
        writer.writerows((p.exercise, p.one, p.other, f"{p.similarity:.2f}") for p in pairs)
        return 0
    for pair in pairs:
        print(f"{pair.exercise}  {pair.similarity:4.0%}  {pair.one} and {pair.other}")
    if not pairs:
        print(f"No two answers are alike by {options.least:.0%} or more.")
    return 0
