"""The command line `tensorlab`, one module for each command.

A command's module has `add(commands)`, which declares its arguments, and `run(options)`, which
returns the exit code: 0 all is well, 1 something is wrong with what the reader has, 2 the call
itself was wrong.
"""

import argparse
import importlib
import sys

COMMANDS = (
    "start",
    "check",
    "show",
    "hint",
    "solution",
    "status",
    "reset",
    "book",
    "explain",
    "doctor",
    "exercises",
    "export-class",
    "grade",
    "similar",
    "run",
)


def main(arguments=None):
    """Run one command; return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what a terminal cannot show becomes a question mark
            stream.reconfigure(errors="replace")
    parser = argparse.ArgumentParser(
        prog="tensorlab", description="Practise with the book, read it, and see what is installed."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name in COMMANDS:
        module = importlib.import_module(f"tensorlab.cli.{name.replace('-', '_')}")
        module.add(commands)
    options = parser.parse_args(arguments)
    from tensorlab.learn.packs import ExerciseError, add_packs

    try:
        add_packs(getattr(options, "exercises", None) or ())
        return options.run(options)
    except ExerciseError as error:
        print(f"tensorlab {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
