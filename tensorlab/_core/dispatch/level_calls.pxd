"""What levels do with a call."""
from cpython.object cimport PyObject

from tensorlab._core.dispatch.levels cimport Level
from tensorlab._core.dispatch.op cimport Op, run_function
from tensorlab._core.tensor cimport TensorBase

cdef Level level_of_call(Op op, PyObject** arguments, int n)
cdef bint is_boxed(PyObject** arguments, int n)
cdef object run_level(Level level, Op op, PyObject** arguments, int n)
cdef object run_inside(Op op, PyObject** arguments, int n)
cdef int share_counter(Op op, TensorBase x, object out) except -1
cdef int set_entries(run_function entry, run_function recorded) except -1
