"""What people see while they wait: a bar of tqdm if that is installed, and otherwise a line on stderr.

tqdm is an optional extra (`pip install "tensorlab-book[progress]"`). It is imported when the first bar is
shown, and chooses by itself whether it draws in a notebook or in a terminal. TENSORLAB_PROGRESS=0
keeps everything silent.
"""

import contextlib
import os
import sys
import threading
import time

PATIENCE = 2.0  # seconds of compiling until a program says what it waits for


def is_wanted():
    return os.environ.get("TENSORLAB_PROGRESS", "1") != "0"


def say(text):
    """Write a line to stderr, if progress is wanted."""
    if is_wanted():
        print(text, file=sys.stderr, flush=True)


def bar(what, total=None, unit="it"):
    """Return a bar: `update(n)` moves it, `close()` ends it.

    Parameters
    ----------
    what : str, what is waited for
    total : int, how many steps there are; None if that isn't known
    unit : str, what a step is called; "B" for bytes, which are counted in kB and MB
    """
    if not is_wanted():
        return Silent()
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Line(what, total, unit)
    return tqdm(desc=what, total=total, unit=unit, unit_scale=unit == "B", leave=False)


class Silent:
    """A bar that shows nothing."""

    total = None

    def update(self, n=1):
        """Go n steps further."""

    def reset(self):
        """Start again."""

    def close(self):
        """End."""


class Line(Silent):
    """One line at the beginning, and one at the end if it took longer than PATIENCE."""

    def __init__(self, what, total=None, unit="it"):
        self.what, self.total, self.unit = what, total, unit
        self.start, self.done = None, 0

    def update(self, n=1):
        if self.start is None:
            self.start = time.monotonic()
            say(f"{self.what}{self.size()} ...")
        self.done += n

    def size(self):
        if not self.total:
            return ""
        number = f"{self.total / 1e6:.1f} MB" if self.unit == "B" else f"{self.total} {self.unit}"
        return f" ({number})"

    def reset(self):
        self.done = 0

    def close(self):
        if self.start is not None and time.monotonic() - self.start > PATIENCE:
            say(f"{self.what}: done in {time.monotonic() - self.start:.0f} s")
        self.start = None


def shown(iterator, what, total=None):
    """Yield what an iterator gives, and show how far it has come.

    >>> list(shown(iter("ab"), "letters"))
    ['a', 'b']
    """
    progress = bar(what, total)
    try:
        for value in iterator:
            yield value
            progress.update(1)
    finally:
        progress.close()


class Patience:
    """Says something once, when a program has waited for a kind of work for PATIENCE seconds in all.

    Parameters
    ----------
    text : str, the line
    """

    def __init__(self, text):
        self.text, self.spent = text, 0.0

    @contextlib.contextmanager
    def waiting(self):
        """Work inside of it counts."""
        start = time.monotonic()
        timer = threading.Timer(max(0.0, PATIENCE - self.spent), say, [self.text])
        timer.daemon = True
        if self.spent <= PATIENCE:  # else it has been said
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self.spent += time.monotonic() - start
