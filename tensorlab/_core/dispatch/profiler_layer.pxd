"""The profiler's place among the layers."""
from tensorlab._core.dispatch.op cimport run_function

cdef int set_run_below(run_function function) except -1
