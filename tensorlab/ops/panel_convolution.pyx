"""Convolution as a product of matrices whose right one is never stored: panels of it are packed straight from the image.

im2col.pyx writes a matrix of patches, and BLAS then copies it once more, into panels, the strips in which its loops read. Here
the panels are packed at once, and register_tile.h multiplies them. An element of the right matrix is

    right[k][j] = source[inner_at[k] + column_at[j]]

where the source is a padded copy of the image, as im2col.pyx makes it. Two lists of numbers describe any kernel, stride
and dilation. Columns that are next to each other in the source, a run, are copied as vectors:

    places of a panel     0 1 2 3 4 5 6 7         two rows of a small image: the first run has three elements,
    of columns            a b c|d e f g h                                    the second one five

                     left                       inner (k)             columns (j)
    FORWARD          weight                     weights of a filter   places
    BY_INPUT         weight, mirrored           weights of a filter   places
    BY_WEIGHT        gradient of the output     places                weights of a filter

With a stride of 1 the gradient by the input is itself a convolution: of the gradient with the mirrored kernel. For the gradient
by the weight the copy is turned over, channels last, so that weights are next to each other, not places. The order of weights is
(channel, tap) in the first two rows, and (tap, channel) in the third.

The idea of panels is that of Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication".
"""
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, item_size, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport transpose_tile
from tensorlab._core.loops.parallel cimport grain_of, parallel_for, thread_count
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.im2col cimport (
    BY_INPUT, BY_WEIGHT, Geometry, Wide, column_size, copy_planes, is_copy_small, list_places,
    list_weights, measure, mirror, plane_size
)

cdef extern from "register_tile.h" nogil:
    enum:
        TL_TILE_ROWS
        TL_VECTOR_BYTES
        tl_columns_32
        tl_columns_64
    void tl_multiply_tile_32(float* out, ssize out_stride, ssize rows, ssize columns, const float* left,
                             ssize left_row, ssize left_step, const float* right, ssize right_stride, ssize n,
                             float alpha, float keep, const float* start)
    void tl_multiply_tile_64(double* out, ssize out_stride, ssize rows, ssize columns, const double* left,
                             ssize left_row, ssize left_step, const double* right, ssize right_stride, ssize n,
                             double alpha, double keep, const double* start)

cdef enum:
    STEP = 256                  # most lines of a panel that are packed at a time,
    CHUNK_BYTES = 1 << 18       # and bytes of panels: they stay in the L2 cache until all rows have met them
    LEAST_ROWS = 4              # of the left matrix: with fewer too much of a tile would be wasted
    GRAIN = 65536               # multiplications that make a thread worth starting

cdef struct Run:                # columns that are next to each other in the source
    ssize start
    ssize length

cdef struct Plan:               # of the products, one for each image and group
    Geometry geometry           # BY_INPUT: of the convolution that computes it
    int mode
    int dtype
    Wide wide
    ssize images                # and groups
    ssize rows                  # of the left matrix,
    ssize blocks                # and of tiles of them
    ssize inner
    ssize columns
    ssize panels                # of columns
    ssize step                  # lines that are packed at a time,
    ssize chunk                 # and panels
    ssize block_parts           # if there are fewer images than threads, each product is split into so many blocks of rows
    ssize image_parts           # BY_WEIGHT: of all images, each part with a sum of its own
    ssize* inner_at
    ssize* first_run            # of each panel, and the end of the last one
    Run* runs
    char* source                # images,
    char* left                  # the left matrix, packed; BY_WEIGHT: the gradient of the output as it is,
    char* start                 # what the sums of each row begin with, in the order of its panels,
    char* out                   # and the results
    bint failed                 # for want of memory


cdef bint is_paneled(Geometry* geometry, int dtype, int mode) noexcept nogil:
    """Can a convolution be done so, and is it worth it?"""
    cdef ssize rows = geometry.in_channels if mode == BY_INPUT else geometry.out_channels
    cdef int d
    if mode == BY_INPUT:
        for d in range(3):
            if geometry.stride[d] != 1 or geometry.padding[d] > geometry.dilation[d] * (geometry.kernel[d] - 1):
                return False
    return (dtype == FLOAT32 or dtype == FLOAT64) and rows >= LEAST_ROWS and (
        is_copy_small(geometry))


# ---------------------------------------------------------------- planning
cdef inline ssize panel_columns(int dtype) noexcept nogil:
    return tl_columns_32 if dtype == FLOAT32 else tl_columns_64


cdef void find_runs(Plan* plan, const ssize* column_at, ssize width) noexcept nogil:
    cdef ssize j, count = 0
    for j in range(plan.columns):
        if j % width == 0:
            plan.first_run[j // width] = count
        if j % width == 0 or column_at[j] != column_at[j - 1] + 1:
            plan.runs[count].start = column_at[j]
            plan.runs[count].length = 0
            count += 1
        plan.runs[count - 1].length += 1
    plan.first_run[plan.panels] = count


cdef bint prepare(Plan* plan, Geometry* geometry, int dtype, int mode) noexcept nogil:
    """Fill in all but tensors; False if there is no memory."""
    cdef ssize width = panel_columns(dtype), weights, places, steps
    cdef ssize* column_at
    plan.geometry, plan.mode, plan.dtype, plan.failed, plan.start = geometry[0], mode, dtype, False, NULL
    if mode == BY_INPUT:
        mirror(&plan.geometry)
    measure(&plan.wide, &plan.geometry)
    weights, places = column_size(&plan.geometry), plane_size(plan.geometry.out)
    plan.images = geometry.batch * geometry.groups
    plan.rows = plan.geometry.out_channels
    plan.blocks = (plan.rows + TL_TILE_ROWS - 1) // TL_TILE_ROWS
    plan.inner, plan.columns = (places, weights) if mode == BY_WEIGHT else (weights, places)
    plan.panels = (plan.columns + width - 1) // width
    steps = (plan.inner + STEP - 1) // STEP
    plan.step = (plan.inner + steps - 1) // steps
    plan.chunk = min(max(CHUNK_BYTES // (plan.step * width * item_size[dtype]), 1), plan.panels)
    plan.inner_at = <ssize*>malloc(plan.inner * sizeof(ssize))
    plan.first_run = <ssize*>malloc((plan.panels + 1) * sizeof(ssize))
    plan.runs = <Run*>malloc(plan.columns * sizeof(Run))
    column_at = <ssize*>malloc(plan.columns * sizeof(ssize))
    if plan.inner_at == NULL or plan.first_run == NULL or plan.runs == NULL or column_at == NULL:
        free(column_at)
        return False
    if mode == BY_WEIGHT:
        list_places(plan.inner_at, &plan.geometry, &plan.wide, plan.geometry.in_channels)
        list_weights(column_at, &plan.geometry, &plan.wide, True)
    else:
        list_weights(plan.inner_at, &plan.geometry, &plan.wide, False)
        list_places(column_at, &plan.geometry, &plan.wide, 1)
    find_runs(plan, column_at, width)
    free(column_at)
    return True


# ---------------------------------------------------------------- packing
cdef void pack_left(real* left, const real* matrix, ssize row_stride, ssize step, ssize rows, ssize n) noexcept nogil:
    """A panel of rows, from wherever they lie; what a last panel lacks of rows is left as it is."""
    cdef ssize r, k
    if rows == TL_TILE_ROWS and step == 1:
        if real is float:
            transpose_tile(<int32_t*>left, <const int32_t*>matrix, row_stride, n, TL_TILE_ROWS)
        else:
            transpose_tile(<int64_t*>left, <const int64_t*>matrix, row_stride, n, TL_TILE_ROWS)
        return
    for k in range(n):
        for r in range(rows):
            left[k * TL_TILE_ROWS + r] = matrix[r * row_stride + k * step]


cdef void pack_weights(real* left, const real* weight, Plan* plan) noexcept nogil:
    """The weights of all groups. A mirrored filter has its weights in reverse order, and takes some of each of the filters."""
    cdef ssize taps = plane_size(plan.geometry.kernel), group, block, row, piece, pieces = 1, n = plan.inner
    cdef ssize row_stride = plan.inner, piece_stride = 0, step = 1, start = 0
    if plan.mode == BY_INPUT:
        pieces, n = plan.geometry.in_channels, taps
        row_stride, piece_stride, step, start = taps, plan.rows * taps, -1, taps - 1
    for group in range(plan.geometry.groups):
        for block in range(plan.blocks):
            row = block * TL_TILE_ROWS
            for piece in range(pieces):
                pack_left(left, weight + group * plan.rows * plan.inner + row * row_stride + piece * piece_stride + start,
                          row_stride, step, min(<ssize>TL_TILE_ROWS, plan.rows - row), n)
                left += n * TL_TILE_ROWS


cdef void pack_right(real* panel, const real* source, Plan* plan, ssize at, ssize first, ssize n) noexcept nogil:
    """Lines `first` and on of a panel. Runs are copied as whole vectors: what is too much is overwritten by the next one."""
    cdef ssize k, i, j, count = plan.first_run[at + 1] - plan.first_run[at]
    cdef ssize width = tl_columns_32 if real is float else tl_columns_64
    cdef const ssize* inner_at = plan.inner_at + first          # not read anew after each vector that is written
    cdef const Run* runs = plan.runs + plan.first_run[at]
    cdef const real* line
    cdef real* to
    for k in range(n):
        to = panel + k * width
        for i in range(count):
            line = source + inner_at[k] + runs[i].start
            j = 0
            while j < runs[i].length:
                memcpy(to + j, line + j, TL_VECTOR_BYTES)
                j += TL_VECTOR_BYTES // <ssize>sizeof(real)
            to += runs[i].length


# ---------------------------------------------------------------- one image and group
cdef struct Scratch:            # of a thread
    void* planes                # the padded copy,
    void* turned                # BY_WEIGHT: the same with the channels last,
    void* left                  # and the gradient of the output, packed
    void* right                 # panels


cdef bint take_scratch(Scratch* scratch, Plan* plan) noexcept nogil:
    """Zeros; room for a vector more where whole vectors are read or written."""
    cdef ssize size = item_size[plan.dtype], elements = plan.geometry.in_channels * plan.wide.plane + TL_VECTOR_BYTES
    cdef bint by_weight = plan.mode == BY_WEIGHT
    scratch.planes = calloc(elements, size)
    scratch.turned = calloc(elements if by_weight else 1, size)
    scratch.left = calloc(plan.blocks * TL_TILE_ROWS * plan.inner if by_weight else 1, size)
    scratch.right = calloc(plan.chunk * plan.step * panel_columns(plan.dtype) + TL_VECTOR_BYTES, size)
    return scratch.planes != NULL and scratch.turned != NULL and scratch.left != NULL and scratch.right != NULL


cdef void free_scratch(Scratch* scratch) noexcept nogil:
    free(scratch.planes)
    free(scratch.turned)
    free(scratch.left)
    free(scratch.right)


cdef void copy_source(Scratch* scratch, real* source, Plan* plan) noexcept nogil:
    cdef Geometry* geometry = &plan.geometry
    cdef ssize channels = geometry.in_channels
    copy_planes(<real*>scratch.planes, source, channels, geometry.sizes, geometry.stride, geometry.padding, &plan.wide)
    if plan.mode == BY_WEIGHT:
        if real is float:
            transpose_tile(<int32_t*>scratch.turned, <const int32_t*>scratch.planes, plan.wide.plane, plan.wide.plane, channels)
        else:
            transpose_tile(<int64_t*>scratch.turned, <const int64_t*>scratch.planes, plan.wide.plane, plan.wide.plane, channels)


cdef void pack_gradient(Scratch* scratch, const real* grad, Plan* plan, ssize first, ssize last) noexcept nogil:
    cdef ssize block, row
    for block in range(first, last):
        row = block * TL_TILE_ROWS
        pack_left(<real*>scratch.left + row * plan.inner, grad + row * plan.inner, plan.inner, 1,
                  min(<ssize>TL_TILE_ROWS, plan.rows - row), plan.inner)


cdef void multiply(real* out, const real* left, const real* source, real* right, Plan* plan, ssize first, ssize last,
                   const real* start) noexcept nogil:
    """out = left @ right + start, for blocks of rows from `first` to `last`; without `start`, added to what is there."""
    cdef ssize width = tl_columns_32 if real is float else tl_columns_64
    cdef ssize panel = 0, last_panel, k, n, block, at, rows, columns
    cdef real keep
    cdef real* to
    cdef const real* rows_panel
    cdef const real* rows_start = NULL
    cdef const real* columns_panel
    while panel < plan.panels:
        last_panel = min(panel + plan.chunk, plan.panels)
        k = 0
        while k < plan.inner:
            n, keep = min(plan.step, plan.inner - k), start == NULL or k > 0
            for at in range(panel, last_panel):
                pack_right(right + (at - panel) * plan.step * width, source, plan, at, k, n)
            for block in range(first, last):
                rows = min(<ssize>TL_TILE_ROWS, plan.rows - block * TL_TILE_ROWS)
                rows_panel = left + (block * plan.inner + k) * TL_TILE_ROWS
                if start != NULL:
                    rows_start = start + block * TL_TILE_ROWS
                for at in range(panel, last_panel):
                    columns = min(width, plan.columns - at * width)
                    columns_panel = right + (at - panel) * plan.step * width
                    to = out + block * TL_TILE_ROWS * plan.columns + at * width
                    if real is float:
                        tl_multiply_tile_32(to, plan.columns, rows, columns, rows_panel, 1, TL_TILE_ROWS, columns_panel,
                                            width, n, 1, keep, rows_start)
                    else:
                        tl_multiply_tile_64(to, plan.columns, rows, columns, rows_panel, 1, TL_TILE_ROWS, columns_panel,
                                            width, n, 1, keep, rows_start)
            k += n
        panel = last_panel


# ---------------------------------------------------------------- all images
cdef void run_parts(real* source, real* left, real* out, const real* start, Plan* plan, ssize begin,
                    ssize end) noexcept nogil:
    """Parts `begin` to `end`, each some images and some blocks of rows."""
    cdef Scratch scratch
    cdef Geometry* geometry = &plan.geometry
    cdef ssize source_size = geometry.in_channels * plane_size(geometry.sizes), out_size = plan.rows * plan.columns
    cdef ssize rows = plan.blocks * TL_TILE_ROWS, part, i, image, first, last, group
    if take_scratch(&scratch, plan):
        for part in range(begin, end):
            i, image = part % plan.block_parts, part // plan.block_parts
            first, last = plan.blocks * i // plan.block_parts, plan.blocks * (i + 1) // plan.block_parts
            for i in range(plan.images * image // plan.image_parts, plan.images * (image + 1) // plan.image_parts):
                copy_source(&scratch, source + i * source_size, plan)
                if plan.mode == BY_WEIGHT:
                    pack_gradient(&scratch, left + i * plan.rows * plan.inner, plan, first, last)
                    multiply(out + (image * geometry.groups + i % geometry.groups) * out_size, <real*>scratch.left,
                             <real*>scratch.turned, <real*>scratch.right, plan, first, last, <const real*>NULL)
                else:
                    group = i % geometry.groups
                    multiply(out + i * out_size, left + group * rows * plan.inner, <real*>scratch.planes,
                             <real*>scratch.right, plan, first, last, start + group * rows)
    else:
        plan.failed = True
    free_scratch(&scratch)


cdef void run_range(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Plan* plan = <Plan*>context
    if plan.dtype == FLOAT32:
        run_parts(<float*>plan.source, <float*>plan.left, <float*>plan.out, <float*>plan.start, plan, begin, end)
    else:
        run_parts(<double*>plan.source, <double*>plan.left, <double*>plan.out, <double*>plan.start, plan, begin, end)


cdef void add_sums(real* weight, const real* sums, Plan* plan) noexcept nogil:
    """Add the sums of all parts to the gradient by the weight, whose order is (channel, tap)."""
    cdef ssize _part, filter, tap, channel, taps = plane_size(plan.geometry.kernel), channels = plan.geometry.in_channels
    for _part in range(plan.image_parts):
        for filter in range(plan.geometry.groups * plan.rows):
            for channel in range(channels):
                for tap in range(taps):
                    weight[filter * plan.columns + channel * taps + tap] += sums[tap * channels + channel]
            sums += plan.columns


cdef void pack_bias(real* start, Plan* plan) noexcept nogil:
    """Zeros where there is none, and where a last panel of rows has none."""
    cdef ssize group, row
    if plan.geometry.bias != NULL:
        for group in range(plan.geometry.groups):
            for row in range(plan.rows):
                start[group * plan.blocks * TL_TILE_ROWS + row] = (<real*>plan.geometry.bias)[group * plan.rows + row]


cdef bint run_plan(real* x, real* weight, real* out, Plan* plan) noexcept nogil:
    """False if there was no memory."""
    cdef ssize work = plan.rows * plan.inner * plan.columns
    cdef ssize threads = thread_count(plan.images * work, GRAIN)
    cdef ssize rows = plan.geometry.groups * plan.blocks * TL_TILE_ROWS
    cdef void* sums = NULL
    plan.source, plan.left, plan.out = <char*>x, <char*>out, <char*>out
    plan.block_parts = min((threads + plan.images - 1) // plan.images, plan.blocks)
    plan.image_parts = plan.images
    if plan.mode == BY_WEIGHT:
        plan.image_parts = min(threads, plan.images)
        sums = calloc(plan.image_parts * plan.geometry.groups * plan.rows * plan.columns, sizeof(real))
        if sums == NULL:
            return False
        plan.out = <char*>sums
        parallel_for(run_range, plan, plan.image_parts * plan.block_parts, 1)
        add_sums(weight, <real*>sums, plan)
        free(sums)
        return not plan.failed
    if plan.mode == BY_INPUT:
        plan.source, plan.out = <char*>out, <char*>x
    plan.left = <char*>calloc(rows * (plan.inner + 1), sizeof(real))
    if plan.left == NULL:
        return False
    plan.start = plan.left + rows * plan.inner * sizeof(real)
    pack_weights(<real*>plan.left, weight, plan)
    pack_bias(<real*>plan.start, plan)
    parallel_for(run_range, plan, plan.image_parts * plan.block_parts, grain_of(GRAIN, work // plan.block_parts))
    free(plan.left)
    return not plan.failed


cdef int run_panels(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry, int mode) except -1:
    """All three tensors contiguous, of floats, and none empty; BY_WEIGHT the result is added to."""
    cdef Plan plan
    cdef bint good
    with nogil:
        good = prepare(&plan, geometry, x.dtype_, mode)
        if good and plan.dtype == FLOAT32:
            good = run_plan(<float*>x.data_, <float*>weight.data_, <float*>out.data_, &plan)
        elif good:
            good = run_plan(<double*>x.data_, <double*>weight.data_, <double*>out.data_, &plan)
        free(plan.inner_at)
        free(plan.first_run)
        free(plan.runs)
    if not good:
        raise MemoryError("conv: no memory for the panels")
    return 0
