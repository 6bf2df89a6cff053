"""The general view: any sizes and strides over the same memory."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef int accumulate_into(TensorBase out, TensorBase x) except -1
cdef bint has_distinct_places(int ndim, const ssize* sizes, const ssize* strides) noexcept nogil
