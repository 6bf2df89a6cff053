"""The loops of convolution: products of matrices with patches of images, image by image and group by group.

Images and groups are split over threads, each with BLAS on one; a single image is left to the threads of BLAS. One function
computes all three: the output, the gradient by the input and the gradient by the weight. Groups with one input channel need no
matrix; direct_convolution.pyx does them.
"""
from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

from tensorlab._core.operands cimport check_same_place
from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, INT8, INT16, INT32, UINT8, number
from tensorlab._core.layout cimport ssize
from tensorlab._core.iterator cimport thread_count
from tensorlab._core.tensor cimport TensorBase, is_meta, memory_of
from tensorlab.ops.direct_convolution cimport is_direct, run_direct
from tensorlab.ops.filling cimport zeros_tensor
from tensorlab.ops.linalg.blas cimport load_blas, multiply_one
from tensorlab.ops.linalg.product_loops cimport Matrix
from tensorlab.ops.im2col cimport (
    BY_INPUT, BY_WEIGHT, FORWARD, Geometry, col2im, column_size, plane_size, im2col,
)

from tensorlab import threads as thread_control

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
    """One image and one group: whichever of the three tensors is the result is added to."""
    cdef ssize patch = column_size(geometry), places = plane_size(geometry.out), width = geometry.out[2]
    cdef ssize rows = geometry.out[0] * geometry.out[1], step = band_rows(geometry, sizeof(number)), row, last
    cdef Matrix out_matrix, weight_matrix, column_matrix
    cdef bint is_plain = (plane_size(geometry.kernel) == 1 and plane_size(geometry.stride) == 1
                          and geometry.padding[0] == 0 and geometry.padding[1] == 0 and geometry.padding[2] == 0
                          and plane_size(geometry.sizes) == places)
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
        run_image(x + i * x_size, weight + group * geometry.out_channels * patch, out + i * out_size, columns, geometry, dtype,
                  mode)
    free(columns)
    return True


# ---------------------------------------------------------------- all images
cdef bint run_typed(number* x, number* weight, number* out, Geometry* geometry, int dtype, int mode, int threads,
                    number* partial) noexcept:
    """`partial` holds a weight gradient for each thread but the first, which adds to `weight` itself."""
    cdef ssize whole = geometry.batch * geometry.groups, part, i
    cdef ssize weight_size = geometry.groups * geometry.out_channels * column_size(geometry)
    cdef int bad = 0
    if threads == 1:
        with nogil:
            bad = not run_part(x, weight, out, geometry, dtype, mode, 0, whole)
        return bad == 0
    for part in prange(threads, nogil=True, num_threads=threads, schedule="static"):
        bad += not run_part(x, weight if part == 0 or mode != BY_WEIGHT else partial + (part - 1) * weight_size, out, geometry,
                            dtype, mode, whole * part // threads, whole * (part + 1) // threads)
    if mode == BY_WEIGHT:
        for part in range(threads - 1):
            for i in range(weight_size):
                weight[i] += partial[part * weight_size + i]
    return bad == 0


cdef int run_conv(TensorBase x, TensorBase weight, TensorBase out, Geometry* geometry, int mode) except -1:
    """All three tensors contiguous and of a type that is computed in; the result holds what is to be added to."""
    cdef int dtype = x.dtype_, threads
    cdef ssize images = geometry.batch * geometry.groups
    cdef ssize work = images * geometry.out_channels * column_size(geometry) * plane_size(geometry.out), size
    cdef TensorBase partial
    cdef char* partial_data = NULL
    cdef bint good
    check_same_place(x, weight, "conv")
    check_same_place(x, out, "conv")
    if work == 0 or is_meta(x):
        return 0
    load_blas()
    threads = <int>min(images, thread_count(work, GRAIN))
    if mode == BY_WEIGHT and threads > 1:
        size = (threads - 1) * weight.numel_
        partial = zeros_tensor(dtype, 1, &size)
        partial_data = memory_of(partial)
    if threads > 1:
        thread_control.limit_blas(1)
    try:
        if dtype == FLOAT32:
            good = run_typed(<float*>x.data_, <float*>weight.data_, <float*>out.data_, geometry, dtype, mode, threads,
                             <float*>partial_data)
        elif dtype == FLOAT64:
            good = run_typed(<double*>x.data_, <double*>weight.data_, <double*>out.data_, geometry, dtype, mode, threads,
                             <double*>partial_data)
        elif dtype == UINT8:
            good = run_typed(<uint8_t*>x.data_, <uint8_t*>weight.data_, <uint8_t*>out.data_, geometry, dtype, mode, threads,
                             <uint8_t*>partial_data)
        elif dtype == INT8:
            good = run_typed(<int8_t*>x.data_, <int8_t*>weight.data_, <int8_t*>out.data_, geometry, dtype, mode, threads,
                             <int8_t*>partial_data)
        elif dtype == INT16:
            good = run_typed(<int16_t*>x.data_, <int16_t*>weight.data_, <int16_t*>out.data_, geometry, dtype, mode, threads,
                             <int16_t*>partial_data)
        elif dtype == INT32:
            good = run_typed(<int32_t*>x.data_, <int32_t*>weight.data_, <int32_t*>out.data_, geometry, dtype, mode, threads,
                             <int32_t*>partial_data)
        else:
            good = run_typed(<int64_t*>x.data_, <int64_t*>weight.data_, <int64_t*>out.data_, geometry, dtype, mode, threads,
                             <int64_t*>partial_data)
    finally:
        if threads > 1:
            thread_control.restore_blas()
    if not good:
        raise MemoryError("conv: no memory for the patches")
    return 0
