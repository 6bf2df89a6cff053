"""Lazy bits: a conjugate or a negative, noted on the tensor and computed when it is needed."""
from cpython.object cimport PyObject
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.tensor cimport TensorBase

cdef TensorBase resolved(TensorBase x)
cdef object run_resolved(Op op, PyObject** arguments, int n)
