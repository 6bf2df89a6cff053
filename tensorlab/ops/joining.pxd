"""Joining tensors, for other families of ops too."""
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase run_cat(object tensors, object dim, object out=*)
cdef list read_tensors(object tensors, str where)
cdef TensorBase run_stack(list parts, object dim, object out=*)
