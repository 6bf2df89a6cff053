"""The general view: any sizes and strides over the same memory."""
from tensorlab._core.tensor cimport TensorBase

cdef int accumulate_into(TensorBase out, TensorBase x) except -1
