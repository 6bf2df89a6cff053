"""Tensors over the memory of NumPy arrays."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

# Sorts n numbers where they lie; the last argument means nothing for them.
ctypedef int (*sort_function)(void* data, ssize n, void* array) noexcept nogil

cdef sort_function numpy_sort(int dtype)

cdef int note_lending(TensorBase x, str to) except -1
cdef bint is_ndarray(object x) noexcept
cdef TensorBase tensor_over(object data)
