"""FileStore: a store that is a file, for processes that see the same folder."""

import fcntl
import json
import os
import time

from tensorlab.distributed.server.table import WRITING, NotYet, Table

from .store import Store

__all__ = ["FileStore"]


class FileStore(Store):
    """A store in a file, which any number of processes may open.

    The file lists what was written, a line each, and every process replays it. It isn't
    deleted: give each run a fresh name.

    Parameters
    ----------
    file_name : str or path; its folder exists
    world_size : int, how many processes there are, for the reader

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = FileStore(os.path.join(folder.name, "store"), 2)
    >>> store.set("x", b"1")
    >>> FileStore(store.path, 2).get("x")
    b'1'
    >>> folder.cleanup()
    """

    def __init__(self, file_name, world_size=-1):
        super().__init__()
        self._path = os.fspath(file_name)
        self._table, self._read = Table(), 0
        open(self._path, "ab").close()  # the error about the name comes here

    @property
    def path(self):
        """The file's name."""
        return self._path

    def _ask(self, name, arguments, seconds):
        until = time.monotonic() + seconds
        pause = 0.001
        while True:
            try:
                return self._answer(name, arguments)
            except NotYet:
                if time.monotonic() >= until:
                    raise TimeoutError from None
            time.sleep(min(pause, max(0.0, until - time.monotonic())))
            pause = min(2 * pause, 0.05)

    def _answer(self, name, arguments):
        """Answer a request from what the file says, and write down what it changes."""
        with open(self._path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self._read)
            for line in file:
                self._table.answer(*json.loads(line))
            self._read = file.tell()
            value = self._table.answer(name, arguments)
            if name in WRITING:
                file.write(json.dumps([name, arguments]).encode("ascii") + b"\n")
                self._read = file.tell()
        return value
