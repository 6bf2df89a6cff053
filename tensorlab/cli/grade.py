"""tensorlab grade FOLDER: judge what a class handed in, and print a table, CSV or JSON."""

import sys
from pathlib import Path

from .command import add_command


def add(commands):
    about = "for teachers: judge all submissions in a folder"
    parser = add_command(commands, "grade", run, about)
    parser.add_argument("folder", type=Path, help="with ada/03.py or ada-03.py for each student")
    parser.add_argument("--chapters", help="numbers with commas; default: those handed in")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table")
    parser.add_argument("--seconds", type=float, default=10.0, help="time for each (default: 10)")
    parser.add_argument("--course", type=Path, help="a file with points, weights and deadlines")
    parser.add_argument("--feedback", type=Path, help="a folder for a text file for each student")
    parser.add_argument("--jobs", type=int, help="how many at a time; default: as many processors")
    parser.add_argument(
        "--sandbox",
        choices=("none", "auto", "bwrap"),
        default="auto",
        help="keep programs from your files (default: auto, a sandbox if bubblewrap is there)",
    )


def run(options):
    from tensorlab.learn import classes, sandbox
    from tensorlab.learn.course import read_course
    from tensorlab.learn.exercise import ExerciseError, split_identity
    from tensorlab.learn.feedback import write_feedback

    if not options.folder.is_dir():
        raise ExerciseError(f"there is no folder {options.folder}")
    numbers = None
    if options.chapters:
        numbers = [split_identity(part)[0] for part in options.chapters.split(",")]
    course = read_course(options.course) if options.course else None
    walls = sandbox.BUBBLEWRAP if sandbox.named(options.sandbox) else None
    if walls is None and options.sandbox == "auto" and classes.handed_in(options.folder):
        note = (
            "there is no sandbox here: programs can read what you can read (apt install bubblewrap)"
        )
        print(f"tensorlab grade: {note}", file=sys.stderr)
    rows = classes.grade(
        options.folder,
        numbers,
        seconds=options.seconds,
        course=course,
        jobs=options.jobs or classes.processors(),
        sandbox=walls,
        tell=lambda text: print(text, file=sys.stderr, flush=True),
    )
    if not rows:
        raise ExerciseError(
            f"{options.folder} has no submissions; expected NAME/03.py or NAME-03.py"
        )
    writers = {"table": classes.as_table, "csv": classes.as_csv, "json": classes.as_json}
    if options.feedback:
        for path in write_feedback(rows, options.feedback):
            print(path, file=sys.stderr)
    print(writers[options.format](rows), end="")
    return 0
