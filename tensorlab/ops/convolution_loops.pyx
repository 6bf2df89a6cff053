"""The loops of convolution: products of matrices with patches of images, image by image and group by group.

Images and groups are split over threads; if there are fewer of them than threads, each product is split. One function computes
all three: the output, the gradient by the input and the gradient by the weight. Groups with one input channel need no matrix;
direct_convolution.pyx does them. `run_conv` chooses: floats mostly have faster ways, in winograd.pyx, indirect_convolution.pyx
and panel_convolution.pyx.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, INT8, INT16, INT32, UINT8, item_size, number, real
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport grain_of, parallel_for, thread_count
from tensorlab._core.tensor cimport TensorBase, memory_of
from tensorlab.ops.direct_convolution cimport is_direct, run_direct
from tensorlab.ops.filling cimport zeros_tensor
from tensorlab.ops.linalg.blas cimport multiply_one
from tensorlab.ops.linalg.blas_library cimport hold_blas, load_blas, release_blas
from tensorlab.ops.linalg.product_loops cimport Matrix
from tensorlab.ops.indirect_convolution cimport is_indirect, run_indirect
from tensorlab.ops.panel_convolution cimport is_paneled, run_panels
from tensorlab.ops.winograd cimport is_winograd, run_winograd
from tensorlab.ops.winograd_weight cimport run_winograd_weight
from tensorlab.ops.im2col cimport (
    BY_INPUT, BY_WEIGHT, FORWARD, Geometry, col2im, column_size, im2col, image_count, multiplications, plane_size,
    start_image
)

cdef enum:
    BAND_BYTES = 1 << 22        # columns of a band. They stay in the L3 cache; in smaller bands BLAS packs the weights too often
    GRAIN = 65536               # multiplications that make a thread worth starting


# ---------------------------------------------------------------- one image and group
cdef ssize band_rows(Geometry* geometry, int size) noexcept nogil:
    cdef ssize row_bytes = column_size(geometry) * geometry.out[2] * size
    return max(BAND_BYTES // max(row_bytes, 1), 1)


cdef inline void set_plain(Matrix* matrix, char* data, ssize rows, ssize columns, ssize row_stride) noexcept nogil:
    matrix.data = data
    matrix.rows = rows
    matrix.columns = columns
    matrix.row_stride = row_stride
    matrix.column_stride = 1


cdef inline void transpose(Matrix* matrix) noexcept nogil:
    matrix.rows, matrix.columns = matrix.columns, matrix.rows
    matrix.row_stride, matrix.column_stride = matrix.column_stride, matrix.row_stride


cdef void run_image(number* x, number* weight, number* out, number* columns, Geometry* geometry, int dtype,
                    int mode) noexcept nogil:
    """One image and one group: the result is added to."""
    cdef ssize patch = column_size(geometry), places = plane_size(geometry.out), width = geometry.out[2]
    cdef ssize rows = geometry.out[0] * geometry.out[1], step = band_rows(geometry, sizeof(number)), row, last
    cdef Matrix out_matrix, weight_matrix, column_matrix
    cdef bint is_plain = (plane_size(geometry.kernel) == 1 and plane_size(geometry.stride) == 1
                          and plane_size(geometry.sizes) == places)     # so there is no padding
    if is_plain:
        step = rows                                     # the image itself is the matrix of its patches
    row = 0
    while row < rows:
        last = min(row + step, rows)
        set_plain(&out_matrix, <char*>(out + row * width), geometry.out_channels, (last - row) * width, places)
        set_plain(&weight_matrix, <char*>weight, geometry.out_channels, patch, patch)
        set_plain(&column_matrix, <char*>(x if is_plain else columns), patch, (last - row) * width, (last - row) * width)
        if mode != BY_INPUT and not is_plain:
            im2col(columns, x, geometry, row, last)
        if mode == FORWARD:
            multiply_one(dtype, &out_matrix, &weight_matrix, &column_matrix, 1, 1)
        elif mode == BY_INPUT:
            transpose(&weight_matrix)
            multiply_one(dtype, &column_matrix, &weight_matrix, &out_matrix, 1, 1 if is_plain else 0)
            if not is_plain:
                col2im(x, columns, geometry, row, last)
        else:
            transpose(&column_matrix)
            multiply_one(dtype, &weight_matrix, &out_matrix, &column_matrix, 1, 1)
        row = last


cdef bint run_part(number* x, number* weight, number* out, Geometry* geometry, int dtype, int mode, ssize begin,
                   ssize end) noexcept nogil:
    """Images and groups `begin` to `end`; False if there was no memory for the columns."""
    cdef ssize i, group, patch = column_size(geometry)
    cdef ssize x_size = geometry.in_channels * plane_size(geometry.sizes)
    cdef ssize out_size = geometry.out_channels * plane_size(geometry.out)
    cdef ssize rows = min(band_rows(geometry, sizeof(number)), geometry.out[0] * geometry.out[1])
    cdef number* columns
    if number is float or number is double:
        if is_direct(geometry):
            return run_direct(x, weight, out, geometry, mode, begin, end)
    columns = <number*>malloc(max(patch * rows * geometry.out[2], 1) * sizeof(number))
    if columns == NULL:
        return False
    for i in range(begin, end):
        group = i % geometry.groups
        start_image(x + i * x_size, out + i * out_size, geometry, mode, group)
        run_image(x + i * x_size, weight + group * geometry.out_channels * patch, out + i * out_size, columns, geometry, dtype,
                  mode)
    free(columns)
    return True


# ---------------------------------------------------------------- all images
cdef struct Images:
    int dtype
    int mode
    Geometry* geometry
    char* x
    char* weight
    char* out
    char* partial                   # BY_WEIGHT: a gradient for each part of the images but the first, which adds to `weight`
    int parts
    bint failed                     # for want of memory


cdef void run_images(Images* images, char* weight, ssize begin, ssize end) noexcept nogil:
    """Images and groups `begin` to `end`."""
    cdef char* x = images.x
    cdef char* out = images.out
    cdef Geometry* geometry = images.geometry
    cdef int dtype = images.dtype, mode = images.mode
    cdef bint good
    if dtype == FLOAT32:
        good = run_part(<float*>x, <float*>weight, <float*>out, geometry, dtype, mode, begin, end)
    elif dtype == FLOAT64:
        good = run_part(<double*>x, <double*>weight, <double*>out, geometry, dtype, mode, begin, end)
    elif dtype == UINT8:
        good = run_part(<uint8_t*>x, <uint8_t*>weight, <uint8_t*>out, geometry, dtype, mode, begin, end)
    elif dtype == INT8:
        good = run_part(<int8_t*>x, <int8_t*>weight, <int8_t*>out, geometry, dtype, mode, begin, end)
    elif dtype == INT16:
        good = run_part(<int16_t*>x, <int16_t*>weight, <int16_t*>out, geometry, dtype, mode, begin, end)
    elif dtype == INT32:
        good = run_part(<int32_t*>x, <int32_t*>weight, <int32_t*>out, geometry, dtype, mode, begin, end)
    else:
        good = run_part(<int64_t*>x, <int64_t*>weight, <int64_t*>out, geometry, dtype, mode, begin, end)
    if not good:
        images.failed = True


cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Images* images = <Images*>context
    run_images(images, images.weight, begin, end)


cdef void run_weight_parts(void* context, ssize begin, ssize end) noexcept nogil:
    """Of all images: each part of them adds to a gradient of its own."""
    cdef Images* images = <Images*>context
    cdef Geometry* geometry = images.geometry
    cdef ssize part, whole = image_count(geometry)
    cdef ssize size = geometry.groups * geometry.out_channels * column_size(geometry) * item_size[images.dtype]
    for part in range(begin, end):
        run_images(images, images.weight if part == 0 else images.partial + (part - 1) * size,
                   whole * part // images.parts, whole * (part + 1) // images.parts)


cdef void add_rows(real* to, const real* rows, ssize m, ssize n) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            to[j] += rows[i * n + j]


cdef int run_conv(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry, int mode) except -1:
    """All three tensors contiguous, of a type that is computed in, and none empty; BY_WEIGHT the result is added to."""
    cdef Images images
    cdef ssize count = image_count(geometry)
    cdef ssize work = multiplications(geometry) // count
    cdef ssize[2] sizes
    cdef TensorBase partial
    if is_winograd(geometry, x.dtype_, mode) and (
            run_winograd_weight(x, weight, out, geometry) if mode == BY_WEIGHT
            else run_winograd(x, weight, out, geometry, mode)):
        return 0
    if is_indirect(geometry, x.dtype_, mode):
        return run_indirect(x, weight, out, geometry, mode)
    if is_paneled(geometry, x.dtype_, mode):
        return run_panels(x, weight, out, geometry, mode)
    images.dtype, images.mode, images.geometry, images.failed = x.dtype_, mode, geometry, False
    images.x, images.weight, images.out = x.data_, weight.data_, out.data_
    images.parts = thread_count(count * work, GRAIN)
    if mode == BY_WEIGHT and images.parts <= count:
        sizes[0], sizes[1] = images.parts - 1, weight.numel_
        partial = zeros_tensor(x.dtype_, 2, sizes)
        images.partial = memory_of(partial)
    load_blas()
    hold_blas()
    with nogil:
        if images.parts > count:                        # few images: each product is split
            run_images(&images, images.weight, 0, count)
        elif mode != BY_WEIGHT:
            parallel_for(run_share, &images, count, grain_of(GRAIN, work))
        else:
            parallel_for(run_weight_parts, &images, images.parts, 1)
            if images.dtype == FLOAT32:
                add_rows(<float*>images.weight, <float*>images.partial, sizes[0], sizes[1])
            else:
                add_rows(<double*>images.weight, <double*>images.partial, sizes[0], sizes[1])
    release_blas()
    if images.failed:
        raise MemoryError("conv: no memory for the patches")
    return 0
