"""What a damaged file may cost: at most twice the memory of an honest one, and five seconds of the processor."""

import time
import tracemalloc
from contextlib import contextmanager

import tensorlab

SECONDS = 5


class Limits:
    """Limits that come from what an honest call takes; `with limits.kept():` holds a call to them.

    Parameters
    ----------
    honest : function that reads the undamaged file

    Attributes
    ----------
    honest : int, bytes that its call had at most, of Python's objects and of storages
    most, slowest : the most bytes and seconds that calls since then took
    """

    def __init__(self, honest):
        self.honest = None
        with self.kept():  # what is imported or cached at the first call does not count
            honest()
        self.most = self.slowest = 0
        with self.kept():
            honest()
        self.honest, self.most, self.slowest = self.most, 0, 0

    @contextmanager
    def kept(self):
        tensorlab.reset_peak_memory_stats()
        storages = tensorlab.memory_stats()["allocated_bytes"]
        tracemalloc.start()
        begin = time.process_time()
        try:
            yield
        finally:
            seconds = time.process_time() - begin
            objects = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        used = objects + tensorlab.memory_stats()["peak_bytes"] - storages
        if self.honest is None:
            self.most = used
            return
        self.most, self.slowest = max(self.most, used), max(self.slowest, seconds)
        assert used <= 2 * self.honest, f"{used} bytes; {self.honest} for the undamaged file"
        assert seconds <= SECONDS
