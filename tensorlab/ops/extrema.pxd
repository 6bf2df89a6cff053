"""Largest elements, as other families use them."""
from tensorlab._core.tensor cimport TensorBase

cdef int largest_into(TensorBase out, TensorBase x, unsigned int mask) except -1
