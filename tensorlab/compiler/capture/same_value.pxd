"""Exact equality, for guards."""
from cpython.object cimport PyObject

cdef bint is_same_value(PyObject* x, PyObject* y) noexcept
