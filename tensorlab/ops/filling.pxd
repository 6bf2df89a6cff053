"""Filling tensors, for other families of ops too."""
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.recording cimport OpNode
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef Op FILL_, ZERO_

cdef int fill_zero(TensorBase x) except -1
cdef TensorBase zeros_tensor(int dtype, int ndim, const ssize* sizes)
cdef int refuse_negative(int ndim, const ssize* sizes) except -1
cdef TensorBase zeros_beside(TensorBase x, int dtype, int ndim, const ssize* sizes)
cdef int check_number(object value, int dtype, str where) except -1
cdef int fill_number(TensorBase x, object value, str where) except -1
cdef OpNode start_overlapping(Op op, TensorBase x, tuple arguments)
cdef int warn_if_expanded(TensorBase x, str where) except -1
