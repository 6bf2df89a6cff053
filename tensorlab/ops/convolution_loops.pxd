"""The loops of convolution, for convolution.pyx."""
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.patches cimport Geometry

cdef enum:                      # which of the three tensors is the result
    FORWARD = 0
    BY_INPUT = 1
    BY_WEIGHT = 2

cdef int run_conv(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry, int mode) except -1
