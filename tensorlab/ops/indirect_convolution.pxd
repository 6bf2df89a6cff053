"""Convolution that multiplies straight from the image, for convolution_loops.pyx."""
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.im2col cimport Geometry

cdef bint is_indirect(Geometry* geometry, int dtype, int mode) noexcept nogil
cdef int run_indirect(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry, int mode) except -1
