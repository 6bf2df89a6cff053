"""Indexing by tensors."""
from tensorlab._core.tensor cimport TensorBase

cdef object run_index(TensorBase x, list indices)
cdef object run_index_put_(TensorBase x, list indices, TensorBase values, bint accumulate)
