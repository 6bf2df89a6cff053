"""Runs a student's code and answers questions about it: python -m tensorlab.learn.witness

The judge starts this process, and asks through its standard input and output: run this piece of the file, call
that function with these values.  What the right answers are is not known here: no check, no solution and no
planted bug is loaded.  So whatever the student's code does to this process, all it can change is
its own answers.

Reading the exercises is noted and refused.  That is a tripwire and not a wall: who writes a program that reads them
past Python finds them, unless the process runs in a sandbox (`sandbox.py`), where they are missing.
"""

import contextlib
import io
import os
import re
import signal
import sys
from pathlib import Path
from types import ModuleType

import tensorlab.learn
from tensorlab.learn import practise

from .exchange import DEEPEST, Exchange

MOST_PRINTED = 2000
EXERCISES = re.compile(  # with their compiled forms
    r"[\\/]\d\d-[^\\/]+[\\/](__pycache__[\\/])?exercises(_\w+)?\.([\w-]+\.)?pyc?$"
)
PR_SET_PDEATHSIG = 1


class Witness:
    """The student's names, and what the judge may ask about them."""

    def __init__(self, exchange):
        self.exchange = exchange
        self.module = ModuleType("reader")
        sys.modules["reader"] = self.module  # dataclasses look for it
        self.printed = io.StringIO()
        self.has_read = []
        self.told, self.told_not = [], []
        watch_files(self.note)
        exchange.answering |= {
            "begin": self.begin,
            "clear": self.clear,
            "run": self.run,
            "names": self.names,
            "printed": self.take_printed,
        }

    def begin(self, path, files, records, told):
        """Note the student's file; its neighbours and the chapter's programs can be imported.

        `told` are folders that tell solutions; what is opened there is noted.
        """
        self.told[:] = [folder + os.sep for folder in told]
        self.told_not[:] = [os.path.dirname(path) + os.sep]
        sys.path[:0] = [*files]
        sys.path.append(str(Path(path).parent))
        self.exchange.wire.records = set(records)
        vars(self.module)["__file__"] = path

    def note(self, path):
        """Note that a file is opened that tells solutions, and refuse it."""
        is_told = path.startswith(tuple(self.told)) and not path.startswith(tuple(self.told_not))
        if is_told or EXERCISES.search(path):
            self.has_read.append(os.path.basename(path))
            raise PermissionError(f"{path}: the exercises are not open to an answer")

    def clear(self):
        """Forget the student's names: another answer comes."""
        kept = {name: vars(self.module)[name] for name in ("__name__", "__file__")}
        vars(self.module).clear()
        vars(self.module).update(kept)

    def run(self, code):
        exec(
            compile(code, vars(self.module).get("__file__", "answer.py"), "exec"), vars(self.module)
        )

    def names(self, wanted):
        """Return those of the names that there are, as a dict; a new exercise begins."""
        self.exchange.begin_anew()
        return {name: vars(self.module)[name] for name in wanted if name in vars(self.module)}

    def take_printed(self):
        """Return what was printed since the last time, and the exercises that were opened."""
        text = self.printed.getvalue()[:MOST_PRINTED]
        self.printed.seek(0)
        self.printed.truncate()
        return text, list(self.has_read)


def watch_files(note):
    """Call `note` with the path of each file that is opened or run."""

    def hear(event, arguments):
        if event == "open" and not isinstance(arguments[0], (int, type(None))):
            note(os.path.abspath(os.fsdecode(arguments[0])))

    sys.addaudithook(hear)


def silence():
    """Make what checks and shows in a notebook do nothing: this is not the place."""

    def nothing(*arguments, **named):
        return None

    for home in (tensorlab.learn, practise):
        for name in ("check", "hint", "solution", "status"):
            setattr(home, name, nothing)
    tensorlab.learn.source = nothing


def end_with_parent():
    """Have this process ended when the judge's is, where Linux can."""
    if sys.platform == "linux":
        import ctypes  # only here: most programs do without it

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def main():
    os.environ.setdefault("MPLBACKEND", "agg")
    sys.setrecursionlimit(DEEPEST)
    end_with_parent()
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)  # what C code prints must not come between the messages
    exchange = Exchange("w", reader, writer)
    witness = Witness(exchange)
    silence()
    with contextlib.redirect_stdout(witness.printed), contextlib.redirect_stderr(witness.printed):
        while True:
            exchange.serve(exchange.receive())


if __name__ == "__main__":
    main()
