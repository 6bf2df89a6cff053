"""Convolution by 3 x 3 kernels with 16 multiplications for four outputs, instead of 36.

Two outputs of a kernel of three are, by definition, six products:

    y0 = d0 g0 + d1 g1 + d2 g2            y1 = d1 g0 + d2 g1 + d3 g2

They take four, if pixels and weights are added up before:

    m0 = (d0 - d2) g0            m1 = (d1 + d2) (g0 + g1 + g2) / 2         y0 = m0 + m1 + m2
    m3 = (d1 - d3) g2            m2 = (d2 - d1) (g0 - g1 + g2) / 2         y1 = m1 - m2 - m3

Done along rows and columns, that makes 16 numbers V of a patch of 4 x 4, 16 numbers U of a
kernel, and 2 x 2 outputs from the products M = U V. The sums over channels are taken before
that last step, so there are 16 products of matrices:

    image              V[k]                   U[k]                     M[k]                  out
    phases    ->   channels x patches    filters x channels  ->   filters x patches   ->   2 x 2 places
                   of a strip                                                              of each patch

Patches lie two apart, so each of their 16 numbers is a line of one of the four phases of a
padded copy, as im2col.pyx makes it. The gradient by the input is a convolution, too: of the
gradient with the mirrored kernel.

An output depends on the same pixels as by definition, but mixes them in another way: its error
is in proportion to the largest of them times the largest weight, even if these two don't meet
(docs/decisions/0076-winograd.md). Infinities wouldn't cancel, so what isn't finite, or might
not stay so, isn't computed here.

Source: A. Lavin and S. Gray, "Fast algorithms for convolutional neural networks", 2016; the
identity is from S. Winograd, "Arithmetic complexity of computations", 1980.
"""
from libc.float cimport FLT_MAX
from libc.stdlib cimport calloc, free, malloc

from tensorlab._core.dtypes cimport FLOAT32
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport grain_of, parallel_for
from tensorlab._core.tensor cimport TensorBase, empty_tensor
from tensorlab.ops.im2col cimport (
    BY_INPUT, BY_WEIGHT, Geometry, copy_planes, find_tap, is_copy_small, measure, mirror,
    plane_size
)
from tensorlab.ops.linalg.packed_products cimport pack

cdef extern from "register_tile.h" nogil:
    enum:
        TL_TILE_ROWS
        tl_columns_32
        tl_lanes_32
    bint TL_HAS_FAST_TILE
    void tl_multiply_tile_32(float* out, ssize out_stride, ssize rows, ssize columns,
                             const float* left, ssize left_row, ssize left_step,
                             const float* right, ssize right_stride, ssize n,
                             float alpha, float keep, const float* start)

cdef extern from "winograd.h" nogil:
    float tl_largest(const float* x, ssize n)
    void tl_winograd_patches(float* to, ssize step, const float* source, const ssize* starts,
                             ssize n)
    void tl_winograd_kernels(float* to, ssize step, const float* source, ssize line,
                             ssize count)
    void tl_winograd_places(float* y, const float* source, ssize step, ssize n)
    void tl_interleave(float* out, ssize count, const float* even, const float* odd, float start)

cdef enum:
    BLOCKS = 8                  # tiles of filters that are done at a time: M lies in the L2 cache then
    STEP = 256                  # most products that are summed before the sum goes to M
    LEAST_MEAN = 32             # of channels and filters, harmonic: fewer don't pay for transforms
    LEAST_PLACES = 49           # of an image; not of a batch, so an image has the same bits in any


cdef bint is_winograd(Geometry* geometry, int dtype, int mode) noexcept nogil:
    """Can a convolution be done so, and is it worth it?"""
    cdef ssize channels = geometry.in_channels, filters = geometry.out_channels
    cdef int d
    for d in range(3):
        if (geometry.kernel[d] != (1 if d == 0 else 3) or geometry.stride[d] != 1
                or geometry.dilation[d] != 1 or geometry.padding[d] >= geometry.kernel[d]):
            return False
    return (TL_HAS_FAST_TILE and dtype == FLOAT32 and geometry.sizes[0] == 1
            and (mode == BY_WEIGHT or plane_size(geometry.out) >= LEAST_PLACES)
            and 2 * channels * filters >= LEAST_MEAN * (channels + filters)
            and is_copy_small(geometry))


cdef bint stays_finite(const float* x, ssize x_count, const float* y, ssize y_count,
                       double factor) noexcept nogil:
    """Can't what is made of products of these numbers pass the largest float?"""
    return <double>tl_largest(x, x_count) * tl_largest(y, y_count) * factor < FLT_MAX


# ---------------------------------------------------------------- planning
cdef void prepare(Plan* plan, Geometry* geometry, int mode) noexcept nogil:
    """Fill in all but tensors."""
    cdef Geometry patches
    cdef ssize phase, count, width = STRIP * tl_lanes_32
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
    count = plan.patches[0] * plan.patches[1]
    # Two strips or more, so that what the last vector wastes is little of them.
    plan.images = min((2 * width + count - 1) // count, geometry.batch)
    plan.batches = (geometry.batch + plan.images - 1) // plan.images
    plan.strips = (plan.images * count + width - 1) // width
    # A vector more than needed: the 16 numbers of a patch shouldn't fall into one set of the cache.
    plan.kernel_step = plan.geometry.in_channels * TL_TILE_ROWS + tl_lanes_32
    plan.patch_step = plan.geometry.in_channels * width + tl_lanes_32
    plan.product_step = BLOCKS * TL_TILE_ROWS * width + tl_lanes_32


# ---------------------------------------------------------------- kernels
cdef void transform_kernels(void* context, ssize begin, ssize end) noexcept nogil:
    """Of the blocks `begin` to `end` of filters, counted through all groups.

    A mirrored filter has its weights in reverse order, and takes some of each of the filters.
    """
    cdef Plan* plan = <Plan*>context
    cdef ssize channels = plan.geometry.in_channels, size = plan.filters * channels * 9
    cdef ssize row = channels * 9, column = 9, line = TL_TILE_ROWS
    cdef ssize i, block, rows, channel
    cdef const float* weight
    cdef const float* first
    cdef float[9 * 8] lines             # a tile has 8 rows at most
    first = lines
    if plan.mode == BY_INPUT:
        row, column, line = 9, plan.filters * 9, -TL_TILE_ROWS
        first = lines + 8 * TL_TILE_ROWS
    for i in range(begin, end):
        block = i % plan.blocks
        weight = plan.weight + i // plan.blocks * size + block * TL_TILE_ROWS * row
        rows = min(<ssize>TL_TILE_ROWS, plan.filters - block * TL_TILE_ROWS)
        for channel in range(channels):
            pack(lines, TL_TILE_ROWS, weight + channel * column, 1, row, 9, rows)
            tl_winograd_kernels(plan.kernels + i * 16 * plan.kernel_step + channel * TL_TILE_ROWS,
                                plan.kernel_step, first, line, TL_TILE_ROWS)


# ---------------------------------------------------------------- one strip of patches
cdef void list_runs(Plan* plan, Strip* strip, ssize begin, ssize end) noexcept nogil:
    """Of the patches `begin` to `end` of a batch."""
    cdef Geometry* geometry = &plan.geometry
    cdef ssize channels = geometry.in_channels, outputs = geometry.groups * plan.filters
    cdef ssize height = geometry.out[1], width = geometry.out[2]
    cdef ssize at = begin, image, row, column
    cdef Run* run = strip.run
    while at < end:
        image, column = at // (plan.patches[0] * plan.patches[1]), at % plan.patches[1]
        row = at // plan.patches[1] % plan.patches[0]
        run.first, run.count = at - begin, min(plan.patches[1] - column, end - at)
        run.at = image * channels * plan.wide.plane + row * plan.wide.size[2] + column
        run.out_at = (image * outputs * height + 2 * row) * width + 2 * column
        run.rows = min(<ssize>2, height - 2 * row)
        run.columns = min(2 * run.count, width - 2 * column)
        at += run.count
        run += 1
    strip.runs = run - strip.run


cdef void transform_patches(Plan* plan, Strip* strip) noexcept nogil:
    """Fill V. A run's last vector goes past its end; the next run overwrites what that wrote."""
    cdef ssize channel, r
    cdef Run* run
    for channel in range(plan.geometry.in_channels):
        for r in range(strip.runs):
            run = strip.run + r
            tl_winograd_patches(
                strip.patches + channel * strip.width + run.first, plan.patch_step,
                strip.copy + channel * plan.wide.plane + run.at, plan.starts, run.count)


cdef void multiply(Plan* plan, Strip* strip, const float* kernels, ssize first,
                   ssize last) noexcept nogil:
    """Fill M, for blocks `first` to `last` of filters: tile after tile, with panels as equal as
    possible, as in packed_products.pyx."""
    cdef ssize channels = plan.geometry.in_channels, vectors = strip.width // tl_lanes_32
    cdef ssize panels = (strip.width + tl_columns_32 - 1) // tl_columns_32
    cdef ssize k, panel, begin, end, block, at
    cdef const float* patches
    cdef const float* rows
    cdef float* products
    for k in range(16):
        for panel in range(panels):
            begin = vectors * panel // panels * tl_lanes_32
            end = vectors * (panel + 1) // panels * tl_lanes_32
            patches = strip.patches + k * plan.patch_step + begin
            products = strip.products + k * plan.product_step + begin
            for block in range(first, last):
                rows, at = kernels + (block * 16 + k) * plan.kernel_step, 0
                while at < channels:
                    tl_multiply_tile_32(
                        products, strip.width, TL_TILE_ROWS, end - begin,
                        rows + at * TL_TILE_ROWS, 1, TL_TILE_ROWS,
                        patches + at * strip.width, strip.width,
                        min(<ssize>STEP, channels - at), 1, at > 0, NULL)
                    at += STEP
                products += TL_TILE_ROWS * strip.width


cdef void store_places(Plan* plan, Strip* strip, float* out, const float* products,
                       float start) noexcept nogil:
    """Of one filter: two rows of each run, the second of which may lie outside of the image."""
    cdef ssize r, i
    cdef float* line
    cdef Run* run
    tl_winograd_places(strip.places, products, plan.product_step, strip.width)
    for r in range(strip.runs):
        run = strip.run + r
        for i in range(run.rows):
            line = strip.places + 2 * i * strip.width + run.first
            tl_interleave(out + run.out_at + i * plan.geometry.out[2], run.columns, line,
                          line + strip.width, start)


cdef void run_strip(Plan* plan, Strip* strip) noexcept nogil:
    """All filters of a group."""
    cdef Geometry* geometry = &plan.geometry
    cdef const float* kernels = plan.kernels + strip.group * plan.blocks * 16 * plan.kernel_step
    cdef const float* bias = <const float*>geometry.bias
    cdef ssize start = (strip.image * geometry.groups + strip.group) * plan.filters
    cdef float* out = plan.out + start * plane_size(geometry.out)
    cdef ssize first = 0, last, filter
    transform_patches(plan, strip)
    while first < plan.blocks:
        last = min(first + BLOCKS, plan.blocks)
        multiply(plan, strip, kernels, first, last)
        for filter in range(first * TL_TILE_ROWS, min(last * TL_TILE_ROWS, plan.filters)):
            store_places(plan, strip, out + filter * plane_size(geometry.out),
                         strip.products + (filter - first * TL_TILE_ROWS) * strip.width,
                         bias[strip.group * plan.filters + filter] if bias != NULL else 0)
        first = last


# ---------------------------------------------------------------- all of them
cdef void copy_images(Plan* plan, float* copy, float* x, ssize count) noexcept nogil:
    """A group's planes of some images, with their padding."""
    cdef Geometry* geometry = &plan.geometry
    cdef ssize channels = geometry.in_channels, size = plane_size(geometry.sizes)
    cdef ssize image
    cdef ssize[3] stride
    stride[0], stride[1], stride[2] = 1, 2, 2
    for image in range(count):
        copy_planes(copy + image * channels * plan.wide.plane,
                    x + image * geometry.groups * channels * size, channels, geometry.sizes, stride,
                    geometry.padding, &plan.wide)


cdef inline ssize cut(ssize count, ssize i, ssize parts) noexcept nogil:
    """Where part i of `parts` begins, which are whole vectors, as equal as they can be."""
    cdef ssize vectors = (count + tl_lanes_32 - 1) // tl_lanes_32
    return min(vectors * i // parts * tl_lanes_32, count)


cdef void begin_strip(Plan* plan, Strip* strip, ssize i) noexcept nogil:
    """Strip i, counted through all groups and batches; copy its batch if it's a new one."""
    cdef Geometry* geometry = &plan.geometry
    cdef ssize batch = i // plan.strips, images, count, first, last
    strip.image, strip.group = batch % plan.batches * plan.images, batch // plan.batches
    images = min(plan.images, geometry.batch - strip.image)
    if strip.batch != batch:
        strip.batch = batch
        copy_images(plan, strip.copy, plan.x + (strip.image * geometry.groups + strip.group)
                    * geometry.in_channels * plane_size(geometry.sizes), images)
    count = images * plan.patches[0] * plan.patches[1]
    first = cut(count, i % plan.strips, plan.strips)
    last = cut(count, i % plan.strips + 1, plan.strips)
    strip.count = last - first
    strip.width = (strip.count + tl_lanes_32 - 1) // tl_lanes_32 * tl_lanes_32
    list_runs(plan, strip, first, last)


cdef bint take_memory(Plan* plan, Strip* strip) noexcept nogil:
    cdef ssize lanes = tl_lanes_32
    strip.batch = -1
    strip.copy = <float*>calloc(
        plan.images * plan.geometry.in_channels * plan.wide.plane + lanes, sizeof(float))
    strip.patches = <float*>malloc(16 * plan.patch_step * sizeof(float))
    strip.products = <float*>malloc(16 * plan.product_step * sizeof(float))
    strip.places = <float*>malloc(4 * STRIP * lanes * sizeof(float))
    strip.run = <Run*>malloc(STRIP * lanes * sizeof(Run))
    return (strip.copy != NULL and strip.patches != NULL and strip.products != NULL
            and strip.places != NULL and strip.run != NULL)


cdef void free_memory(Strip* strip) noexcept nogil:
    free(strip.copy)
    free(strip.patches)
    free(strip.products)
    free(strip.places)
    free(strip.run)


cdef void run_strips(void* context, ssize begin, ssize end) noexcept nogil:
    """Strips `begin` to `end`, counted through all groups and batches of images."""
    cdef Plan* plan = <Plan*>context
    cdef ssize i
    cdef Strip strip
    if take_memory(plan, &strip):
        for i in range(begin, end):
            begin_strip(plan, &strip, i)
            run_strip(plan, &strip)
    else:
        plan.failed = True
    free_memory(&strip)


cdef bint run_winograd(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry,
                       int mode) except -1:
    """All three tensors contiguous, of float32, and none empty.

    False, and nothing is done, if a number is not finite or might not stay so.
    """
    cdef Plan plan
    cdef TensorBase source = out if mode == BY_INPUT else x, kernels
    cdef ssize[1] sizes
    with nogil:
        prepare(&plan, geometry, mode)
        plan.x, plan.weight = <float*>source.data_, <float*>weight.data_
        plan.out = <float*>x.data_ if mode == BY_INPUT else <float*>out.data_
        # V is 4 times the largest number of x at most, U 9/4 times that of the weight, M the sums
        # of their products, and an output nine of these.
        if not stays_finite(plan.x, source.numel_, plan.weight, weight.numel_,
                            81 * plan.geometry.in_channels):
            return False
    sizes[0] = geometry.groups * plan.blocks * 16 * plan.kernel_step
    kernels = empty_tensor(FLOAT32, 1, sizes)
    with nogil:
        plan.kernels = <float*>kernels.data_
        parallel_for(transform_kernels, &plan, geometry.groups * plan.blocks,
                     grain_of(GRAIN, 16 * plan.kernel_step))
        parallel_for(run_strips, &plan, geometry.groups * plan.batches * plan.strips,
                     grain_of(GRAIN, plan.patch_step * plan.filters))
    if plan.failed:
        raise MemoryError("conv: no memory for the transformed patches")
    return True
