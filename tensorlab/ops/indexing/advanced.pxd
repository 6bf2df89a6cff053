"""Indexing by tensors."""
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase index_forward(TensorBase x, list indices, str where)
cdef int index_to(TensorBase out, TensorBase x, list indices, str where) except -1
cdef TensorBase index_result(TensorBase x, list indices, str where)
cdef object run_index_backward(TensorBase grad, list indices, object shape)
cdef int write_indexed(TensorBase x, list indices, TensorBase values, int mode, str where, bint computes) except -1
cdef object run_index(TensorBase x, list indices)
cdef object run_index_put_(TensorBase x, list indices, TensorBase values, bint accumulate)
