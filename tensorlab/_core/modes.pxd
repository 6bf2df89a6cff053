"""The modes of a thread: grad mode, inference mode, running backward passes."""
from cpython.object cimport PyObject

cdef struct ThreadState:
    bint grad_enabled
    bint inference
    int backward_depth          # nested calls of backward that are running
    PyObject* packing           # (pack, unpack, what was here before), if saved tensors are packed, else NULL (saved.pyx)
    PyObject* task              # the backward pass that is running (engine.pyx), or NULL
    PyObject* running           # the node that it runs, in anomaly mode, else NULL

cdef ThreadState* thread_state() noexcept nogil
