"""tensorlab start 03: write the stubs of a chapter into a file of the reader's own."""

import os

from .command import add_command


def add(commands):
    parser = add_command(
        commands, "start", run, "write a chapter's stubs into tensorlab-exercises/"
    )
    parser.add_argument("chapter", help="its number, such as 03")


def run(options):
    from tensorlab.learn import workbook

    path, written = workbook.start(options.chapter)
    shown = os.path.relpath(path)
    if path in written:
        print(f"{shown} is ready. Edit it, then: tensorlab check {path.stem}")
    else:
        print(f"{shown} is there already and stays as it is.")
        print(f"To begin anew: tensorlab reset {path.stem} --file")
    return 0
