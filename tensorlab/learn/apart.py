"""The judge's end: starts a student's process, runs a file in it piece by piece, and asks it.

A bug hunt gets a new process for each function that the test is tried on, in an order that is
drawn anew: a test that counts how often it is called learns nothing from the number.
"""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from .exchange import Exchange
from .exercise import PACKAGE_FOLDER
from .judge import ENDLESS, ERROR, Broken, TimeIsUp, Verdict, readers_lines, time_limit
from .sandbox import hidden_folders

STARTING = 15.0  # seconds that Python may take to begin
GRACE = 1.0  # seconds for a program that was told to stop
KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR", "LD_LIBRARY_PATH")


class Witness:
    """A process that holds a student's names.

    Parameters
    ----------
    path : Path of the file
    files : Path of a folder with the programs that the file may import
    records : names of those programs, whose instances travel by value
    sandbox : Sandbox or None
    """

    def __init__(self, path, files, records=(), sandbox=None):
        command = [sys.executable, "-P", "-m", "tensorlab.learn.witness"]
        if sandbox is not None:
            command = sandbox.command(command, path, [files])
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            cwd=path.parent,
            start_new_session=True,
        )
        self.exchange = Exchange("j", self.process.stdout, self.process.stdin, records)
        self.ask = self.exchange.ask
        with time_limit(STARTING):
            told = [str(folder) for folder in hidden_folders()]
            self.ask("begin", str(path), [str(files)], list(records), told)

    def give(self, seconds):
        """Give the witness so many seconds for each question from now on."""
        self.exchange.seconds = seconds

    def names(self, wanted):
        """Return those of the names `wanted` that the student's code defines."""
        self.exchange.begin_anew()
        return self.ask("names", list(wanted))

    def status(self):
        """Return with which status the process has ended; it is given a moment to."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        return self.process.poll()

    def close(self):
        """End the process and everything that it has started."""
        if hasattr(os, "killpg"):  # not on Windows
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()


def environment():
    """Return the few variables that a student's process gets: no secrets are in them."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    given = {"PYTHONPATH": str(PACKAGE_FOLDER.parent), "PYTHONUTF8": "1", "MPLBACKEND": "agg"}
    return {**kept, **given, "PYTHONDONTWRITEBYTECODE": "1"}


class Session:
    """A file whose pieces are run one after the other; a process that dies is replaced.

    Parameters
    ----------
    pieces : dict from identity or None to code, of `workbook.sections`
    start : function that returns a new Witness
    seconds : float, how long each piece may take
    """

    def __init__(self, pieces, start, seconds):
        self.pieces, self.start, self.seconds = pieces, start, seconds
        self.failures = {}  # identity -> Verdict without id and title
        self.done = []
        self.witness = None

    def reach(self, identity):
        """Run the pieces up to this one, in the process at hand or in a new one."""
        if self.witness is None:
            self.witness, done = self.start(), self.done
            self.done = []
            for name in done:
                self.run(name)
        for name in self.pieces:
            if name not in self.done and name not in self.failures:
                self.run(name)
            if name == identity:
                return

    def run(self, name):
        """Run one piece; what comes of it is kept in `failures` unless all went well."""
        if self.witness is None:
            self.reach(name)
            return
        self.witness.give(self.seconds)
        try:
            with time_limit(self.seconds + GRACE):
                self.witness.ask("run", self.pieces[name])
            self.done.append(name)
        except TimeIsUp as error:
            self.failures[name] = self.endless(error)
            self.end()
        except Broken as error:
            self.failures[name] = self.broken(error)
            self.end()
        except Exception as error:
            trace = readers_lines(error) or f"{type(error).__name__}: {error}"
            remark = "Your code raises an error before it is checked:"
            self.failures[name] = Verdict("", "", ERROR, remark, trace=trace)

    def endless(self, error):
        remark = f"It did not end within {self.seconds:g} seconds."
        trace = readers_lines(error, with_error=False)
        return Verdict("", "", ENDLESS, remark, trace=trace)

    def broken(self, error):
        status = self.witness.status() if self.witness else None
        return Verdict("", "", ERROR, f"Python ended while it ran (status {status}): {error}.")

    def fresh(self, identity, wanted):
        """Return the student's names from a new process that has run the pieces up to `identity`."""
        self.end()
        self.reach(identity)
        self.witness.give(self.seconds)
        return self.witness.names(wanted)

    def end(self):
        """End the process; the next piece starts another one."""
        if self.witness is not None:
            self.witness.close()
        self.witness = None


def folder_of(chapter, folder):
    """Copy the programs of a chapter into a new folder, the only ones that an answer may import."""
    folder = Path(folder)
    for name in chapter.files:
        (folder / name).write_bytes((chapter.folder / name).read_bytes())
    return folder
