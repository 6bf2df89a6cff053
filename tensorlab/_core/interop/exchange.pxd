"""Values in and out: Python numbers, nested lists, NumPy arrays, buffers."""
from tensorlab._core.tensor cimport TensorBase

cdef object value_of(TensorBase x)
cdef TensorBase tensor_from(object data, int dtype)
