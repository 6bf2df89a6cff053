"""Convolution as a product of matrices whose left one is the image itself.

im2col.pyx writes a matrix of patches. Here nothing is written: the tile of register_tile.h takes one number at a time
from the left matrix, so it can take it from anywhere. An element of that matrix is

    left[row][k] = source[row_at[row] + inner_at[k]]

where the source is a copy of the image with its padding, as im2col.pyx makes it, or the image if it has none. Two lists of
numbers describe any kernel, stride and dilation; a tile gets the first as pointers. The right matrix is packed, in panels
whose columns are filters:

                     rows                  inner (k)             right
    FORWARD          places                weights of a filter   weight, packed once
    BY_INPUT         places                weights of a filter   weight, mirrored
    BY_WEIGHT        weights of a filter   places                gradient of the output, packed image by image

The result comes out as rows x filters, so tiles are turned over when they are added to it. With a stride of 1 the gradient by
the input is itself a convolution: of the gradient with the mirrored kernel.

Source: M. Dukhan, "The indirect convolution algorithm", 2019; there the list has a pointer for each place and weight.
"""
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free, malloc

from tensorlab._core.dtypes cimport FLOAT32, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport grain_of, parallel_for, thread_count
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.im2col cimport (
    BY_INPUT, BY_WEIGHT, Geometry, Wide, column_size, copy_plane, has_padding, list_places, list_weights,
    measure, mirror, plane_size, start_sums
)
from tensorlab.ops.linalg.packed_products cimport pack
from tensorlab.ops.panel_convolution cimport is_paneled

cdef extern from "register_tile.h" nogil:
    enum:
        TL_TILE_ROWS
        TL_TILE_VECTORS
        tl_columns_32
        tl_columns_64
    bint TL_HAS_FAST_TILE
    void TL_PREFETCH(const void* address)
    void tl_multiply_scattered_32(float* out, ssize rows, ssize vectors, const float** left, const ssize* at,
                                  const float* right, ssize n, ssize step)
    void tl_multiply_scattered_64(double* out, ssize rows, ssize vectors, const double** left, const ssize* at,
                                  const double* right, ssize n, ssize step)

cdef extern from "transpose.h" nogil:
    void tl_transpose_4(int32_t* out, ssize out_stride, const int32_t* x, ssize x_stride)

cdef enum:
    STEP = 256                  # most products that are summed before the sum goes to the tile
    LEAST_INNER = 128           # with fewer products in a sum, turning tiles over takes too much of the time
    TILE = 1024                 # elements of a tile, at most
    GRAIN = 65536               # multiplications that make a thread worth starting

cdef struct Plan:               # of the products, one for each image and group
    Geometry geometry           # BY_INPUT: of the convolution that computes it
    int mode
    int dtype
    Wide wide
    ssize images                # and groups
    ssize filters               # of a group,
    ssize vectors               # of them,
    ssize panels                # and panels of these
    ssize rows                  # of the left matrix: places, or BY_WEIGHT weights of a filter,
    ssize inner                 # and its columns, of which `step` are summed at a time
    ssize step
    ssize image_parts           # of all images; BY_WEIGHT each has a sum of its own
    ssize panel_parts           # if there are fewer images than threads, each product is split into so many parts
    ssize* row_at
    ssize* inner_at
    char* source                # images,
    char* right                 # the weights, packed, or BY_WEIGHT the gradient of the output as it is,
    char* out                   # and the results
    bint failed                 # for want of memory


cdef inline ssize lanes_of(int dtype) noexcept nogil:
    """Numbers of a vector."""
    return (tl_columns_32 if dtype == FLOAT32 else tl_columns_64) // TL_TILE_VECTORS


cdef bint is_indirect(Geometry* geometry, int dtype, int mode) noexcept nogil:
    """Can a convolution be done so, and is it worth it? Filters should fill at least half of a vector."""
    cdef ssize filters = geometry.out_channels, channels = geometry.in_channels, inner
    if mode == BY_INPUT:
        filters, channels = channels, filters
    inner = plane_size(geometry.out) if mode == BY_WEIGHT else channels * plane_size(geometry.kernel)
    return (TL_HAS_FAST_TILE and is_paneled(geometry, dtype, mode) and 2 * filters >= lanes_of(dtype)
            and inner >= LEAST_INNER)


cdef bint prepare(Plan* plan, Geometry* geometry, int dtype, int mode) noexcept nogil:
    """Fill in all but tensors; False if there is no memory."""
    cdef ssize lanes = lanes_of(dtype), threads, steps, weights, places
    plan.geometry, plan.mode, plan.dtype, plan.failed = geometry[0], mode, dtype, False
    if mode == BY_INPUT:
        mirror(&plan.geometry)
    measure(&plan.wide, &plan.geometry)
    plan.images = geometry.batch * geometry.groups
    plan.filters = plan.geometry.out_channels
    plan.vectors = (plan.filters + lanes - 1) // lanes
    plan.panels = (plan.vectors + TL_TILE_VECTORS - 1) // TL_TILE_VECTORS
    weights, places = column_size(&plan.geometry), plane_size(plan.geometry.out)
    plan.rows, plan.inner = (weights, places) if mode == BY_WEIGHT else (places, weights)
    steps = (plan.inner + STEP - 1) // STEP
    plan.step = (plan.inner + steps - 1) // steps
    threads = thread_count(plan.images * plan.filters * weights * places, GRAIN)
    plan.image_parts = min(threads, plan.images) if mode == BY_WEIGHT else plan.images
    plan.panel_parts = min((threads + plan.images - 1) // plan.images, plan.panels)
    plan.row_at = <ssize*>malloc(plan.rows * sizeof(ssize))
    plan.inner_at = <ssize*>malloc(plan.inner * sizeof(ssize))
    if plan.row_at == NULL or plan.inner_at == NULL:
        return False
    list_weights(plan.row_at if mode == BY_WEIGHT else plan.inner_at, &plan.geometry, &plan.wide, False)
    list_places(plan.inner_at if mode == BY_WEIGHT else plan.row_at, &plan.geometry, &plan.wide, 1)
    return True


# ---------------------------------------------------------------- the right matrix
cdef inline ssize first_filter(Plan* plan, ssize panel) noexcept nogil:
    """Panels are as equal as possible: of eight vectors three, three and two."""
    return plan.vectors * panel // plan.panels * lanes_of(plan.dtype)


cdef inline ssize right_size(Plan* plan) noexcept nogil:
    """Elements of the panels of a group."""
    return plan.vectors * lanes_of(plan.dtype) * plan.inner


cdef void pack_gradient(real* right, const real* grad, Plan* plan, ssize begin, ssize end) noexcept nogil:
    """Of an image and group, the panels `begin` to `end`."""
    cdef ssize panel, first, width
    for panel in range(begin, end):
        first = first_filter(plan, panel)
        width = first_filter(plan, panel + 1) - first
        pack(right + first * plan.inner, width, grad + first * plan.inner, 1, plan.inner, plan.inner,
             min(width, plan.filters - first))


cdef void pack_weights(real* right, const real* weight, Plan* plan) noexcept nogil:
    """Of all groups. A mirrored filter has its weights in reverse order, and takes some of each of the filters."""
    cdef ssize taps = plane_size(plan.geometry.kernel), _group, panel, piece, pieces = 1, n = plan.inner, width, first
    cdef ssize stride = plan.inner, piece_stride = 0, step = 1, start = 0
    if plan.mode == BY_INPUT:
        pieces, n = plan.geometry.in_channels, taps
        stride, piece_stride, step, start = taps, plan.filters * taps, -1, taps - 1
    for _group in range(plan.geometry.groups):
        for panel in range(plan.panels):
            first = first_filter(plan, panel)
            width = first_filter(plan, panel + 1) - first
            for piece in range(pieces):
                pack(right, width, weight + first * stride + piece * piece_stride + start, step, stride, n,
                     min(width, plan.filters - first))
                right += width * n
        weight += plan.filters * plan.inner


# ---------------------------------------------------------------- one image and group
cdef void add_turned(real* out, ssize out_stride, const real* tile, ssize rows, ssize filters) noexcept nogil:
    """out[filter, row] += tile[row, filter]."""
    cdef ssize width = tl_columns_32 if real is float else tl_columns_64, filter = 0, i, r
    cdef real[64] block
    if real is float:
        while rows == 8 and filter + 8 <= filters:
            tl_transpose_4(<int32_t*>block, 8, <const int32_t*>tile + filter, width)
            for i in range(8):
                for r in range(8):
                    out[(filter + i) * out_stride + r] += block[i * 8 + r]
            filter += 8
    for i in range(filter, filters):
        for r in range(rows):
            out[i * out_stride + r] += tile[r * width + i]


cdef void multiply_image(real* out, const real* source, const real* right, Plan* plan, ssize begin,
                         ssize end) noexcept nogil:
    """out' += left @ right for the panels `begin` to `end`."""
    cdef real[TILE] tile
    cdef const real* rows_at[TL_TILE_ROWS]
    cdef ssize panel, first, width, filters, row, rows, r, lanes = lanes_of(plan.dtype)
    for panel in range(begin, end):
        first = first_filter(plan, panel)
        width = first_filter(plan, panel + 1) - first
        filters = min(width, plan.filters - first)
        row = 0
        while row < plan.rows:
            rows = min(<ssize>TL_TILE_ROWS, plan.rows - row)
            for r in range(TL_TILE_ROWS):
                rows_at[r] = source + plan.row_at[min(row + r, plan.rows - 1)]
            for r in range(filters):
                TL_PREFETCH(out + (first + r) * plan.rows + row)
            if real is float:
                tl_multiply_scattered_32(tile, rows, width // lanes, rows_at, plan.inner_at, right + first * plan.inner,
                                         plan.inner, plan.step)
            else:
                tl_multiply_scattered_64(tile, rows, width // lanes, rows_at, plan.inner_at, right + first * plan.inner,
                                         plan.inner, plan.step)
            add_turned(out + first * plan.rows + row, plan.rows, tile, rows, filters)
            row += TL_TILE_ROWS


# ---------------------------------------------------------------- all images
cdef void run_parts(real* source, real* right, real* out, Plan* plan, ssize begin, ssize end) noexcept nogil:
    """Parts `begin` to `end`, each some images and some panels."""
    cdef Geometry* geometry = &plan.geometry
    cdef ssize channels = geometry.in_channels, size = plane_size(geometry.sizes), out_size = plan.filters * plan.rows
    cdef ssize part, images, image, channel, i, group, first, last, begin_filter
    cdef bint is_copied = has_padding(geometry, &plan.wide), by_weight = plan.mode == BY_WEIGHT
    cdef real* planes
    cdef real* copy = <real*>calloc(channels * plan.wide.plane if is_copied else 1, sizeof(real))
    cdef real* packed = <real*>malloc((right_size(plan) if by_weight else 1) * sizeof(real))
    if copy == NULL or packed == NULL:
        plan.failed, end = True, begin
    for part in range(begin, end):
        i, images = part % plan.panel_parts, part // plan.panel_parts
        first, last = plan.panels * i // plan.panel_parts, plan.panels * (i + 1) // plan.panel_parts
        for image in range(plan.images * images // plan.image_parts, plan.images * (images + 1) // plan.image_parts):
            group = image % geometry.groups
            planes = source + image * channels * size
            if is_copied:
                for channel in range(channels):
                    copy_plane(copy + channel * plan.wide.plane, planes + channel * size, geometry.sizes, geometry.stride,
                               geometry.padding, &plan.wide, False)
                planes = copy
            if by_weight:
                pack_gradient(packed, right + image * plan.filters * plan.inner, plan, first, last)
                multiply_image(out + (images * geometry.groups + group) * out_size, planes, packed, plan, first, last)
            else:
                begin_filter = first_filter(plan, first)
                start_sums(out + image * out_size + begin_filter * plan.rows, geometry, group * plan.filters + begin_filter,
                           group * plan.filters + min(first_filter(plan, last), plan.filters), plan.rows)
                multiply_image(out + image * out_size, planes, right + group * right_size(plan), plan, first, last)
    free(copy)
    free(packed)


cdef void run_range(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    if plan.dtype == FLOAT32:
        run_parts(<float*>plan.source, <float*>plan.right, <float*>plan.out, plan, begin, end)
    else:
        run_parts(<double*>plan.source, <double*>plan.right, <double*>plan.out, plan, begin, end)


cdef bint run_plan(real* x, real* weight, real* out, Plan* plan) noexcept nogil:
    """False if there was no memory."""
    cdef ssize parts = plan.image_parts * plan.panel_parts, size = plan.geometry.groups * plan.filters * plan.rows, i, part
    cdef bint by_weight = plan.mode == BY_WEIGHT
    cdef real* made = <real*>calloc(plan.image_parts * size if by_weight else plan.geometry.groups * right_size(plan),
                                    sizeof(real))
    if made == NULL:
        return False
    plan.source, plan.right, plan.out = <char*>x, <char*>made, <char*>out
    if plan.mode == BY_INPUT:
        plan.source, plan.out = <char*>out, <char*>x
    if by_weight:
        plan.right, plan.out = <char*>out, <char*>made
    else:
        pack_weights(made, weight, plan)
    parallel_for(run_range, plan, parts, grain_of(GRAIN, plan.images * plan.filters * plan.rows * plan.inner // parts))
    if by_weight:
        for part in range(plan.image_parts):
            for i in range(size):
                weight[i] += made[part * size + i]
    free(made)
    return not plan.failed


cdef int run_indirect(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry, int mode) except -1:
    """All three tensors contiguous, of floats, and none empty; BY_WEIGHT the result is added to."""
    cdef Plan plan
    cdef bint good
    with nogil:
        good = prepare(&plan, geometry, x.dtype_, mode)
        if good and plan.dtype == FLOAT32:
            good = run_plan(<float*>x.data_, <float*>weight.data_, <float*>out.data_, &plan)
        elif good:
            good = run_plan(<double*>x.data_, <double*>weight.data_, <double*>out.data_, &plan)
        free(plan.row_at)
        free(plan.inner_at)
    if not good:
        raise MemoryError("conv: no memory for the panels")
    return 0
