"""Convolution by 3 x 3 kernels with 16 multiplications for four outputs, where the definition has 36.

Two outputs of a kernel of three, y0 = d0 g0 + d1 g1 + d2 g2 and y1 = d1 g0 + d2 g1 + d3 g2, take four:

    m0 = (d0 - d2) g0                  m1 = (d1 + d2) (g0 + g1 + g2) / 2         y0 = m0 + m1 + m2
    m3 = (d1 - d3) g2                  m2 = (d2 - d1) (g0 - g1 + g2) / 2         y1 = m1 - m2 - m3

Done along rows and columns, that makes 16 numbers V of a patch of 4 x 4, 16 numbers U of a kernel, and 2 x 2 outputs from
the products M = U V, whose sums over channels are taken before: 16 products of matrices.

    image, phases      V[k]                     U[k]                      M[k]                       out
    patches    ->  channels x patches,     filters x channels  ->   filters x patches   ->   2 x 2 places of each
                   STRIP vectors of them

Patches lie two apart, so each of their 16 numbers is a line of one of the four phases of a padded copy, as im2col.pyx makes
it. The gradient by the input is a convolution, too: of the gradient with the mirrored kernel.

An output depends on the same pixels as by definition, but mixes them in another way: its error is in proportion to the
largest of them times the largest weight, even if these two don't meet. docs/decisions/0076-winograd.md has how large it
is. Infinities wouldn't cancel, so what isn't finite, or might not stay so, isn't computed here.

Source: A. Lavin and S. Gray, "Fast algorithms for convolutional neural networks", 2016; the identity is S. Winograd's,
"Arithmetic complexity of computations", 1980.
"""
from libc.float cimport FLT_MAX
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free, malloc

from tensorlab._core.dtypes cimport FLOAT32
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport grain_of, parallel_for
from tensorlab._core.tensor cimport TensorBase, empty_tensor
from tensorlab.ops.im2col cimport (
    BY_INPUT, BY_WEIGHT, Geometry, Wide, copy_plane, find_tap, is_copy_small, measure, mirror, plane_size
)

cdef extern from "register_tile.h" nogil:
    enum:
        TL_TILE_ROWS
        tl_columns_32
        tl_lanes_32
    bint TL_HAS_FAST_TILE
    void tl_multiply_tile_32(float* out, ssize out_stride, ssize rows, ssize columns, const float* left,
                             ssize left_row, ssize left_step, const float* right, ssize right_stride, ssize n,
                             float alpha, float keep)

cdef extern from "winograd.h" nogil:
    void tl_winograd_patches(float* to, ssize step, const float* source, const ssize* starts, ssize n)
    void tl_winograd_kernels(float* to, ssize step, const float* source, ssize count)
    void tl_winograd_places(float* y, const float* source, ssize step, ssize n)
    void tl_interleave(float* out, ssize count, const float* even, const float* odd, float start)

cdef enum:
    STRIP = 6                   # vectors of patches that are done at a time,
    BLOCKS = 8                  # and blocks of filters: so many tiles of the result lie in the L2 cache
    STEP = 256                  # most products that are summed before the sum goes to the tile
    LEAST_MEAN = 32             # harmonic mean of channels and filters from which transforms take less than they save,
    LEAST_PLACES = 49           # and places of an image; not of a batch, so an image has the same bits in any
    GRAIN = 65536               # multiplications that make a thread worth starting

cdef struct Plan:
    Geometry geometry           # BY_INPUT: of the convolution that computes it
    int mode
    Wide wide
    ssize[16] starts            # of the lines of a patch, in a plane's phases
    ssize filters               # of a group,
    ssize blocks                # and of tiles of them
    ssize[2] patches            # rows of them and columns in an image
    ssize images                # that are done at a time, and groups
    ssize batches               # of so many images
    ssize strips                # of a batch
    float* x
    float* weight
    float* kernels              # U, [group][block][k][channel][filter]
    ssize kernel_step           # from k to k in U,
    ssize patch_step            # in V,
    ssize product_step          # and in M
    float* out
    bint failed                 # for want of memory


cdef bint is_winograd(Geometry* geometry, int dtype, int mode) noexcept nogil:
    """Can a convolution be done so, and is it worth it?"""
    cdef ssize channels = geometry.in_channels, filters = geometry.out_channels
    cdef int d
    for d in range(3):
        if geometry.kernel[d] != (1 if d == 0 else 3) or geometry.stride[d] != 1 or geometry.dilation[d] != 1:
            return False
        if geometry.padding[d] >= geometry.kernel[d]:
            return False
    return (TL_HAS_FAST_TILE and dtype == FLOAT32 and mode != BY_WEIGHT and geometry.sizes[0] == 1
            and 2 * channels * filters >= LEAST_MEAN * (channels + filters)
            and plane_size(geometry.out) >= LEAST_PLACES and is_copy_small(geometry))


cdef double largest(const float* x, ssize n) noexcept nogil:
    """The largest absolute value: without their signs, the bits of floats are ordered as integers, nan being last."""
    cdef const int32_t* bits = <const int32_t*>x
    cdef int32_t most = 0
    cdef ssize i
    for i in range(n):
        most = max(most, bits[i] & 0x7fffffff)
    return (<float*>&most)[0]


cdef bint stays_finite(const float* x, ssize x_count, const float* weight, ssize weight_count, ssize channels) noexcept nogil:
    """V has 4 times the largest number of x at most, U 9/4, and M their products' sums; an output adds nine of M."""
    return largest(x, x_count) * largest(weight, weight_count) * channels * 81 < FLT_MAX


# ---------------------------------------------------------------- planning
cdef void prepare(Plan* plan, Geometry* geometry, int mode) noexcept nogil:
    """Fill in all but tensors."""
    cdef Geometry patches
    cdef ssize phase, count, width
    cdef int d, k
    plan.geometry, plan.mode, plan.failed = geometry[0], mode, False
    if mode == BY_INPUT:
        mirror(&plan.geometry)
    patches = plan.geometry             # as places of a kernel of 4 x 4 with a stride of 2
    for d in range(1, 3):
        patches.kernel[d], patches.stride[d] = 4, 2
        patches.out[d] = plan.patches[d - 1] = (plan.geometry.out[d] + 1) // 2
    measure(&plan.wide, &patches)
    for k in range(16):
        plan.starts[k] = find_tap(&plan.wide, &patches, k, &phase)
    plan.filters = plan.geometry.out_channels
    plan.blocks = (plan.filters + TL_TILE_ROWS - 1) // TL_TILE_ROWS
    count, width = plan.patches[0] * plan.patches[1], STRIP * tl_lanes_32
    plan.images = min((2 * width + count - 1) // count, geometry.batch)     # the last vector should not be much of it
    plan.batches = (geometry.batch + plan.images - 1) // plan.images
    plan.strips = (plan.images * count + width - 1) // width
    # A vector more than there is, so that the 16 numbers of a patch don't fall into one set of the cache.
    plan.kernel_step = plan.geometry.in_channels * TL_TILE_ROWS + tl_lanes_32
    plan.patch_step = plan.geometry.in_channels * width + tl_lanes_32
    plan.product_step = BLOCKS * TL_TILE_ROWS * width + tl_lanes_32


# ---------------------------------------------------------------- kernels
cdef void transform_kernels(void* context, ssize begin, ssize end) noexcept nogil:
    """Of the blocks `begin` to `end` of filters, of all groups. A mirrored filter has its weights in reverse order, and
    takes some of each of the filters."""
    cdef Plan* plan = <Plan*>context
    cdef ssize channels = plan.geometry.in_channels, size = plan.filters * channels * 9, row = channels * 9, column = 9
    cdef ssize tap = 1, first = 0, i, channel, k, r, rows, block
    cdef const float* weight
    cdef float[9 * 16] lines
    if plan.mode == BY_INPUT:
        row, column, tap, first = 9, plan.filters * 9, -1, 8
    for i in range(begin, end):
        block = i % plan.blocks
        weight = plan.weight + i // plan.blocks * size + block * TL_TILE_ROWS * row + first
        rows = min(<ssize>TL_TILE_ROWS, plan.filters - block * TL_TILE_ROWS)
        for channel in range(channels):
            for k in range(9):
                for r in range(rows):
                    lines[k * TL_TILE_ROWS + r] = weight[r * row + channel * column + k * tap]
                for r in range(rows, <ssize>TL_TILE_ROWS):
                    lines[k * TL_TILE_ROWS + r] = 0
            tl_winograd_kernels(plan.kernels + i * 16 * plan.kernel_step + channel * TL_TILE_ROWS, plan.kernel_step, lines,
                                TL_TILE_ROWS)


# ---------------------------------------------------------------- one strip of patches
cdef struct Run:                # patches that are next to each other in a row of an image
    ssize first                 # in the strip,
    ssize count
    ssize at                    # where the first of them begins in the copy, for the first channel,
    ssize out_at                # and its places in the result, for the first filter
    ssize rows                  # of places in the image, at most two,
    ssize columns               # and at most 2 * count


cdef struct Strip:
    ssize width                 # of its lines in V and M, in whole vectors
    ssize runs
    Run* run
    float* copy                 # of the batch, with padding
    float* patches              # V, [k][channel][patch],
    float* products             # M, [k][filter of some blocks][patch],
    float* places               # and y, [k][patch]


cdef void list_runs(Plan* plan, Strip* strip, ssize begin, ssize end) noexcept nogil:
    """Of patches `begin` to `end` of a batch."""
    cdef Geometry* geometry = &plan.geometry
    cdef ssize at = begin, image, row, column
    cdef Run* run = strip.run
    while at < end:
        image, column = at // (plan.patches[0] * plan.patches[1]), at % plan.patches[1]
        row = at // plan.patches[1] % plan.patches[0]
        run.first, run.count = at - begin, min(plan.patches[1] - column, end - at)
        run.at = image * geometry.in_channels * plan.wide.plane + row * plan.wide.size[2] + column
        run.out_at = (image * geometry.groups * plan.filters * geometry.out[1] + 2 * row) * geometry.out[2] + 2 * column
        run.rows, run.columns = min(<ssize>2, geometry.out[1] - 2 * row), min(2 * run.count, geometry.out[2] - 2 * column)
        at += run.count
        run += 1
    strip.runs = run - strip.run


cdef void transform_patches(Plan* plan, Strip* strip) noexcept nogil:
    """A run's last vector goes past its end, where the next run overwrites what it wrote."""
    cdef ssize channel, r
    cdef Run* run
    for channel in range(plan.geometry.in_channels):
        for r in range(strip.runs):
            run = strip.run + r
            tl_winograd_patches(strip.patches + channel * strip.width + run.first, plan.patch_step,
                                strip.copy + run.at + channel * plan.wide.plane, plan.starts, run.count)


cdef void multiply(Plan* plan, Strip* strip, const float* kernels, ssize first, ssize last) noexcept nogil:
    """M for the blocks `first` to `last` of filters. As in packed_products.pyx, panels are as equal as possible."""
    cdef ssize channels = plan.geometry.in_channels, vectors = strip.width // tl_lanes_32
    cdef ssize panels = (strip.width + tl_columns_32 - 1) // tl_columns_32, k, panel, begin, end, block, inner
    cdef const float* patches
    cdef float* products
    for k in range(16):
        for panel in range(panels):
            begin, end = vectors * panel // panels * tl_lanes_32, vectors * (panel + 1) // panels * tl_lanes_32
            patches = strip.patches + k * plan.patch_step + begin
            products = strip.products + k * plan.product_step + begin
            for block in range(first, last):
                inner = 0
                while inner < channels:
                    tl_multiply_tile_32(
                        products, strip.width, TL_TILE_ROWS, end - begin,
                        kernels + (block * 16 + k) * plan.kernel_step + inner * TL_TILE_ROWS, 1, TL_TILE_ROWS,
                        patches + inner * strip.width, strip.width, min(<ssize>STEP, channels - inner), 1, inner > 0)
                    inner += STEP
                products += TL_TILE_ROWS * strip.width


cdef void store_places(Plan* plan, Strip* strip, float* out, const float* products, float start) noexcept nogil:
    """Of one filter: two rows of each run, of which the last may lie outside of the image."""
    cdef ssize r, i
    cdef float* line
    cdef Run* run
    tl_winograd_places(strip.places, products, plan.product_step, strip.width)
    for r in range(strip.runs):
        run = strip.run + r
        for i in range(run.rows):
            line = strip.places + 2 * i * strip.width + run.first
            tl_interleave(out + run.out_at + i * plan.geometry.out[2], run.columns, line, line + strip.width, start)


cdef void run_strip(Plan* plan, Strip* strip, const float* kernels, const float* bias, float* out) noexcept nogil:
    cdef ssize first = 0, last, filter
    transform_patches(plan, strip)
    while first < plan.blocks:
        last = min(first + BLOCKS, plan.blocks)
        multiply(plan, strip, kernels, first, last)
        for filter in range(first * TL_TILE_ROWS, min(last * TL_TILE_ROWS, plan.filters)):
            store_places(plan, strip, out + filter * plan.geometry.out[1] * plan.geometry.out[2],
                         strip.products + (filter - first * TL_TILE_ROWS) * strip.width,
                         bias[filter] if bias != NULL else 0)
        first = last


# ---------------------------------------------------------------- all of them
cdef void copy_images(Plan* plan, float* copy, float* x, ssize count) noexcept nogil:
    """The planes of a group of some images, with their padding."""
    cdef Geometry* geometry = &plan.geometry
    cdef ssize channels = geometry.in_channels, size = plane_size(geometry.sizes), image, channel
    cdef ssize[3] stride
    stride[0], stride[1], stride[2] = 1, 2, 2
    for image in range(count):
        for channel in range(channels):
            copy_plane(copy, x + (image * geometry.groups * channels + channel) * size, geometry.sizes, stride,
                       geometry.padding, &plan.wide, False)
            copy += plan.wide.plane


cdef inline ssize cut(ssize count, ssize i, ssize parts) noexcept nogil:
    """Where part i of parts of whole vectors begins, as equal as they can be."""
    cdef ssize vectors = (count + tl_lanes_32 - 1) // tl_lanes_32
    return min(vectors * i // parts * tl_lanes_32, count)


cdef void run_strips(void* context, ssize begin, ssize end) noexcept nogil:
    """Strips `begin` to `end`, counted through all groups and batches of images."""
    cdef Plan* plan = <Plan*>context
    cdef Geometry* geometry = &plan.geometry
    cdef ssize channels = geometry.in_channels, i, batch, group, images, count, first, last, copied = -1
    cdef Strip strip
    cdef const float* bias
    strip.copy = <float*>calloc(plan.images * channels * plan.wide.plane + tl_lanes_32, sizeof(float))
    strip.patches = <float*>malloc(16 * plan.patch_step * sizeof(float))
    strip.products = <float*>malloc((16 * plan.product_step + 4 * STRIP * tl_lanes_32) * sizeof(float))
    strip.run = <Run*>malloc(STRIP * tl_lanes_32 * sizeof(Run))
    if strip.copy == NULL or strip.patches == NULL or strip.products == NULL or strip.run == NULL:
        plan.failed, end = True, begin
    strip.places = strip.products + 16 * plan.product_step
    for i in range(begin, end):
        batch, group = i // plan.strips % plan.batches, i // plan.strips // plan.batches
        images = min(plan.images, geometry.batch - batch * plan.images)
        if copied != i // plan.strips:
            copied = i // plan.strips
            copy_images(plan, strip.copy, plan.x + (batch * plan.images * geometry.groups + group) * channels
                        * plane_size(geometry.sizes), images)
        count = images * plan.patches[0] * plan.patches[1]
        first, last = cut(count, i % plan.strips, plan.strips), cut(count, i % plan.strips + 1, plan.strips)
        strip.width = (last - first + tl_lanes_32 - 1) // tl_lanes_32 * tl_lanes_32
        list_runs(plan, &strip, first, last)
        bias = <const float*>geometry.bias
        run_strip(plan, &strip, plan.kernels + group * plan.blocks * 16 * plan.kernel_step,
                  bias + group * plan.filters if bias != NULL else NULL,
                  plan.out + (batch * plan.images * geometry.groups + group) * plan.filters * plane_size(geometry.out))
    free(strip.copy)
    free(strip.patches)
    free(strip.products)
    free(strip.run)


cdef bint run_winograd(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry, int mode) except -1:
    """All three tensors contiguous, of float32, and none empty. False, and nothing is done, if a number is not finite or
    might not stay so."""
    cdef Plan plan
    cdef TensorBase source = out if mode == BY_INPUT else x, kernels
    cdef ssize[1] sizes
    with nogil:
        prepare(&plan, geometry, mode)
        plan.x, plan.weight = <float*>source.data_, <float*>weight.data_
        plan.out = <float*>x.data_ if mode == BY_INPUT else <float*>out.data_
        if not stays_finite(plan.x, source.numel_, plan.weight, weight.numel_, plan.geometry.in_channels):
            return False
    sizes[0] = geometry.groups * plan.blocks * 16 * plan.kernel_step
    kernels = empty_tensor(FLOAT32, 1, sizes)
    with nogil:
        plan.kernels = <float*>kernels.data_
        parallel_for(transform_kernels, &plan, geometry.groups * plan.blocks, grain_of(GRAIN, 16 * plan.kernel_step))
        parallel_for(run_strips, &plan, geometry.groups * plan.batches * plan.strips,
                     grain_of(GRAIN, plan.patch_step * plan.filters))
    if plan.failed:
        raise MemoryError("conv: no memory for the transformed patches")
    return True
