"""out=: a tensor of the caller's that takes the result of an op."""
from cpython.object cimport PyObject
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

# What a call with out= allows beyond the rules for all of them:
cpdef enum:
    CASTS = 1                           # out= may have another type, into which the result can be cast
    NO_PARTIAL_OVERLAP = 2              # no input may share a part of its memory with out=
    NO_OVERLAP = 4                      # nor all of it
    OTHERS_APART = 16                   # nor the memory of an input that is not the first
    NO_DERIVATIVE = 8                   # the inputs may require grad, as there is none

cdef object other_device(str where, TensorBase out)
cdef TensorBase tensor_to_write(str where, object out)
cdef int check_out_dtype(str where, int dtype, object out) except -1
cdef object dtype_or_that_of(object dtype, object out)
cdef int warn_of_resizing(str where, TensorBase out, int ndim, const ssize* sizes) except -1
cdef int resize_out(str where, TensorBase out, TensorBase like) except -1
cdef int check_outs(str where, object results, object outs, tuple inputs, int rules) except -1
cdef bint fits(TensorBase result, TensorBase out, PyObject** arguments, int n)
cdef int check_result_in_place(str where, TensorBase result, TensorBase x) except -1
cpdef object store_out(str where, TensorBase result, object out, tuple inputs, int rules=*)
cpdef tuple store_outs(str where, object results, object outs, tuple inputs, int rules=*)
