"""Tensors over the memory of NumPy arrays."""
from tensorlab._core.tensor cimport TensorBase

cdef int note_lending(TensorBase x, str to) except -1
cdef bint is_ndarray(object x) noexcept
cdef TensorBase tensor_over(object data)
