"""Calls of pointwise ops, by the number of operands: new result, in place, into out=; and out= for other ops."""
from cpython.object cimport PyObject
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
cdef object store_out(str where, TensorBase result, object out, bint is_recorded)
