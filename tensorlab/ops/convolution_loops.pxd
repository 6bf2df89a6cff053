"""The loops of convolution, for convolution.pyx."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.im2col cimport Geometry

cdef int run_conv(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry, int mode) except -1
