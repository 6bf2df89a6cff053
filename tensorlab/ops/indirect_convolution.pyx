"""Convolution straight from the image: the same product as with panels, turned over, so that nothing is packed but weights.

panel_convolution.pyx copies each pixel once for each weight that sees it. Here nothing is copied so: the tile of
register_tile.h takes one number at a time from the left matrix, so it can take it from anywhere. An element of that matrix is

    left[row][k] = source[row_at[row] + inner_at[k]]

where the source is a copy of some images with their padding, or the images themselves if they have none. Two lists of
numbers describe any kernel, stride and dilation; a tile gets the first as pointers. The right matrix is packed, in panels
whose columns are filters:

                     rows                  inner (k)             right
    FORWARD          places                weights of a filter   weight, packed once
    BY_INPUT         pixels of a phase     weights that see it   weight, packed once
    BY_WEIGHT        weights of a filter   places                gradient of the output, packed

The result comes out as rows x filters, so tiles are turned over when they are added to it, each row where a third list says.

With a stride of s in each dimension, the pixels of an image part into phases: of those in one row, each s-th is seen by the
same weights, at places next to each other. So the gradient by the input is one product for each phase, whose k are the
filters and the weights that see it; with a stride of 1 there is one phase, and it is a convolution with the mirrored kernel.

    kernel of 3, stride 2:    pixels . 1 2 3 4 .      tap 0 and 2 see . 2 4, of them tap 2 a place before tap 0
                                                      tap 1 sees 1 3 .

A thread takes as many images at a time as fill tiles and let the weights, once they are in its cache, be used often.

Source: M. Dukhan, "The indirect convolution algorithm", 2019; there the list has a pointer for each place and weight.
"""
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free, malloc

from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, item_size, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport grain_of, parallel_for, thread_count
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.im2col cimport (
    BY_INPUT, BY_WEIGHT, FORWARD, Geometry, Wide, column_size, copy_extent, copy_planes, is_copy_small, is_small,
    list_rows, list_taps, multiplications, out_sizes, plane_size, start_sums
)
from tensorlab.ops.linalg.packed_products cimport pack

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
    MANY = 256                  # places that are worth the way of the weights into the cache,
    SOURCE_BYTES = 1 << 18      # and bytes of images that leave room for them there
    TILE = 1024                 # elements of a tile, at most
    GRAIN = 65536               # multiplications that make a thread worth starting

cdef struct Phase:              # the rows of the left matrix that have one list `inner_at`
    ssize rows                  # of an image,
    ssize inner
    ssize first_row             # and where they begin in the lists of rows, which go on with other images,
    ssize first_inner           # and in those of k

cdef struct Plan:               # of the products, one for each image and group
    Geometry geometry
    int mode
    int dtype
    ssize[3] sizes              # of a plane of the source,
    ssize channels              # and how many a group has
    ssize[3] lead               # padding before a plane,
    Wide wide                   # and the copy with it
    bint is_copied
    ssize images                # at most, that are done at a time
    ssize chunks                # of images: the batch, cut as evenly as can be
    ssize filters               # of a group,
    ssize vectors               # of them,
    ssize panels                # and panels of these
    ssize out_plane             # elements of the result for each of them
    ssize parts                 # of all chunks and groups; BY_WEIGHT each but the first has a sum of its own
    ssize panel_parts           # with fewer of them than threads, each product is split into so many parts
    ssize phases
    Phase* phase
    ssize rows                  # of all phases and images
    ssize inner
    ssize* row_at               # where rows begin in the source,
    ssize* out_at               # and where they go in the result
    ssize* inner_at
    ssize* weight_at            # where weights begin that are packed for each k
    char* source                # images,
    char* right                 # the weights, packed, or BY_WEIGHT the gradient of the output as it is,
    char* out                   # and the results
    char* partial               # BY_WEIGHT: those of all parts but the first
    bint failed                 # for want of memory


cdef inline ssize lanes_of(int dtype) noexcept nogil:
    """Numbers of a vector."""
    return (tl_columns_32 if dtype == FLOAT32 else tl_columns_64) // TL_TILE_VECTORS


cdef bint is_indirect(Geometry* geometry, int dtype, int mode) noexcept nogil:
    """Can a convolution be done so, and is it worth it? Filters should fill at least half of a vector."""
    cdef ssize filters = geometry.out_channels, channels = geometry.in_channels, inner, lead
    cdef double elements = 1
    cdef int d
    if mode == BY_INPUT:
        filters, channels = channels, filters
    for d in range(3):
        elements *= copy_extent(geometry, mode, d, &lead)
    inner = channels * plane_size(geometry.kernel)
    if mode == BY_WEIGHT:
        inner = plane_size(geometry.out) * geometry.batch
    return (TL_HAS_FAST_TILE and (dtype == FLOAT32 or dtype == FLOAT64) and 2 * filters >= lanes_of(dtype)
            and inner >= LEAST_INNER and is_copy_small(geometry) and is_small(elements, geometry))


# ---------------------------------------------------------------- planning
cdef void measure_source(Plan* plan) noexcept nogil:
    """Which planes are read, and the copy of them if there is padding."""
    cdef int d
    plan.is_copied = False
    for d in range(3):
        plan.sizes[d] = plan.geometry.out[d] if plan.mode == BY_INPUT else plan.geometry.sizes[d]
        plan.wide.size[d] = copy_extent(&plan.geometry, plan.mode, d, &plan.lead[d])
        plan.wide.phases[d] = 1
        plan.is_copied = plan.is_copied or plan.lead[d] > 0 or plan.wide.size[d] > plan.sizes[d]
    if not plan.is_copied:
        for d in range(3):
            plan.wide.size[d] = plan.sizes[d]
    plan.wide.phase = plan.wide.plane = plane_size(plan.wide.size)


cdef void share_out(Plan* plan) noexcept nogil:
    """How many images are done at a time, and in how many parts."""
    cdef Geometry* geometry = &plan.geometry
    cdef ssize places = plane_size(geometry.out), bytes = plan.channels * plan.wide.plane * item_size[plan.dtype]
    cdef ssize threads = thread_count(multiplications(geometry), GRAIN)
    cdef ssize most = max(min((MANY + places - 1) // places, SOURCE_BYTES // bytes), 1)
    plan.chunks = (geometry.batch + most - 1) // most
    plan.chunks = min((plan.chunks + threads - 1) // threads * threads, geometry.batch)
    plan.images = (geometry.batch + plan.chunks - 1) // plan.chunks
    plan.parts = plan.chunks * geometry.groups
    plan.panel_parts = min((threads + plan.parts - 1) // plan.parts, plan.panels)
    if plan.mode == BY_WEIGHT:
        plan.parts = min(threads, plan.parts)


# ---------------------------------------------------------------- lists
cdef void repeat(ssize* list, ssize n, ssize count, ssize step) noexcept nogil:
    """The n elements `count` times, each time by `step` larger."""
    cdef ssize i
    for i in range(n, n * count):
        list[i] = list[i - n] + step


cdef void add_phase(Plan* plan, const ssize* at) noexcept nogil:
    """Add a phase to the lists, unless no tap sees it. BY_WEIGHT the two lists change places."""
    cdef Geometry* geometry = &plan.geometry
    cdef Phase* phase = plan.phase + plan.phases
    cdef ssize taps, places, area = plane_size(geometry.kernel)
    cdef ssize out_image = geometry.groups * plan.filters * plan.out_plane
    cdef ssize image = plan.channels * plan.wide.plane * (1 if plan.is_copied else geometry.groups)
    phase.first_row, phase.first_inner = plan.rows, plan.inner
    cdef ssize* row_at = plan.row_at + plan.rows
    cdef ssize* out_at = plan.out_at + plan.rows
    cdef ssize* inner_at = plan.inner_at + plan.inner
    cdef ssize* weight_at = plan.weight_at + plan.inner
    if plan.mode == BY_WEIGHT:
        row_at, out_at, inner_at, weight_at = inner_at, weight_at, row_at, out_at
        out_image = geometry.groups * plan.filters * plane_size(geometry.out)
    places = list_rows(row_at, out_at, geometry, plan.mode, plan.wide.size, plan.lead, at)
    taps = list_taps(inner_at, weight_at, geometry, plan.mode, plan.wide.size, at)
    repeat(row_at, places, plan.images, image)
    repeat(out_at, places, plan.images, out_image)
    repeat(inner_at, taps, plan.channels, plan.wide.plane)
    repeat(weight_at, taps, plan.channels, area * (plan.filters if plan.mode == BY_INPUT else 1))
    phase.rows, phase.inner = places, taps * plan.channels
    if plan.mode == BY_WEIGHT:
        phase.rows, phase.inner = phase.inner, phase.rows
    if places > 0 and taps > 0:
        plan.phases += 1
        plan.rows += phase.rows * (1 if plan.mode == BY_WEIGHT else plan.images)
        plan.inner += phase.inner * (plan.images if plan.mode == BY_WEIGHT else 1)


cdef bint prepare(Plan* plan, Geometry* geometry, int dtype, int mode) noexcept nogil:
    """Fill in all but tensors; False if there is no memory."""
    cdef ssize lanes = lanes_of(dtype), rows, inner, phases = 1, i, rest
    cdef ssize[3] count, at
    cdef int d
    plan.geometry, plan.mode, plan.dtype, plan.failed = geometry[0], mode, dtype, False
    plan.phases = plan.rows = plan.inner = 0
    plan.filters, plan.channels = geometry.out_channels, geometry.in_channels
    if mode == BY_INPUT:
        plan.filters, plan.channels = plan.channels, plan.filters
    plan.vectors = (plan.filters + lanes - 1) // lanes
    plan.panels = (plan.vectors + TL_TILE_VECTORS - 1) // TL_TILE_VECTORS
    measure_source(plan)
    share_out(plan)
    plan.out_plane = plane_size(out_sizes(geometry, mode))
    rows, inner = plan.images * plan.out_plane, plan.channels * plane_size(geometry.kernel)
    if mode == BY_WEIGHT:
        rows, inner, plan.out_plane = inner, rows, inner
    for d in range(3):
        count[d] = 1
        if mode == BY_INPUT:
            count[d] = min(geometry.stride[d], (geometry.kernel[d] - 1) * geometry.dilation[d] + 1)
        phases *= count[d]
    plan.phase = <Phase*>malloc(phases * sizeof(Phase))
    plan.row_at = <ssize*>malloc(2 * rows * sizeof(ssize))
    plan.inner_at = <ssize*>malloc(2 * inner * sizeof(ssize))
    if plan.phase == NULL or plan.row_at == NULL or plan.inner_at == NULL:
        return False
    plan.out_at, plan.weight_at = plan.row_at + rows, plan.inner_at + inner
    for i in range(phases):
        rest = i
        for d in range(2, -1, -1):
            at[d] = rest % count[d]
            rest = rest // count[d]
        add_phase(plan, at)
    return True


# ---------------------------------------------------------------- the right matrix
cdef inline ssize first_filter(Plan* plan, ssize panel) noexcept nogil:
    """Panels are as equal as possible: of eight vectors three, three and two."""
    return plan.vectors * panel // plan.panels * lanes_of(plan.dtype)


cdef inline ssize right_size(Plan* plan, ssize inner) noexcept nogil:
    """Elements of all panels of a group."""
    return plan.vectors * lanes_of(plan.dtype) * inner


cdef void pack_panels(real* right, const real* given, const ssize* at, ssize inner, Plan* plan, ssize begin,
                      ssize end) noexcept nogil:
    """The panels `begin` to `end` of a group: line k begins at given[at[k]]. Those of a run are next to each other."""
    cdef ssize panel, first, width, k, run = plane_size(plan.geometry.out), stride = run, step = 1
    if plan.mode == FORWARD:
        run = stride = inner
    elif plan.mode == BY_INPUT:
        stride, step = plane_size(plan.geometry.kernel), -1
        run = stride if inner == stride * plan.channels else 1
    for panel in range(begin, end):
        first = first_filter(plan, panel)
        width = first_filter(plan, panel + 1) - first
        k = 0
        while k < inner:
            pack(right + first * inner + k * width, width, given + at[k] + first * stride, step, stride, run,
                 min(width, plan.filters - first))
            k += run


cdef void pack_weights(real* right, const real* weight, Plan* plan) noexcept nogil:
    """Of all groups and phases."""
    cdef ssize group, i, group_size = plan.geometry.out_channels * column_size(&plan.geometry)
    for group in range(plan.geometry.groups):
        for i in range(plan.phases):
            pack_panels(right + right_size(plan, plan.phase[i].first_inner), weight + group * group_size,
                        plan.weight_at + plan.phase[i].first_inner, plan.phase[i].inner, plan, 0, plan.panels)
        right += right_size(plan, plan.inner)


# ---------------------------------------------------------------- some images of a group
cdef void add_turned(real* out, ssize out_stride, const ssize* at, const real* tile, ssize rows,
                     ssize filters) noexcept nogil:
    """out[filter, at[row]] += tile[row, filter]."""
    cdef ssize width = tl_columns_32 if real is float else tl_columns_64, filter = 0, i, r
    cdef real[64] block
    cdef real* line
    if real is float:
        while rows == 8 and filter + 8 <= filters:
            tl_transpose_4(<int32_t*>block, 8, <const int32_t*>tile + filter, width)
            for i in range(8):
                line = out + (filter + i) * out_stride + at[0]
                if at[7] == at[0] + 7:
                    for r in range(8):
                        line[r] += block[i * 8 + r]
                else:
                    for r in range(8):
                        line[at[r] - at[0]] += block[i * 8 + r]
            filter += 8
    for i in range(filter, filters):
        for r in range(rows):
            out[i * out_stride + at[r]] += tile[r * width + i]


cdef void multiply(real* out, const real* source, const real* right, Plan* plan, Phase* phase, ssize rows, ssize inner,
                   ssize begin, ssize end) noexcept nogil:
    """out' += left @ right for the panels `begin` to `end`."""
    cdef real[TILE] tile
    cdef const real* rows_at[TL_TILE_ROWS]
    cdef const ssize* row_at = plan.row_at + phase.first_row
    cdef const ssize* out_at = plan.out_at + phase.first_row
    cdef const ssize* inner_at = plan.inner_at + phase.first_inner
    cdef ssize panel, first, width, filters, row, count, r, steps = (inner + STEP - 1) // STEP
    cdef ssize step = (inner + steps - 1) // steps, lanes = lanes_of(plan.dtype)
    for panel in range(begin, end):
        first = first_filter(plan, panel)
        width = first_filter(plan, panel + 1) - first
        filters = min(width, plan.filters - first)
        row = 0
        while row < rows:
            count = min(<ssize>TL_TILE_ROWS, rows - row)
            for r in range(TL_TILE_ROWS):
                rows_at[r] = source + row_at[min(row + r, rows - 1)]
            for r in range(filters):
                TL_PREFETCH(out + (first + r) * plan.out_plane + out_at[row])
            if real is float:
                tl_multiply_scattered_32(tile, count, width // lanes, rows_at, inner_at, right + first * inner,
                                         inner, step)
            else:
                tl_multiply_scattered_64(tile, count, width // lanes, rows_at, inner_at, right + first * inner,
                                         inner, step)
            add_turned(out + first * plan.out_plane, plan.out_plane, out_at + row, tile, count, filters)
            row += TL_TILE_ROWS


cdef void run_phases(real* out, const real* source, const real* right, Plan* plan, ssize image, ssize count,
                     ssize group, ssize begin, ssize end) noexcept nogil:
    """The panels `begin` to `end` for images `image` and on, and what their sums begin with."""
    cdef ssize filters = plan.filters, first = first_filter(plan, begin), i
    cdef ssize last = min(first_filter(plan, end), filters)
    cdef Phase* phase
    for i in range(image, image + count):
        start_sums(out + ((i * plan.geometry.groups + group) * filters + first) * plan.out_plane, &plan.geometry,
                   group * filters + first, group * filters + last, plan.out_plane)
    for i in range(plan.phases):
        phase = plan.phase + i
        multiply(out + (image * plan.geometry.groups + group) * filters * plan.out_plane, source,
                 right + group * right_size(plan, plan.inner) + right_size(plan, phase.first_inner), plan, phase,
                 count * phase.rows, phase.inner, begin, end)


# ---------------------------------------------------------------- all images
cdef void copy_images(real* copy, real* source, Plan* plan, ssize count) noexcept nogil:
    """A group's planes of some images, with their padding."""
    cdef ssize[3] stride
    cdef ssize image
    stride[0] = stride[1] = stride[2] = 1
    for image in range(count):
        copy_planes(copy + image * plan.channels * plan.wide.plane, source, plan.channels, plan.sizes, stride,
                    plan.lead, &plan.wide)
        source += plan.geometry.groups * plan.channels * plane_size(plan.sizes)


cdef void run_parts(real* source, real* right, real* out, Plan* plan, ssize begin, ssize end) noexcept nogil:
    """Parts `begin` to `end`, each some chunks of images and some panels."""
    cdef Geometry* geometry = &plan.geometry
    cdef ssize part, share, chunk, image, count, group, first, last, chunks = plan.chunks * geometry.groups, inner
    cdef ssize size = plan.filters * plan.out_plane
    cdef bint by_weight = plan.mode == BY_WEIGHT
    cdef real* planes
    cdef real* sums
    cdef ssize copied = plan.images * plan.channels * plan.wide.plane if plan.is_copied else 1
    cdef real* copy = <real*>calloc(copied, sizeof(real))
    cdef real* packed = <real*>malloc((right_size(plan, plan.inner) if by_weight else 1) * sizeof(real))
    if copy == NULL or packed == NULL:
        plan.failed, end = True, begin
    for part in range(begin, end):
        share, first = part // plan.panel_parts, part % plan.panel_parts
        first, last = plan.panels * first // plan.panel_parts, plan.panels * (first + 1) // plan.panel_parts
        for chunk in range(chunks * share // plan.parts, chunks * (share + 1) // plan.parts):
            group, image = chunk // plan.chunks, geometry.batch * (chunk % plan.chunks) // plan.chunks
            count = geometry.batch * (chunk % plan.chunks + 1) // plan.chunks - image
            planes = source + (image * geometry.groups + group) * plan.channels * plane_size(plan.sizes)
            if plan.is_copied:
                copy_images(copy, planes, plan, count)
                planes = copy
            if by_weight:
                inner = count * plane_size(geometry.out)
                pack_panels(packed, right + (image * geometry.groups + group) * plan.filters * plane_size(geometry.out),
                            plan.weight_at, inner, plan, first, last)
                sums = out if share == 0 else <real*>plan.partial + (share - 1) * geometry.groups * size
                multiply(sums + group * size, planes, packed, plan, plan.phase, plan.phase.rows, inner, first, last)
            else:
                run_phases(out, planes, right, plan, image, count, group, first, last)
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
    cdef ssize parts = plan.parts * plan.panel_parts, groups = plan.geometry.groups, i, part
    cdef ssize size = groups * plan.filters * plan.out_plane
    cdef bint by_weight = plan.mode == BY_WEIGHT
    cdef real* made
    if by_weight:
        made = <real*>calloc(max((plan.parts - 1) * size, 1), sizeof(real))
    else:
        made = <real*>malloc(max(groups * right_size(plan, plan.inner), 1) * sizeof(real))
    if made == NULL:
        return False
    plan.source, plan.right, plan.out = <char*>x, <char*>made, <char*>out
    if plan.mode == BY_INPUT:
        plan.source, plan.out = <char*>out, <char*>x
    if by_weight:
        plan.right, plan.out, plan.partial = <char*>out, <char*>weight, <char*>made
    else:
        pack_weights(made, weight, plan)
    parallel_for(run_range, plan, parts, grain_of(GRAIN, multiplications(&plan.geometry) // parts))
    if by_weight:
        for part in range(plan.parts - 1):
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
        free(plan.phase)
        free(plan.row_at)
        free(plan.inner_at)
    if not good:
        raise MemoryError("conv: no memory for the panels")
    return 0
