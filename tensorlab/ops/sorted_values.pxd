"""Sorted values without their indices."""
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase sorted_values(TensorBase x, int dim)
