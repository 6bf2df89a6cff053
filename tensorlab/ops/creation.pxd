"""The factories that other families of ops call."""
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef Op EMPTY
cdef int read_layout(object size, object stride, ssize* sizes, ssize* strides, str where) except -1
cdef TensorBase full_beside(TensorBase x, object value)
