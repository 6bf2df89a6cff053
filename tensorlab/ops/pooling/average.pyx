"""Average pooling: the mean of each window, and how its gradient is spread over the window."""

from libc.stdint cimport int64_t

from tensorlab._core.dispatch.dispatch cimport run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dispatch.out_argument cimport store_out
from tensorlab._core.dtypes cimport FLOATING, INT64, is_double, kernel_dtype, real
from tensorlab._core.layout cimport int_argument, shape_text, ssize
from tensorlab._core.loops.iterator cimport plain_as, plain_result, put_back
from tensorlab._core.tensor cimport TensorBase, memory_of
from tensorlab.ops.pooling.windows cimport (
    BEHIND, COUNT, FIRST, WINDOW_BLOCK, EvenWindows, Planes, axis_sizes, check_axes, check_filled,
    describe, find_even, ints_for_axes, ints_beside, ints_of, lengths_of, rows_together,
    run_planes, strides_or_kernels, result_of_sizes, windows_of
)

from tensorlab.errors import ShapeError

ctypedef fused mean_number:
    int64_t
    float
    double


# ---------------------------------------------------------------- loops
cdef enum:
    LANES = 16

cdef void mean_of_planes(Planes* p, ssize begin, ssize end, mean_number* x) noexcept nogil:
    """The mean of each window; of integers rounded towards 0."""
    cdef mean_number* out = <mean_number*>p.out + begin * p.out_size
    cdef mean_number* plane
    cdef const int64_t* in_slices
    cdef const int64_t* in_rows
    cdef const int64_t* in_columns = p.columns.windows
    cdef EvenWindows even
    cdef ssize k, s, i, j, _i, rows, n = p.columns.out_size
    find_even(p, begin, &even)
    for k in range(begin, end):
        plane = x + k * p.size
        for s in range(p.slices.out_size):
            in_slices = p.slices.windows + 3 * s
            i = 0
            while i < p.rows.out_size:
                rows = rows_together(&even, i)
                in_rows = p.rows.windows + 3 * i
                j = even.first
                while j < even.last:
                    mean_of_block(p, plane, in_slices, in_rows, in_columns + 3 * j, out + j, rows,
                                  min(<ssize>WINDOW_BLOCK, even.last - j))
                    j += WINDOW_BLOCK
                i += rows
                for _i in range(rows):
                    for j in range(even.first):
                        out[j] = mean_of_window(p, plane, in_slices, in_rows, in_columns + 3 * j)
                    for j in range(even.last, n):
                        out[j] = mean_of_window(p, plane, in_slices, in_rows, in_columns + 3 * j)
                    in_rows += 3
                    out += n


cdef inline mean_number mean_of_window(Planes* p, mean_number* plane, const int64_t* in_slices, const int64_t* in_rows,
                                       const int64_t* in_columns) noexcept nogil:
    cdef mean_number total = 0
    cdef ssize depth, row, first = in_columns[FIRST], n = in_columns[BEHIND] - first, behind = in_rows[BEHIND]
    if n == p.columns.size and behind > in_rows[FIRST]:             # whole rows continue one another
        n *= behind - in_rows[FIRST]
        behind = in_rows[FIRST] + 1
    for depth in range(in_slices[FIRST], in_slices[BEHIND]):
        for row in range(in_rows[FIRST], behind):
            total += sum_of_row(plane + (depth * p.rows.size + row) * p.columns.size + first, n)
    return total / divisor_of(p, in_slices, in_rows, in_columns, total)


cdef inline mean_number sum_of_row(const mean_number* x, ssize n) noexcept nogil:
    """Long rows in sums that do not wait for each other."""
    cdef mean_number[LANES] lane
    cdef mean_number total = 0
    cdef ssize j = 0
    cdef int k
    if n >= LANES:
        for k in range(LANES):
            lane[k] = 0
        while j + LANES <= n:
            for k in range(LANES):
                lane[k] += x[j + k]
            j += LANES
        for k in range(LANES):
            total += lane[k]
    while j < n:
        total += x[j]
        j += 1
    return total


cdef void mean_of_block(Planes* p, mean_number* plane, const int64_t* in_slices, const int64_t* in_rows,
                        const int64_t* in_columns, mean_number* out, ssize rows, ssize n) noexcept nogil:
    """The means of n even windows of each of some even rows: all first numbers are added, then all second ones."""
    cdef mean_number[WINDOW_BLOCK] totals
    cdef mean_number* sums
    cdef mean_number* at
    cdef mean_number divisor = divisor_of(p, in_slices, in_rows, in_columns, <mean_number>0)
    cdef ssize stride = in_columns[3 + FIRST] - in_columns[FIRST] if n > 1 else 1
    cdef ssize row_stride = (in_rows[3 + FIRST] - in_rows[FIRST]) * p.columns.size if rows > 1 else 0
    cdef ssize depth, row, column, _i, j
    for j in range(rows * n):
        totals[j] = 0
    for depth in range(in_slices[FIRST], in_slices[BEHIND]):
        for row in range(in_rows[FIRST], in_rows[BEHIND]):
            column = in_columns[FIRST]
            while column < in_columns[BEHIND]:
                sums, at = totals, plane + (depth * p.rows.size + row) * p.columns.size + column
                if stride == 2 and column + 1 < in_columns[BEHIND]:     # pairs, which vector instructions take apart
                    for _i in range(rows):
                        for j in range(n):
                            sums[j] = sums[j] + at[2 * j] + at[2 * j + 1]
                        sums, at = sums + n, at + row_stride
                    column += 2
                else:
                    for _i in range(rows):
                        for j in range(n):
                            sums[j] += at[stride * j]
                        sums, at = sums + n, at + row_stride
                    column += 1
    sums = totals
    for _i in range(rows):
        for j in range(n):
            out[j] = sums[j] / divisor
        sums, out = sums + n, out + p.columns.out_size


cdef void spread_over_planes(Planes* p, ssize begin, ssize end, real* x) noexcept nogil:
    """The gradient of the mean: each window's elements get their share. Here `out` is what `x` was the mean of."""
    cdef real* out
    cdef real share
    cdef const int64_t* in_slices
    cdef const int64_t* in_rows
    cdef const int64_t* in_columns
    cdef ssize height = p.rows.size, width = p.columns.size
    cdef ssize k, s, i, j, depth, row, column, start, at
    for k in range(begin, end):
        out = <real*>p.out + k * p.size
        at = k * p.out_size
        for i in range(p.size):
            out[i] = 0
        for s in range(p.slices.out_size):
            in_slices = p.slices.windows + 3 * s
            for i in range(p.rows.out_size):
                in_rows = p.rows.windows + 3 * i
                for j in range(p.columns.out_size):
                    in_columns = p.columns.windows + 3 * j
                    share = x[at] / divisor_of(p, in_slices, in_rows, in_columns, x[at])
                    for depth in range(in_slices[FIRST], in_slices[BEHIND]):
                        for row in range(in_rows[FIRST], in_rows[BEHIND]):
                            start = (depth * height + row) * width
                            for column in range(in_columns[FIRST], in_columns[BEHIND]):
                                out[start + column] += share
                    at += 1


cdef inline mean_number divisor_of(Planes* p, const int64_t* in_slices, const int64_t* in_rows, const int64_t* in_columns,
                                   mean_number as_this) noexcept nogil:
    if p.divisor != 0:
        return <mean_number>p.divisor
    return <mean_number>(in_slices[COUNT] * in_rows[COUNT] * in_columns[COUNT])


cdef int mean_of_windows(TensorBase out, TensorBase x, tuple windows, double divisor) except -1:
    cdef int kernel_type = kernel_dtype(x.dtype_)
    cdef TensorBase computed = plain_as(x, kernel_type), means = plain_result(out)
    cdef void* loop = (<void*>mean_of_planes[int64_t] if kernel_type == INT64 else
                       <void*>mean_of_planes[double] if is_double(kernel_type) else <void*>mean_of_planes[float])
    cdef Planes p
    describe(&p, computed, windows, lengths_of(windows), False)
    p.x, p.out, p.divisor = memory_of(computed), memory_of(means), divisor
    run_planes(&p, loop)
    return put_back(out, means)


cdef int spread_over_windows(TensorBase out, TensorBase grad, tuple windows, double divisor) except -1:
    """Write the gradient by planes."""
    cdef int kernel_type = kernel_dtype(grad.dtype_)
    cdef TensorBase computed = plain_as(grad, kernel_type), slopes = plain_result(out)
    cdef Planes p
    describe(&p, slopes, windows, lengths_of(windows), False)
    p.x, p.out, p.divisor = memory_of(computed), memory_of(slopes), divisor
    run_planes(&p, <void*>spread_over_planes[double] if is_double(kernel_type) else <void*>spread_over_planes[float])
    return put_back(out, slopes)


cdef int check_gradient(TensorBase grad, tuple windows, str where) except -1:
    """There is one number for each window."""
    if axis_sizes(grad, <int>len(windows)) != lengths_of(windows):
        raise ShapeError(f"{where}: the gradient has shape {shape_text(grad.ndim_, grad.sizes)}, but there are "
                         f"{lengths_of(windows)} windows")
    return 0


# ---------------------------------------------------------------- avg_pool1d, avg_pool2d, avg_pool3d
cdef Op AVG_POOL2D = Op("avg_pool2d(Tensor x, int[] kernel_size, int[] stride=[], "
                        "int[] padding=0, bool ceil_mode=False, bool count_include_pad=True, "
                        "int? divisor_override=None) -> Tensor", zero_curvature=True)
cdef Op AVG_POOL3D = Op("avg_pool3d(Tensor x, int[] kernel_size, int[] stride=[], "
                        "int[] padding=0, bool ceil_mode=False, bool count_include_pad=True, "
                        "int? divisor_override=None) -> Tensor", zero_curvature=True)
cdef Op AVG_POOL_BACKWARD = Op("avg_pool_backward(Tensor grad, int[] sizes, int[] kernel_size, int[] stride, "
                               "int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor")

cdef tuple mean_windows(TensorBase x, tuple sizes, object kernel_size, object stride, object padding, object ceil_mode,
                        object count_include_pad, object divisor_override, str where):
    """The windows of planes of these sizes, or of x's."""
    cdef tuple kernels = ints_of(kernel_size), windows
    cdef int axes = <int>len(kernels)
    where = where or f"avg_pool{axes}d"
    check_axes(x, axes, where)
    check_dtype(where, x, FLOATING | 1 << INT64)
    if divisor_override == 0:
        raise ShapeError(f"{where}: divisor_override is 0; give a number to divide by, or leave it out")
    windows = windows_of(sizes or axis_sizes(x, axes), kernels, ints_beside(kernels, stride), ints_beside(kernels, padding),
                         (1,) * axes, ceil_mode, count_include_pad, where)
    check_filled(x, axes, where)
    return windows

@AVG_POOL3D.infer
@AVG_POOL2D.infer
def avg_pool_infer(TensorBase x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    windows = mean_windows(x, None, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, None)
    return result_of_sizes(x.dtype_, x, lengths_of(windows))

@AVG_POOL3D.kernel
@AVG_POOL2D.kernel
def avg_pool_kernel(TensorBase out, TensorBase x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    windows = mean_windows(x, None, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, None)
    mean_of_windows(out, x, windows, divisor_override or 0)

@AVG_POOL_BACKWARD.infer
def avg_pool_backward_infer(TensorBase grad, sizes, kernel_size, stride, padding, ceil_mode, count_include_pad,
                            divisor_override):
    windows = mean_windows(grad, ints_of(sizes), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
                           "avg_pool_backward")
    check_gradient(grad, windows, "avg_pool_backward")
    return result_of_sizes(grad.dtype_, grad, ints_of(sizes))

@AVG_POOL_BACKWARD.kernel
def avg_pool_backward_kernel(TensorBase out, TensorBase grad, sizes, kernel_size, stride, padding, ceil_mode,
                             count_include_pad, divisor_override):
    """The gradient of a mean over windows by its input, planes of these sizes."""
    windows = mean_windows(grad, ints_of(sizes), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
                           "avg_pool_backward")
    spread_over_windows(out, grad, windows, divisor_override or 0)


@AVG_POOL2D.derivative("x")
@AVG_POOL3D.derivative("x")
def avg_pool_derivative(grad, x_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    sizes = x_shape[-len(kernel_size):]
    return run_tuple(AVG_POOL_BACKWARD, (grad, sizes, kernel_size, stride, padding, ceil_mode, count_include_pad,
                                         divisor_override))

@AVG_POOL_BACKWARD.derivative("grad")
def avg_pool_backward_derivative(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    op = AVG_POOL2D if len(kernel_size) == 2 else AVG_POOL3D
    return run_tuple(op, (grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override))

cdef object avg_pool(Op op, int axes, TensorBase x, object kernel_size, object stride, object padding, bint ceil_mode,
                     bint count_include_pad, object divisor_override):
    cdef str where = f"avg_pool{axes}d"
    cdef tuple kernels = ints_for_axes(kernel_size, axes, where, "kernel_size")
    cdef tuple strides = strides_or_kernels(stride, kernels, where)
    cdef tuple paddings = ints_for_axes(padding, axes, where, "padding")
    if divisor_override is not None:
        divisor_override = int_argument(divisor_override, where, "divisor_override")
    if axes > 1:
        return run_tuple(op, (x, kernels, strides, paddings, ceil_mode, count_include_pad, divisor_override))
    # checks, in the name of avg_pool1d
    mean_windows(x, None, kernels, strides, paddings, ceil_mode, count_include_pad, divisor_override, None)
    return run_tuple(op, (x.unsqueeze(-2), (1, *kernels), (1, *strides), (0, *paddings), ceil_mode, count_include_pad,
                          divisor_override)).squeeze(-2)

def avg_pool1d(TensorBase input not None, kernel_size, stride=None, padding=0, bint ceil_mode=False,
               bint count_include_pad=True):
    """The mean of each window of a signal, (batch, channels, length) or without batch; see `avg_pool2d`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.avg_pool1d(tensorlab.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)
    tensor([[[2., 6.]]])
    """
    return avg_pool(AVG_POOL2D, 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

def avg_pool2d(TensorBase input not None, kernel_size, stride=None, padding=0, bint ceil_mode=False,
               bint count_include_pad=True, divisor_override=None, *, out=None):
    """The mean of each window of an image.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch, floating or int64
    kernel_size : int or pair of int, the window
    stride : int or pair of int, from one window to the next; the kernel size unless given
    padding : int or pair of int, zeros around the image
    ceil_mode : bool; a last window that is not full counts too
    count_include_pad : bool; the mean counts the zeros of the padding
    divisor_override : int, divides the sum instead of the number of elements

    Returns
    -------
    Tensor, shape (batch, channels, out_height, out_width); means of int64 are rounded towards 0

    Raises
    ------
    ShapeError
        If a window is larger than the image, or the padding more than half of it.

    >>> import tensorlab
    >>> tensorlab.nn.functional.avg_pool2d(tensorlab.arange(16.).view(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    result = avg_pool(AVG_POOL2D, 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return store_out("avg_pool2d", result, out, (input,))

def avg_pool3d(TensorBase input not None, kernel_size, stride=None, padding=0, bint ceil_mode=False,
               bint count_include_pad=True, divisor_override=None, *, out=None):
    """The mean of each window of a volume, (batch, channels, depth, height, width) or without batch.

    The other parameters are those of `avg_pool2d`, an int or three of them.

    >>> import tensorlab
    >>> tensorlab.nn.functional.avg_pool3d(tensorlab.arange(8.).view(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
    result = avg_pool(AVG_POOL3D, 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return store_out("avg_pool3d", result, out, (input,))
