"""Aliasing, as the guards check it."""
from cpython.object cimport PyObject

from tensorlab._core.layout cimport ssize

cdef void* zeroed(size_t size) except NULL


cdef class Aliasing:
    cdef readonly list first_sharers    # for each tensor whose memory counts: the first one with the same storage
    cdef object kept                    # what `strangers` points at
    cdef int* distinct                  # slots
    cdef PyObject** strangers           # slot i of `stranger_slots` must not hold stranger i
    cdef int* stranger_slots
    cdef int* tensors                   # slots of the tensors whose memory counts
    cdef int* firsts                    # `first_sharers`, in C
    cdef ssize* gaps                    # bytes from the first one's memory to this one's
    cdef PyObject** table               # a hash table of pointers
    cdef int* positions                 # what the table says of each
    cdef ssize table_size
    cdef int distinct_count, stranger_count, tensor_count

    cdef int first_with(self, PyObject* key, int position) noexcept
    cdef bint are_distinct(self, PyObject** slots) noexcept
    cdef bint share_alike(self, PyObject** slots) noexcept
