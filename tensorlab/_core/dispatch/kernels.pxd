"""From a call to its results: what the op infers, memory, and the kernel of the device."""
from cpython.object cimport PyObject

from tensorlab._core.dispatch.op cimport Op

cdef object run_kernel(Op op, PyObject** arguments, int n)
cdef object infer_into(Op op, str where, PyObject** arguments, int n, object out, tuple inputs, int rules)
cdef tuple tensors_among(PyObject** arguments, int n)
