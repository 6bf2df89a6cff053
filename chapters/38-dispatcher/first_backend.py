"""A device of your own: memory that the processor's kernels can't reach, and one kernel."""

import numpy
from numpy.lib.stride_tricks import as_strided

import tensorlab as torch
from tensorlab.utils.backend_registration import device_memory, register_backend, register_kernels

NAME = "mine"


class Backend:
    """What tensorlab asks of a device: memory, and how bytes get there and back."""

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
    """A NumPy array over a tensor's memory there; a number as it is."""
    if not isinstance(x, torch.Tensor):
        return x
    if x.device.type != NAME:  # a tensor of the cpu without dimensions counts as a number
        return x.item()
    memory, offset = device_memory(x)
    dtype = numpy.dtype(str(x.dtype).rpartition(".")[2])
    strides = [step * dtype.itemsize for step in x.stride()]
    return as_strided(memory[offset:].view(dtype), x.shape, strides)


def add_kernel(out, x, y):
    """Fill `out` with x + y, computed in the type of `out`."""
    if torch.bfloat16 in (getattr(one, "dtype", None) for one in (out, x, y)):
        return NotImplemented  # NumPy has no such type: let the cpu do it
    target = on_device(out)
    numpy.add(on_device(x), on_device(y), out=target, dtype=target.dtype, casting="unsafe")
    return None


BACKEND = Backend()
register_backend(NAME, BACKEND)
register_kernels(NAME, {torch.ops.aten.add.Tensor: add_kernel})
