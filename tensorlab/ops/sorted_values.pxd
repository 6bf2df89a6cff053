"""Sorted values without their indices."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase sorted_values(TensorBase x, int dim)
cdef TensorBase value_of_rank(TensorBase x, bint skips_nan)
cdef TensorBase partitioned(TensorBase x, int dim, ssize k)
