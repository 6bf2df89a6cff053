"""The writes of a functional graph."""

cdef int add_writes(list tensors, tuple counts) except -1
cdef int write_all(list inputs, list outputs, tuple places) except -1
