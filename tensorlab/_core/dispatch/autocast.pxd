"""Autocast: a layer that casts the arguments of ops to a smaller or to a safer floating type."""
from cpython.object cimport PyObject

cdef struct ThreadAutocast:     # what a thread has set for the cpu
    int dtype                   # the smaller type, as a code; -1 while autocast is off
    PyObject* layer             # the layer that this thread has entered, or NULL
    int settings                # everything it has set, as one number; a thread begins with 0

cdef ThreadAutocast* thread_autocast() noexcept nogil
cpdef tuple in_float32(tuple values)
cpdef tuple in_lower(tuple values)
