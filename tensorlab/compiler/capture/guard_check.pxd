"""Guards as they are checked before each replay."""
from cpython.object cimport PyObject

from tensorlab.compiler.capture.aliasing cimport Aliasing
from tensorlab.compiler.capture.library_state cimport LibraryState

cdef struct Record:         # small, as hundreds of them share a cache
    short fetch, check
    int slot                # the slot that holds the container, or -1
    int out                 # the slot that the fetched object goes to; the last one if no record asks for it
    PyObject* container     # if no slot holds it
    PyObject* key           # a name or a descriptor; of an ITEM or a VALUE its index, a ssize
    PyObject* expected      # of SAME_SLOT and LENGTH a ssize


cdef class GuardCheck:
    cdef readonly list guards       # which own what the records point at
    cdef Aliasing aliasing
    cdef LibraryState library
    cdef int* inputs
    cdef Record* records
    cdef PyObject** slots
    cdef PyObject** values          # of the dict whose keys have been compared last
    cdef int record_count, input_count

    # the input tensors of the recorded graph, or None if the guards do not hold
    cdef list inputs_of(self, tuple args, object kwargs)
    cdef object first_disagreement(self, tuple args, object kwargs, bint of_any_size)
