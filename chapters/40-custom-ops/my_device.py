"""The device "mine" of chapter 38, memory and nothing else: an op without a kernel there runs on the cpu."""

import numpy
from numpy.lib.stride_tricks import as_strided

from tensorlab.utils.backend_registration import device_memory, register_backend

NAME = "mine"


class Backend:
    """Memory whose bytes the processor's kernels can't reach."""

    def __init__(self):
        self.fallbacks = []  # ops that had no kernel here

    def allocate(self, nbytes):
        """An object that stands for so many bytes."""
        return numpy.zeros(nbytes, dtype=numpy.uint8)

    def read(self, memory):
        """Its bytes."""
        return memory

    def write(self, memory, data):
        """Put bytes there."""
        memory[: len(data)] = numpy.frombuffer(data, dtype=numpy.uint8)

    def fell_back(self, op):
        """Hear that an op runs on the cpu, between a read and a write."""
        self.fallbacks.append(op)


def on_device(x):
    """A NumPy array over a tensor's memory there."""
    memory, offset = device_memory(x)
    dtype = numpy.dtype(str(x.dtype).rpartition(".")[2])
    strides = [step * dtype.itemsize for step in x.stride()]
    return as_strided(memory[offset:].view(dtype), x.shape, strides)


BACKEND = Backend()
register_backend(NAME, BACKEND)
