"""Tensors over the memory of NumPy arrays."""
from tensorlab._core.tensor cimport TensorBase

cdef bint is_ndarray(object x) noexcept
cdef TensorBase tensor_over(object data)
