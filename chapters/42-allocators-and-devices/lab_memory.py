"""The device's memory: blocks of bytes, and an allocator that keeps free ones for the next
request.

A block that a stream still works with must not be given to another one. Within one stream that
is no danger: what is asked for later is used later. So a block goes back to the stream that it
was taken for at once; if other streams have used it (`record_stream`), it waits until they have
passed the point where it was released.
"""

import collections
import threading

import numpy

CLASS = 512  # sizes are rounded up to a multiple of this


class Block:
    """Bytes of the device, which a storage holds. When no storage holds it any more, its bytes are
    free again.
    """

    def __init__(self, allocator, array, nbytes, stream):
        self.allocator, self.array, self.nbytes, self.stream = allocator, array, nbytes, stream
        self.others = set()  # streams besides its own that use it
        self.last_write, self.reads = None, {}  # for lab_races.py

    def __del__(self):
        self.allocator.release(self)


class Allocator:
    """Gives blocks, those first that are free already."""

    def __init__(self):
        self.free = collections.defaultdict(list)  # (stream, size): arrays
        self.waiting = []  # (array, size, stream, events of the streams that may still use it)
        self.lock = threading.RLock()
        self.counts = collections.Counter()

    def allocate(self, nbytes, stream):
        """A block for a stream."""
        size = -(-max(nbytes, 1) // CLASS) * CLASS
        with self.lock:
            self.collect()
            reused = self.free[stream, size]
            if reused:
                array = reused.pop()
                self.counts["reused"] += 1
            else:
                array = numpy.zeros(size, dtype=numpy.uint8)
                self.grow("reserved_bytes.all", size)
            self.grow("allocated_bytes.all", size)
            self.counts["num_alloc"] += 1
        return Block(self, array, size, stream)

    def release(self, block):
        """Take the bytes of a block back."""
        with self.lock:
            self.grow("allocated_bytes.all", -block.nbytes)
            events = [stream.record() for stream in block.others]
            if events:
                self.waiting.append((block.array, block.nbytes, block.stream, events))
            else:
                self.free[block.stream, block.nbytes].append(block.array)

    def collect(self):
        """Free the blocks that no stream uses any more."""
        still = []
        for array, size, stream, events in self.waiting:
            if all(event.is_done() for event in events):
                self.free[stream, size].append(array)
            else:
                still.append((array, size, stream, events))
        self.waiting = still

    def empty_cache(self):
        """Give all free bytes back to the machine."""
        with self.lock:
            self.collect()
            for (_, size), arrays in self.free.items():
                self.grow("reserved_bytes.all", -size * len(arrays))
            self.free.clear()

    def grow(self, name, nbytes):
        """Count bytes, and the most that there were."""
        self.counts[f"{name}.current"] += nbytes
        self.counts[f"{name}.peak"] = max(
            self.counts[f"{name}.peak"], self.counts[f"{name}.current"]
        )

    def reset_peaks(self):
        """Count the peaks from now on."""
        for name in ("reserved_bytes.all", "allocated_bytes.all"):
            self.counts[f"{name}.peak"] = self.counts[f"{name}.current"]
