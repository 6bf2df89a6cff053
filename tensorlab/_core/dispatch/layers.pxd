"""Layers: what can take part in the calls of ops between the public functions and the kernels."""
from cpython.object cimport PyObject
from tensorlab._core.dispatch.op cimport Op

cdef enum:
    # positions among the layers (layers.pyx draws them)
    AUTOGRAD = 4000
    ABOVE_RECORDERS = 7000
    AUTOCAST = 8000

cdef class Layer:
    cdef readonly str place     # a name from PLACES
    cdef readonly int position  # larger: nearer to the caller; 0 while it is not entered
    cdef bint is_of_class       # does it belong to a class, and is it never entered?
    cdef object take(self, Op op, PyObject** arguments, int n)

cdef int show_recorders() noexcept
cdef int keys_among(PyObject** arguments, int n) except -1
cdef int keys_of(object argument) except -1
cdef bint is_seen(PyObject** arguments, int n)
cdef Layer topmost(PyObject** arguments, int n, int ceiling)
cdef int set_observer(Layer layer) except -1
cdef object handle(Layer layer, Op op, PyObject** arguments, int n)
