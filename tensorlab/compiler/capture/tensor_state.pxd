"""What a recording notes of a tensor."""
from cpython.object cimport PyObject

from tensorlab._core.layout cimport ssize


cdef class TensorState:
    cdef object cls
    cdef int dtype, ndim
    cdef int device
    cdef bint needs_grad, wants_grad, is_view, is_inference, has_hooks
    cdef bint checks_offset
    cdef ssize offset
    cdef ssize* layout              # sizes, then strides

    cdef bint fits(self, PyObject* given, bint of_any_size) noexcept
