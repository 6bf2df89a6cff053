"""Streams: what ranks write, on its way to the terminal and to files.

A traceback is held back until it is clear whether its process ends with it. Where one rank
fails, the others end with errors of their own, and only the first of all is worth reading.
"""

import os
import time

HELD = 1.0  # seconds after which a traceback is shown, if its process goes on
COLOURS = (36, 33, 32, 35, 34, 31)
MARK = b"Traceback (most recent call last)"


class Stream:
    """The standard output or error of one rank.

    Parameters
    ----------
    pipe : descriptor to read from
    target : binary file on which the launcher shows it, or None
    prefix : bytes before each line
    file : binary file that gets a copy, or None

    Attributes
    ----------
    held : list of lines, a traceback that has not been shown
    since : float or None, when it began
    """

    def __init__(self, pipe, target, prefix=b"", file=None):
        self.pipe, self.target, self.prefix, self.file = pipe, target, prefix, file
        self.rest, self.held = b"", []
        self.since = self.last = None
        self.is_open, self.in_line = True, False
        os.set_blocking(pipe, False)

    def read(self):
        """Take what has come."""
        while self.is_open:
            try:
                data = os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                self.close()
                return
            self.last = time.monotonic()
            if self.file is not None:
                self.file.write(data)
                self.file.flush()
            *whole, self.rest = (self.rest + data).split(b"\n")
            for line in whole:
                self.take(line + b"\n")

    def take(self, line):
        if self.held:
            self.held.append(line)
        elif line.startswith(MARK):
            self.held, self.since = [line], time.monotonic()
        else:
            self.show(line)

    def show(self, text):
        """Show text: a line, or the part of one that doesn't end yet, such as a question."""
        if self.target is not None:
            prefix = b"" if self.in_line else self.prefix
            if self.prefix:  # bars of progress overwrite themselves
                text = text.replace(b"\r", b"\r" + self.prefix)
            self.target.write(prefix + text)
            self.target.flush()
        self.in_line = not text.endswith(b"\n")

    def look(self):
        """Show what has waited long enough."""
        if self.last is None or (waited := time.monotonic() - self.last) < 0.05:
            return
        if self.held and waited > HELD:
            self.release()
        if not self.held and self.rest and not MARK.startswith(self.rest[: len(MARK)]):
            self.show(self.rest)
            self.rest = b""

    def release(self):
        """Show the traceback that was held back."""
        held, self.held, self.since = self.held, [], None
        for line in held:
            self.show(line)

    def close(self):
        """Take the last line, and close the pipe."""
        if self.is_open:
            self.is_open = False
            os.close(self.pipe)
            if self.rest:
                self.take(self.rest)
                self.rest = b""
        if self.file is not None:
            self.file.close()


def prefix_of(rank, target):
    """Return the coloured prefix of a rank's lines, or nothing where no terminal shows them."""
    if not target.isatty():
        return b""
    return f"\x1b[{COLOURS[rank % len(COLOURS)]}m[rank {rank}]\x1b[0m ".encode()
