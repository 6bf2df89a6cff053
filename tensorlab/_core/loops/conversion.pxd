"""Conversion: a row of numbers copied into another row, of the same type or of any other."""
from tensorlab._core.layout cimport ssize

cdef void convert(void* out, int out_dtype, ssize out_stride, const void* x, int x_dtype, ssize x_stride, ssize n) noexcept nogil
cdef int check_convertible(int out_dtype, int x_dtype) except -1
