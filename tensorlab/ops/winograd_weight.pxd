"""The gradient of a convolution by 3 x 3 kernels, with 16 multiplications instead of 36."""
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.im2col cimport Geometry

cdef bint run_winograd_weight(TensorBase x, TensorBase weight, TensorBase out,
                              Geometry* geometry) except -1
