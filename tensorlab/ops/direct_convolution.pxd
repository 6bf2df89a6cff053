"""Convolution with one input channel per group, for convolution_loops.pyx."""
from tensorlab._core.dtypes cimport real
from tensorlab.ops.im2col cimport Geometry

cdef bint is_direct(Geometry* geometry) noexcept nogil
cdef bint run_direct(real* x, real* weight, real* out, Geometry* geometry, int mode, Py_ssize_t begin,
                     Py_ssize_t end) noexcept nogil
