"""Whole slices along one dimension."""
from tensorlab._core.tensor cimport TensorBase

cdef int check_index_type(TensorBase given, str where) except -1
cdef int select_to(TensorBase out, TensorBase x, int dim, TensorBase index, str where) except -1
cdef TensorBase index_vector(TensorBase given, str where)
cdef TensorBase select_forward(TensorBase x, int dim, TensorBase index, str where)
cdef int refuse_negative(TensorBase x, int dim, TensorBase index, object error, str where) except -1
cdef int write_slices(TensorBase x, int dim, TensorBase index, TensorBase source, int mode, str where) except -1
