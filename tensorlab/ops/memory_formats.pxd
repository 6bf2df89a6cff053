"""Strides from memory formats, and memory formats from strides."""
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef int format_strides(object memory_format, TensorBase x, int ndim, const ssize* sizes, ssize* strides, str where) except -1
cdef bint lies_channels_last(TensorBase x) noexcept
cdef str likely_format(TensorBase x)

cdef inline tuple as_ints(int n, const ssize* numbers):
    """Sizes as the argument of an op."""
    cdef tuple out = PyTuple_New(n)
    cdef object number
    cdef int i
    for i in range(n):
        number = numbers[i]
        Py_INCREF(number)
        PyTuple_SET_ITEM(out, i, number)
    return out
