"""One recording: from start to stop, what the engine room wrote down."""

import os
import threading
import time

from tensorlab._core import profiling
from tensorlab._core.dispatch.profiler_layer import watch_ops
from tensorlab._core.storage import watch_memory
from tensorlab.cpu import memory

__all__ = ["Recording"]


class Recording:
    """What happened between `start` and `stop`.

    Attributes
    ----------
    tracks : list, the records of each thread
    start, end : int, nanoseconds by the clock of the records; `began_at`: the same by the clock
        on the wall
    """

    def __init__(self, *, record_shapes, profile_memory, with_stack, with_flops):
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops = with_stack, with_flops
        self.tracks: list = []
        self.start = self.end = 0
        self.peak = (0, 0, None)
        self.pid, self.ident = os.getpid(), threading.get_ident()

    def begin(self):
        """Begin to record, in all threads.

        Raises
        ------
        RuntimeError
            If another profile is being recorded.
        """
        if self.with_flops:
            import tensorlab.utils.flop_counter  # noqa: F401  the formulas
        profiling.start_recording(self.record_shapes or self.with_flops, self.with_stack)
        self.began_at = time.time_ns()
        if self.profile_memory:
            watch_memory(note_for_both if memory.RECORDING else profiling.note_memory)
        watch_ops(True)
        self.start = profiling.now()

    def finish(self):
        """End it, and keep what was recorded."""
        self.end = profiling.now()
        watch_ops(False)
        if self.profile_memory:
            watch_memory(memory.RECORDING[0]._note if memory.RECORDING else None)
            self.peak = profiling.peak_memory()
        self.tracks = profiling.stop_recording()

    @property
    def own_thread(self):
        """The number of the track of the thread that recorded, from 1; 0 if it did nothing."""
        idents = [track.ident for track in self.tracks]
        return idents.index(self.ident) + 1 if self.ident in idents else 0

    @property
    def seconds(self):
        """How long it was."""
        return (self.end - self.start) / 1e9


def note_for_both(address, nbytes):
    """A block was taken or given back while a MemoryHistory records, too."""
    profiling.note_memory(address, nbytes)
    for history in memory.RECORDING:
        history._note(address, nbytes)
