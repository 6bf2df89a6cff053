"""What tensorlab asks of a device (tensorlab/utils/backend_registration.py), made of memory,
queues and races.
"""

import threading
import types
import warnings

import lab_races as races
import numpy
from lab_memory import Allocator
from lab_queues import Stream


class Backend:
    """The device "lab"."""

    def __init__(self):
        self.settings = types.SimpleNamespace(latency=0.0, finds_races=True)
        self.log, self.streams = [], []
        self.allocator = Allocator()
        self.default = self.new_stream(0)
        self.current = threading.local()
        self.has_warned = False

    # ---------------------------------------------------------------- memory
    def allocate(self, nbytes):
        return self.allocator.allocate(nbytes, self.current_stream())

    def read(self, memory):
        self.synchronize(None)
        return memory.array

    def write(self, memory, data):
        self.synchronize(None)
        memory.array[: len(data)] = numpy.frombuffer(data, dtype=numpy.uint8)
        memory.last_write, memory.reads = None, {}

    def read_later(self, memory, offset, target):
        bytes_here = as_bytes(target)
        source = memory.array[offset : offset + bytes_here.size]
        self.launch("copy to the cpu", lambda: numpy.copyto(bytes_here, source), read=[memory])

    def write_later(self, memory, offset, source):
        bytes_here = as_bytes(source)
        if not source.is_pinned():
            bytes_here = bytes_here.copy()  # the program may change it
        target = memory.array[offset : offset + bytes_here.size]
        self.launch("copy from the cpu", lambda: numpy.copyto(target, bytes_here), written=[memory])

    def record_stream(self, memory, stream):
        if stream is not memory.stream:
            memory.others.add(stream)

    def memory_stats(self):
        return dict(self.allocator.counts)

    def empty_cache(self):
        self.synchronize(None)
        self.allocator.empty_cache()

    def reset_peak_memory_stats(self):
        self.allocator.reset_peaks()

    # ---------------------------------------------------------------- work
    def launch(self, name, function, written=(), read=()):
        """Put work into the current stream; the program goes on."""
        stream = self.current_stream()
        if self.settings.finds_races:
            races.note(stream, name, written, read)
        stream.put(name, function)

    def fell_back(self, op):
        if not self.has_warned:
            self.has_warned = True
            warnings.warn(
                f"lab: {op} has no kernel here and runs on the cpu, as others may", stacklevel=3
            )

    def take_log(self):
        taken = list(self.log)
        self.log.clear()
        return taken

    # ---------------------------------------------------------------- streams and events
    def new_stream(self, priority):
        stream = Stream(self.settings, self.log)
        self.streams.append(stream)
        return stream

    def current_stream(self):
        return getattr(self.current, "stream", self.default)

    def set_stream(self, stream):
        self.current.stream = stream

    def synchronize(self, stream):
        waited_for = self.streams if stream is None else [stream]
        for one in waited_for:
            one.synchronize()
        for one in self.streams:  # what is done is before anything that a stream does next
            for other in waited_for:
                one.clock[other] = max(one.clock.get(other, 0), other.clock[other])

    def is_idle(self, stream):
        return stream.is_idle()

    def record_event(self, stream):
        return stream.record()

    def wait_event(self, stream, event):
        stream.wait(event)

    def synchronize_event(self, event):
        event.reached.wait()

    def is_event_done(self, event):
        return event.is_done()

    def elapsed_time(self, start, end):
        start.reached.wait(), end.reached.wait()
        return (end.time - start.time) * 1e3


def as_bytes(tensor):
    """The bytes of a row-major tensor of the cpu, which live as long as this array."""
    return numpy.frombuffer(memoryview(tensor.detach()).cast("B"), dtype=numpy.uint8)
