"""Convolution by 3 x 3 kernels with four multiplications for an output instead of nine."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.im2col cimport Geometry, Wide

cdef enum:
    STRIP = 6                   # vectors of patches that are done at a time
    GRAIN = 65536               # multiplications that make a thread worth starting

cdef struct Plan:
    Geometry geometry           # BY_INPUT: of the convolution that computes it
    int mode
    Wide wide
    ssize[16] starts            # of the lines of a patch, in a plane's phases
    ssize[2] patches            # rows of them and columns in an image
    ssize filters               # of a group,
    ssize blocks                # and of tiles of them
    ssize images                # that are copied at a time, a batch,
    ssize batches               # how many of these there are,
    ssize strips                # and how many strips each has
    ssize kernel_step           # from k to k in U,
    ssize patch_step            # in V,
    ssize product_step          # and in M
    float* x
    float* weight
    float* kernels              # U, [group][block][k][channel][filter]
    float* out
    bint failed                 # for want of memory

cdef struct Run:                # patches that are next to each other in a row of an image
    ssize first                 # in the strip,
    ssize count
    ssize at                    # where the first of them begins in the copy, for channel 0,
    ssize out_at                # and its places in the result, for filter 0
    ssize rows                  # of places in the image, at most two,
    ssize columns               # and at most 2 * count

cdef struct Strip:
    ssize group
    ssize image                 # the first of the batch,
    ssize batch                 # and which one `copy` holds; -1 before the first
    ssize count                 # patches
    ssize width                 # of its lines in V and M, in whole vectors
    ssize runs
    Run* run
    float* copy                 # of the batch, with padding
    float* patches              # V, [k][channel][patch],
    float* products             # M, [k][filter of some blocks][patch],
    float* places               # and the outputs of a filter, [2][2][patch]

cdef bint is_winograd(Geometry* geometry, int dtype, int mode) noexcept nogil
cdef bint stays_finite(const float* x, ssize x_count, const float* y, ssize y_count,
                       double factor) noexcept nogil
cdef bint run_winograd(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry,
                       int mode) except -1

# what the gradient by the weight shares, winograd_weight.pyx
cdef void prepare(Plan* plan, Geometry* geometry, int mode) noexcept nogil
cdef bint take_memory(Plan* plan, Strip* strip) noexcept nogil
cdef void free_memory(Strip* strip) noexcept nogil
cdef void begin_strip(Plan* plan, Strip* strip, ssize i) noexcept nogil
cdef void transform_patches(Plan* plan, Strip* strip) noexcept nogil
