"""Convolution by 3 x 3 kernels with four multiplications for an output instead of nine."""
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.im2col cimport Geometry

cdef bint is_winograd(Geometry* geometry, int dtype, int mode) noexcept nogil
cdef bint run_winograd(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry, int mode) except -1
