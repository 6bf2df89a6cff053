"""The factories that other families of ops call."""
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.tensor cimport TensorBase

cdef Op EMPTY
cdef TensorBase full_beside(TensorBase x, object value)
