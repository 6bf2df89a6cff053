"""Batches on their way from a worker to the loader: through memory that both see.

A batch is pickled, and the bytes of its tensors and arrays are left out of the pickle. They are laid into a
segment, an anonymous file in memory, and only the pickle's few bytes and the segment's number go through the pipe:

    worker      tensors --copy--> segment 3          pipe: "batch 7 lies in segment 3"
    loader                        segment 3 <--view-- tensors, without a copy
    ...         the last of these tensors is deleted
    loader                                           pipe: "batch 11, please; segment 3 is free"

So a worker needs few segments and uses them again and again, and their pages are mapped and cleared only once. A
segment has no name, so nothing can be left in /dev/shm when a process is killed: the system frees it with the last
process that sees it. Where descriptors can't be sent (Windows), and for small batches, the bytes go through the pipe.
"""

import io
import os
import pickle
import weakref
from collections import deque
from multiprocessing import reduction

import numpy as np

from ..._core.dtypes import DTYPES
from ..._core.interop.arrays import from_numpy
from ..._core.interop.memory_file import CAN_SHARE, map_file, new_file
from ..._core.storage import Storage
from ..._tensor import Tensor
from ...multiprocessing.reductions import refuse_graph
from ...ops.resizing import tensor_over

__all__ = ["Receiver", "Sender"]

UINT8 = DTYPES[1]
LINE = 64  # each tensor starts on a cache line
SMALL = 16384  # bytes; a batch up to here goes through the pipe
UNIT = 1 << 16  # segments are whole multiples of this
MOST_HELD = 64  # batches of a worker that the program may keep as segments; more are copied


# ---------------------------------------------------------------- a pickle without its large parts
class Pickler(reduction.ForkingPickler):
    """Pickles a batch; the memory of its storages and arrays is collected in two lists."""

    def __init__(self, file):
        self.storages, self.buffers = [], buffers = [], []
        # a callback that knew the pickler would be in a cycle with it, and the batch's memory
        # would stay until a collection
        super().__init__(file, 5, True, lambda buffer: buffers.append(buffer.raw()))

    def persistent_id(self, value):
        if type(value) is not Storage or value.is_meta or len(value) == 0:
            return None
        self.storages.append(value)
        return len(self.storages) - 1

    def reducer_override(self, value):
        if not isinstance(value, Tensor):
            return NotImplemented
        refuse_graph(value)
        is_part = value.numel() * value.element_size() < len(value.untyped_storage())
        if is_part and type(value) is Tensor and not value.__dict__:
            # a row of a large table: its own bytes are enough
            value = value.detach().clone().requires_grad_(value.requires_grad)
        # ForkingPickler would move the memory into a file of its own first
        return value.__reduce_ex__(5)


class Unpickler(pickle.Unpickler):
    def __init__(self, data, storages, buffers):
        super().__init__(io.BytesIO(data), buffers=buffers)
        self.storages = storages

    def persistent_load(self, number):
        return self.storages[number]


def places(sizes):
    """Return the offset of each part in a segment, and the bytes in all."""
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end += -(-size // LINE) * LINE
    return offsets, end


# ---------------------------------------------------------------- the two ends
class Sender:
    """The worker's end of a pipe."""

    def __init__(self, connection):
        self.connection = connection
        self.segments = {}  # number: map
        self.free = set()  # numbers of those that the loader does not see any more
        self.count = 0

    def send(self, head, value):
        """Send what describes a result, and the result.

        Raises
        ------
        OSError
            If there is no memory for the batch.
        Exception
            If the value can't be pickled. Nothing was sent then.
        """
        file = io.BytesIO()
        pickler = Pickler(file)
        pickler.dump(value)
        storages = [memoryview(tensor_over(s, UINT8, 0, None, None)) for s in pickler.storages]
        parts = [*storages, *pickler.buffers, file.getbuffer()]
        sizes = [part.nbytes for part in parts]
        offsets, total = places(sizes)
        if total <= SMALL or not CAN_SHARE:
            self.connection.send((head, len(storages), [bytes(part) for part in parts], None))
            return
        dropped = self.drop_small(total)
        number, file = self.segment_for(total)
        memory = memoryview(self.segments[number])
        for part, offset, size in zip(parts, offsets, sizes, strict=True):
            memory[offset : offset + size] = part
        place = number, len(memory), file is not None, dropped
        self.connection.send((head, len(storages), sizes, place))
        if file is not None:
            reduction.send_handle(self.connection, file, None)
            os.close(file)

    def drop_small(self, size):
        """Drop free segments that are too small; batches of this size are to be expected."""
        dropped = [number for number in self.free if len(self.segments[number]) < size]
        for number in dropped:
            del self.segments[number]
            self.free.remove(number)
        return dropped

    def segment_for(self, size):
        """Return the number of a segment, and the file if it is new to the loader."""
        if self.free:
            return self.free.pop(), None
        whole = -(-size // UNIT) * UNIT
        file = new_file(whole)
        self.count += 1
        self.segments[self.count] = map_file(file, whole)
        return self.count, file


class Receiver:
    """The loader's end of a pipe."""

    def __init__(self, connection):
        self.connection = connection
        self.segments = {}  # number: map
        self.held = {}  # number: weak reference to the array over it, from which the batch's tensors are made
        self.returned = deque()  # numbers that the worker may use again

    def take_returned(self):
        """Return the numbers of segments that no tensor looks at any more."""
        return [self.returned.popleft() for _ in range(len(self.returned))]

    def receive(self):
        """Return (head, function that makes the result). The result is made only if someone wants it."""
        head, count, parts, place = self.connection.recv()
        if place is None:
            memory = [np.frombuffer(bytearray(part), np.uint8) for part in parts]
        else:
            whole = self.array_over(*place)
            offsets, _ = places(parts)
            memory = [whole[at : at + size] for at, size in zip(offsets, parts, strict=True)]
        return head, lambda: unpacked(memory, count)

    def array_over(self, number, size, is_new, dropped):
        for old in dropped:
            self.segments.pop(old, None)
        if is_new:
            file = reduction.recv_handle(self.connection)
            try:
                self.segments[number] = map_file(file, size)
            finally:
                os.close(file)
        array = np.frombuffer(self.segments[number], np.uint8)
        if (
            len(self.held) >= MOST_HELD
        ):  # the program keeps its batches: a segment each would use up descriptors
            self.returned.append(number)
            return array.copy()
        self.held[number] = weakref.ref(array, lambda _: self.give_back(number))
        return array

    def give_back(self, number):
        self.held.pop(number, None)
        self.returned.append(number)


def unpacked(memory, count):
    """Make a batch of its parts: storages, buffers, and the pickle."""
    storages = [from_numpy(part).untyped_storage() for part in memory[:count]]
    buffers = [memoryview(part) for part in memory[count:-1]]
    return Unpickler(memory[-1].tobytes(), storages, buffers).load()
