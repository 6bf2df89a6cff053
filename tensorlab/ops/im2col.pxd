"""im2col: what a convolution's kernel sees at each place, as the columns of a matrix."""
from tensorlab._core.dtypes cimport number
from tensorlab._core.layout cimport ssize

cdef enum:                      # which of a convolution's three tensors is the result
    FORWARD = 0
    BY_INPUT = 1
    BY_WEIGHT = 2

cdef struct Geometry:           # of a convolution over three dimensions; fewer have size 1 in front
    ssize batch
    ssize groups
    ssize in_channels           # of one group
    ssize out_channels          # of one group
    ssize[3] sizes              # of the input,
    ssize[3] kernel
    ssize[3] out                # and of the output
    ssize[3] stride
    ssize[3] padding            # before the first element; what lies behind the last one follows from `out`
    ssize[3] dilation

cdef ssize column_size(Geometry* geometry) noexcept nogil
cdef ssize plane_size(const ssize* sizes) noexcept nogil
cdef void im2col(number* columns, const number* x, Geometry* geometry, ssize first, ssize last) noexcept nogil
cdef void col2im(number* x, const number* columns, Geometry* geometry, ssize first, ssize last) noexcept nogil
