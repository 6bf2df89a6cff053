"""Calls of pointwise ops, by the number of operands: new result, in place, into out=."""
from cpython.object cimport PyObject
from cpython.sequence cimport PySequence_Fast_ITEMS
from cpython.tuple cimport PyTuple_GET_SIZE
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.tensor cimport TensorBase

cdef object run(Op op, PyObject** arguments, int n)
cdef object run_into(Op op, PyObject** arguments, int n, object out, int rules)

# A call of any op. `out`: the tensor of the caller's, or None; `rules`: what it may be (out_argument.pxd).

cdef inline object run_1(Op op, object a, object out=None, int rules=0):
    cdef PyObject* arguments[1]
    arguments[0] = <PyObject*>a
    return run(op, arguments, 1) if out is None else run_into(op, arguments, 1, out, rules)

cdef inline object run_2(Op op, object a, object b, object out=None, int rules=0):
    cdef PyObject* arguments[2]
    arguments[0] = <PyObject*>a
    arguments[1] = <PyObject*>b
    return run(op, arguments, 2) if out is None else run_into(op, arguments, 2, out, rules)

cdef inline object run_3(Op op, object a, object b, object c, object out=None, int rules=0):
    cdef PyObject* arguments[3]
    arguments[0] = <PyObject*>a
    arguments[1] = <PyObject*>b
    arguments[2] = <PyObject*>c
    return run(op, arguments, 3) if out is None else run_into(op, arguments, 3, out, rules)

cdef inline object run_4(Op op, object a, object b, object c, object d, object out=None, int rules=0):
    cdef PyObject* arguments[4]
    arguments[0] = <PyObject*>a
    arguments[1] = <PyObject*>b
    arguments[2] = <PyObject*>c
    arguments[3] = <PyObject*>d
    return run(op, arguments, 4) if out is None else run_into(op, arguments, 4, out, rules)

cdef inline object run_5(Op op, object a, object b, object c, object d, object e):
    cdef PyObject* arguments[5]
    arguments[0] = <PyObject*>a
    arguments[1] = <PyObject*>b
    arguments[2] = <PyObject*>c
    arguments[3] = <PyObject*>d
    arguments[4] = <PyObject*>e
    return run(op, arguments, 5)

cdef inline object run_6(Op op, object a, object b, object c, object d, object e, object f):
    cdef PyObject* arguments[6]
    arguments[0] = <PyObject*>a
    arguments[1] = <PyObject*>b
    arguments[2] = <PyObject*>c
    arguments[3] = <PyObject*>d
    arguments[4] = <PyObject*>e
    arguments[5] = <PyObject*>f
    return run(op, arguments, 6)

cdef inline object run_tuple(Op op, tuple arguments, object out=None, int rules=0):
    """For ops with more arguments, whose kernels take longer than a tuple does."""
    cdef int n = <int>PyTuple_GET_SIZE(arguments)
    cdef PyObject** items = PySequence_Fast_ITEMS(arguments)
    return run(op, items, n) if out is None else run_into(op, items, n, out, rules)

cdef object run_unary(Op op, TensorBase x, object out=*)
cdef object run_binary(Op op, object x, object y, object out=*)
cdef object run_ternary(Op op, object x, object y, object z, object out=*)
cdef object run_quaternary(Op op, object x, object y, object z, object w, object out=*)
cdef object run_pointwise(Op op, PyObject** operands, int n)
cdef object run_unary_inplace(Op op, TensorBase x)
cdef object run_binary_inplace(Op op, TensorBase x, object y)
cdef object run_ternary_inplace(Op op, TensorBase x, object y, object z)
cdef object run_quaternary_inplace(Op op, TensorBase x, object y, object z, object w)
cdef object run_inplace(Op op, PyObject** operands, int n)
