"""Devices: where the bytes of a storage are, as a small code, and the table of devices with memory of their own.

The first two are known to the kernels: on the cpu memory has an address, on meta there is none. Any other device is registered,
with an allocator in Python:

    class Allocator:
        def allocate(self, nbytes): ...         # an object that stands for so many bytes over there
        def read(self, memory): ...             # its bytes, as an object with a buffer: bytes, a NumPy array
        def write(self, memory, data): ...      # the other way; `data` is a memoryview

A storage there holds the object instead of an address. Ops find their kernels by the code (op.pyx). One that
has none for the device is computed on the cpu, between a `read` and a `write` (dispatch/kernels.pyx).

An allocator may have more methods, which are called where they are there:

        def read_later(self, memory, offset, target): ...       # copies with non_blocking=True: `offset` is in bytes,
        def write_later(self, memory, offset, source): ...      # the other a tensor, which it keeps until it is done
        def fell_back(self, op): ...            # an op, by its name, has no kernel there, and runs on the cpu

A wrapper, a tensor of a class that holds others and has a layer (layers.pyx), says that it is where they are,
and has no memory of its own: the code of its storage is that of the device plus SHELL. A kernel that asks
for its memory is refused, as on meta.

Each thread has a default device, where factories make tensors if none is named; `with device("meta")` and
`set_default_device` set it. It is a C variable, because every factory looks at it.
"""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.memoryview cimport PyMemoryView_FromMemory

from libc.string cimport memcpy

import threading

from tensorlab.errors import DeviceError

cdef extern from *:
    """
    #include "thread_local.h"
    static TL_THREAD int tl_default_device = 0;
    static void tl_set_default_device(int value) { tl_default_device = value; }
    """
    int this_threads_default "tl_default_device"
    void store_default "tl_set_default_device"(int value) noexcept

cdef extern from "Python.h":
    enum:
        PyBUF_READ

cdef list names = ["cpu", "meta"]       # by code
cdef list allocators = [None, None]
cdef str accelerator = None             # the name of the device that programs mean by that word


# ---------------------------------------------------------------- the default of a thread
cdef int default_device() noexcept:
    return this_threads_default


def get_default_device():
    """The code of the device where this thread makes tensors if none is named."""
    return this_threads_default


def set_default_device(int device):
    """Let it be this one."""
    store_default(device)


# ---------------------------------------------------------------- the table
def register_device(str name, allocator):
    """Add a device whose memory `allocator` manages (see the top of this file); return its code.

    Raises
    ------
    DeviceError
        If the name is taken, or the table is full.
    """
    if name in names:
        raise DeviceError(f"register_device: there is a device {name!r} already; choose another name")
    if len(names) == MAX_DEVICES:
        raise DeviceError(f"register_device: there are {MAX_DEVICES} devices, which is as many as there can be")
    for needed in ("allocate", "read", "write"):
        if not callable(getattr(allocator, needed, None)):
            raise TypeError(f"register_device: the allocator must have a method {needed}(...)")
    names.append(name)
    allocators.append(allocator)
    return len(names) - 1


def set_accelerator(str name):
    """Let a name be that of the machine's accelerator; it may be registered later."""
    global accelerator
    accelerator = name


def accelerator_name():
    """The name of the accelerator; None if there is none, or no device of that name has been registered."""
    return accelerator if accelerator in names else None


def allocator_of(int device):
    """The allocator of a device's code; None for cpu and meta."""
    return allocators[device & ~SHELL]


def note_fallback(int device, str op):
    """Tell a device that an op has no kernel there."""
    note = getattr(allocators[device & ~SHELL], "fell_back", None)      # a shell is refused later
    if note is not None:
        note(op)


def device_names():
    """The names of all devices that can hold tensors, by code."""
    return tuple(names)


cdef str device_name(int device):
    return names[device & ~SHELL]


# ---------------------------------------------------------------- memory over there
copies = threading.local()              # .later: may the copies of this thread be made later?


class copying_later:
    """A block in which copies may be made later, if the device can do that."""

    def __enter__(self):
        copies.later = True

    def __exit__(self, *exception):
        copies.later = False


def is_copying_later():
    return getattr(copies, "later", False)


cdef object memory_on(int device, Py_ssize_t nbytes):
    """What stands for so many bytes on a registered device."""
    return allocators[device].allocate(nbytes)


cdef int read_memory(int device, object memory, char* target, Py_ssize_t nbytes) except -1:
    """Copy the first bytes over there to the processor's memory."""
    cdef Py_buffer view
    PyObject_GetBuffer(allocators[device].read(memory), &view, PyBUF_SIMPLE)
    try:
        if view.len < nbytes:
            raise DeviceError(f"{names[device]}: {nbytes} bytes were to be read, and the allocator's read() gave {view.len}")
        memcpy(target, view.buf, nbytes)
    finally:
        PyBuffer_Release(&view)
    return 0


cdef int write_memory(int device, object memory, const char* source, Py_ssize_t nbytes) except -1:
    """Copy bytes from the processor's memory over there."""
    allocators[device].write(memory, PyMemoryView_FromMemory(<char*>source, nbytes, PyBUF_READ))
    return 0
