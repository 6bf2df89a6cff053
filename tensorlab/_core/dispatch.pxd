"""Calls of pointwise ops, by the number of operands: new result, in place, into out=; and out= for other ops."""
from cpython.object cimport PyObject
from tensorlab._core.layout cimport ssize
from tensorlab._core.op cimport Op
from tensorlab._core.tensor cimport TensorBase

cdef object run_unary(Op op, TensorBase x)
cdef object run_binary(Op op, object x, object y)
cdef object run_reflected(Op op, Op recorded, object x, TensorBase y)
cdef object run_ternary(Op op, object x, object y, object z)
cdef object run_quaternary(Op op, object x, object y, object z, object w)
cdef object run_pointwise(Op op, PyObject** operands, int n)
cdef object run_unary_inplace(Op op, TensorBase x)
cdef object run_binary_inplace(Op op, TensorBase x, object y)
cdef object run_ternary_inplace(Op op, TensorBase x, object y, object z)
cdef object run_quaternary_inplace(Op op, TensorBase x, object y, object z, object w)
cdef object run_inplace(Op op, PyObject** operands, int n)
cdef object run_out(Op op, PyObject** operands, int n, object out)
cdef object run_out_1(Op op, object x, object out)
cdef object run_out_2(Op op, object x, object y, object out)
cdef object run_out_3(Op op, object x, object y, object z, object out)

# out= of other ops than pointwise ones. What a call allows beyond the rules for all of them:
cpdef enum:
    CASTS = 1                           # out= may have another type, into which the result can be cast
    NO_PARTIAL_OVERLAP = 2              # no input may share a part of its memory with out=
    NO_OVERLAP = 4                      # nor all of it
    NO_DERIVATIVE = 8                   # the inputs may require grad, as there is none

cdef TensorBase tensor_to_write(str where, object out)
cdef int check_out_dtype(str where, int dtype, object out) except -1
cdef int accumulate_dtype(object dtype, object out, int default) except -1
cdef int warn_of_resizing(str where, TensorBase out, int ndim, const ssize* sizes) except -1
cpdef object store_out(str where, TensorBase result, object out, tuple inputs, int rules=*)
cpdef tuple store_outs(str where, object results, object outs, tuple inputs, int rules=*)
