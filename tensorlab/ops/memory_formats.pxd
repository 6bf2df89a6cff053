"""Strides from memory formats, and memory formats from strides."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef int format_strides(object memory_format, TensorBase x, int ndim, const ssize* sizes, ssize* strides, str where) except -1
cdef bint lies_channels_last(TensorBase x) noexcept
cdef str likely_format(TensorBase x)
