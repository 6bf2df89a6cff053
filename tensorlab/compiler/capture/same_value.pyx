"""Exact equality of values: no program can tell them apart.

This is stricter than `==`: 1 is not 1.0, 0.0 is not -0.0, but nan is nan. It never calls a method of the user's, such as
`__eq__`, so it compares values of a few types only; objects of other types are the same if they are one object.
"""
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport Py_EQ, Py_TYPE, PyObject, PyObject_RichCompareBool, PyTypeObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_CheckExact
from libc.string cimport memcmp

from tensorlab._core.layout cimport ssize

from tensorlab._core.device import device as device_class
from tensorlab._core.tensor import Size


cdef bint is_same_value(PyObject* x, PyObject* y) noexcept:
    """Do x and y have one type, and exactly one value?"""
    cdef double a, b
    cdef ssize i
    if x == y:
        return True
    if Py_TYPE(<object>x) is not Py_TYPE(<object>y):
        return False
    if PyFloat_CheckExact(<object>x):
        a, b = PyFloat_AS_DOUBLE(<object>x), PyFloat_AS_DOUBLE(<object>y)
        return memcmp(&a, &b, sizeof(double)) == 0 or (a != a and b != b)
    if (PyLong_CheckExact(<object>x) or PyUnicode_CheckExact(<object>x)
            or Py_TYPE(<object>x) is <PyTypeObject*>bytes):
        return PyObject_RichCompareBool(<object>x, <object>y, Py_EQ) == 1
    if Py_TYPE(<object>x) is <PyTypeObject*>tuple or Py_TYPE(<object>x) is <PyTypeObject*>Size:
        if PyTuple_GET_SIZE(<object>x) != PyTuple_GET_SIZE(<object>y):
            return False
        for i in range(PyTuple_GET_SIZE(<object>x)):
            if not is_same_value(PyTuple_GET_ITEM(<object>x, i), PyTuple_GET_ITEM(<object>y, i)):
                return False
        return True
    return is_same_rare_value(<object>x, <object>y)


cdef bint is_same_rare_value(object x, object y) noexcept:
    """Is one value of a rarer type the other? The attributes that are read here run none of the user's code."""
    if type(x) is complex:
        return same_value(x.real, y.real) and same_value(x.imag, y.imag)
    if type(x) is slice or type(x) is range:
        return same_value(x.start, y.start) and same_value(x.stop, y.stop) and same_value(x.step, y.step)
    if type(x) is list:                     # what tolist() gave
        return len(x) == len(y) and all([same_value(x[i], y[i]) for i in range(len(x))])
    if type(x) is device_class:
        return same_value(x.type, y.type) and same_value(x.index, y.index)
    return False


def same_value(x, y):
    """Do x and y have one type, and exactly one value: is the one as good as the other for a replay?"""
    return is_same_value(<PyObject*>x, <PyObject*>y)
