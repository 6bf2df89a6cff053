"""The writes of a functional graph."""

cdef int write_all(list inputs, list outputs, tuple places) except -1
