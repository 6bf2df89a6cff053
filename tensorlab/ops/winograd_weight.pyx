"""The gradient by the weight of the convolution in winograd.pyx.

With V = B d B' of a patch and U = G g G' of a kernel, its outputs are y = A (U V) A'. All of it is
linear in the kernel, so the gradients go back the same way, by the transposed matrices, with
gradients of y and g in their places:

    A' y A    16 numbers for each patch and filter,       like M
    sums      over all patches of (A' y A) V,             like U: 16 products of matrices
    G' (..) G 9 numbers for each channel and filter,      the gradient by the kernel

So this, too, takes 16 multiplications for a patch, channel and filter, where 36 stand in the
definition. Each thread sums over some of the strips; then their sums are added.
"""
from libc.stdlib cimport calloc, free

from tensorlab._core.dtypes cimport FLOAT32
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport parallel_for, thread_count
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.im2col cimport BY_WEIGHT, Geometry, plane_size
from tensorlab.ops.linalg.packed_products cimport packed_multiply
from tensorlab.ops.linalg.product_loops cimport Matrix
from tensorlab.ops.winograd cimport (
    GRAIN, STRIP, Plan, Run, Strip, begin_strip, free_memory, prepare, stays_finite, take_memory,
    transform_patches
)

cdef extern from "winograd.h" nogil:
    enum:
        tl_lanes_32
    void tl_winograd_gradients(float* to, ssize step, const float* y, ssize n)
    void tl_winograd_weights(float* out, const float* sums, ssize step, ssize n)

cdef enum:
    LEAST_PATCHES = 256         # of all images: fewer don't pay for the sums' way through the memory

cdef struct Sums:
    Plan plan                   # its `out` is the gradient of the output
    ssize parts                 # of all strips; each has sums of its own,
    float* sums                 # [part][group][k][filter][channel]


cdef inline ssize sums_size(Plan* plan) noexcept nogil:
    """Numbers of all groups."""
    return 16 * plan.geometry.groups * plan.filters * plan.geometry.in_channels


cdef void read_places(Plan* plan, Strip* strip, const float* out) noexcept nogil:
    """The gradients of a filter's places, [2][2][patch]; 0 where they lie outside of the image."""
    cdef ssize r, i, j
    cdef float* even
    cdef float* odd
    cdef const float* line
    cdef Run* run
    for r in range(strip.runs):
        run = strip.run + r
        for i in range(2):
            even = strip.places + 2 * i * strip.width + run.first
            odd = even + strip.width
            line = out + run.out_at + i * plan.geometry.out[2]
            if i < run.rows:
                for j in range(run.columns // 2):
                    even[j], odd[j] = line[2 * j], line[2 * j + 1]
                if run.columns < 2 * run.count:
                    even[run.count - 1], odd[run.count - 1] = line[run.columns - 1], 0
            else:
                for j in range(run.count):
                    even[j] = odd[j] = 0


cdef void add_strip(Plan* plan, Strip* strip, float* sums) noexcept nogil:
    """sums[k] += M[k] @ V[k]', for one group."""
    cdef ssize channels = plan.geometry.in_channels, filters = plan.filters, filter, k
    cdef ssize first = (strip.image * plan.geometry.groups + strip.group) * filters
    cdef const float* out = plan.out + first * plane_size(plan.geometry.out)
    cdef Matrix to, left, right
    transform_patches(plan, strip)
    for filter in range(filters):
        read_places(plan, strip, out + filter * plane_size(plan.geometry.out))
        tl_winograd_gradients(strip.products + filter * strip.width, plan.product_step,
                              strip.places, strip.width)
    to.rows, to.columns, to.row_stride, to.column_stride = filters, channels, channels, 1
    left.rows, left.columns = filters, strip.count
    left.row_stride, left.column_stride = strip.width, 1
    right.rows, right.columns = strip.count, channels
    right.row_stride, right.column_stride = 1, strip.width
    for k in range(16):
        to.data = <char*>(sums + k * filters * channels)
        left.data = <char*>(strip.products + k * plan.product_step)
        right.data = <char*>(strip.patches + k * plan.patch_step)
        if not packed_multiply(FLOAT32, &to, &left, &right, 1, 1):
            plan.failed = True


cdef void run_parts(void* context, ssize begin, ssize end) noexcept nogil:
    """Parts `begin` to `end` of all strips."""
    cdef Sums* all = <Sums*>context
    cdef Plan* plan = &all.plan
    cdef ssize strips = plan.geometry.groups * plan.batches * plan.strips, part, i
    cdef ssize group_size = sums_size(plan) // plan.geometry.groups
    cdef Strip strip
    if take_memory(plan, &strip):
        for part in range(begin, end):
            for i in range(strips * part // all.parts, strips * (part + 1) // all.parts):
                begin_strip(plan, &strip, i)
                add_strip(plan, &strip,
                          all.sums + part * sums_size(plan) + strip.group * group_size)
    else:
        plan.failed = True
    free_memory(&strip)


cdef void add_weights(float* weight, Sums* all) noexcept nogil:
    cdef Plan* plan = &all.plan
    cdef ssize channels = plan.geometry.in_channels, size = sums_size(plan)
    cdef ssize part, i, group, filter
    for part in range(1, all.parts):
        for i in range(size):
            all.sums[i] += all.sums[part * size + i]
    for group in range(plan.geometry.groups):
        for filter in range(plan.filters):
            tl_winograd_weights(
                weight, all.sums + (group * 16 * plan.filters + filter) * channels,
                plan.filters * channels, channels)
            weight += channels * 9


cdef bint run_winograd_weight(TensorBase x, TensorBase weight, TensorBase out,
                              Geometry* geometry) except -1:
    """All three tensors contiguous, of float32, and none empty; the gradient is added to `weight`.

    False, and nothing is done, if it isn't worth it, or a number is not finite or might not stay so.
    """
    cdef Sums all
    cdef Plan* plan = &all.plan
    cdef ssize strips, patches
    with nogil:
        prepare(plan, geometry, BY_WEIGHT)
        patches = geometry.batch * plan.patches[0] * plan.patches[1]
        plan.product_step = plan.filters * STRIP * tl_lanes_32 + tl_lanes_32
        plan.x, plan.out = <float*>x.data_, <float*>out.data_
        strips = geometry.groups * plan.batches * plan.strips
        # V is 4 times the largest number of x at most, what is like M 4 times that of the
        # gradients, and the weights' 4 times the sums of their products.
        if patches < LEAST_PATCHES or not stays_finite(plan.x, x.numel_, plan.out, out.numel_,
                                                       64 * patches):
            return False
        all.parts = min(<ssize>thread_count(strips * plan.patch_step * plan.filters, GRAIN), strips)
        all.sums = <float*>calloc(all.parts * sums_size(plan), sizeof(float))
        if all.sums != NULL:
            parallel_for(run_parts, &all, all.parts, 1)
            if not plan.failed:
                add_weights(<float*>weight.data_, &all)
        free(all.sums)
    if all.sums == NULL or plan.failed:
        raise MemoryError("conv: no memory for the transformed patches")
    return True
