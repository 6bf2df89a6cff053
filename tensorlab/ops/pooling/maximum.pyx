"""Max pooling: the largest number of each window, and where it was."""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

from tensorlab._core.dispatch.dispatch cimport run_4, run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dtypes cimport (
    FLOATING, INT16, INT32, INT64, INT8, INTEGRAL, UINT8, is_double, kernel_dtype, number
)
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.iterator cimport plain_as, plain_result, put_back
from tensorlab._core.tensor cimport TensorBase, alias, memory_of
from tensorlab.ops.indexing.gather cimport GATHER_BACKWARD
from tensorlab.ops.pooling.windows cimport (
    BEHIND, FIRST, WINDOW_BLOCK, EvenWindows, Planes, axis_sizes, check_axes, check_filled, describe,
    find_even, ints_for_axes, ints_beside, ints_of, lengths_of, rows_together, run_planes,
    strides_or_kernels, result_of_sizes, windows_of
)


# ---------------------------------------------------------------- loops
cdef enum:
    LANES = 16                  # windows whose numbers are compared at a time


cdef void max_of_planes(Planes* p, ssize begin, ssize end, number* x) noexcept nogil:
    """The largest number of each window and its place in the plane; the first of several, or the last nan."""
    cdef number* plane
    cdef number* out
    cdef int64_t* indices
    cdef const int64_t* in_slices
    cdef const int64_t* in_rows
    cdef const int64_t* in_columns
    cdef EvenWindows even
    cdef ssize k, s, i, j, _i, at, rows, n = p.columns.out_size
    for k in range(begin, end):
        plane = x + k * p.size
        at = k * p.out_size
        in_columns = p.columns.windows + k * p.columns.next_plane
        if k == begin or p.columns.next_plane != 0:
            find_even(p, k, &even)
        for s in range(p.slices.out_size):
            in_slices = p.slices.windows + k * p.slices.next_plane + 3 * s
            i = 0
            while i < p.rows.out_size:
                rows = rows_together(&even, i)
                in_rows = p.rows.windows + k * p.rows.next_plane + 3 * i
                j = even.first
                while j < even.last:
                    max_of_block(p, plane, in_slices, in_rows, in_columns + 3 * j, <number*>p.out + at + j, p.indices + at + j,
                                 rows, min(<ssize>WINDOW_BLOCK, even.last - j))
                    j += WINDOW_BLOCK
                i += rows
                for _i in range(rows):
                    out, indices = <number*>p.out + at, p.indices + at
                    for j in range(even.first):
                        indices[j] = max_of_window(p, plane, in_slices, in_rows, in_columns + 3 * j, out + j)
                    for j in range(even.last, n):
                        indices[j] = max_of_window(p, plane, in_slices, in_rows, in_columns + 3 * j, out + j)
                    in_rows += 3
                    at += n


cdef void max_of_block(Planes* p, number* plane, const int64_t* in_slices, const int64_t* in_rows, const int64_t* in_columns,
                       number* out, int64_t* indices, ssize rows, ssize n) noexcept nogil:
    """Search n even windows of each of some even rows side by side: compare all first elements, then all second ones."""
    cdef number[WINDOW_BLOCK] best, values, next_values
    cdef int32_t[WINDOW_BLOCK] places, offsets             # as wide as a float, so that both are chosen by one mask
    cdef ssize s = in_slices[FIRST], row = in_rows[FIRST], column, start, i, j, width = p.columns.size
    cdef ssize stride = in_columns[3 + FIRST] - in_columns[FIRST] if n > 1 else 1
    cdef ssize row_stride = (in_rows[3 + FIRST] - in_rows[FIRST]) * width if rows > 1 else 0
    cdef ssize count = rows * n, whole = (count + LANES - 1) // LANES * LANES
    start = (s * p.rows.size + row) * width + in_columns[FIRST]
    for i in range(rows):
        for j in range(n):
            offsets[i * n + j] = <int32_t>(i * row_stride + j * stride)
    for j in range(count, whole):                       # the last lanes may have no window
        offsets[j] = 0
        values[j] = next_values[j] = 0
    for j in range(whole):
        best[j] = lowest(best[j])
        places[j] = <int32_t>start + offsets[j]
    if s >= in_slices[BEHIND] or row >= in_rows[BEHIND]:
        for j in range(count):
            places[j] = <int32_t>p.size
    while s < in_slices[BEHIND]:
        row = in_rows[FIRST]
        while row < in_rows[BEHIND]:
            column = in_columns[FIRST]
            while column < in_columns[BEHIND]:
                start = (s * p.rows.size + row) * width + column
                if stride == 2 and p.columns.step == 1 and column + 1 < in_columns[BEHIND]:
                    for i in range(rows):
                        take_pairs(values + i * n, next_values + i * n, plane + start + i * row_stride, n)
                    take_larger(best, places, values, offsets, <int32_t>start, whole)
                    take_larger(best, places, next_values, offsets, <int32_t>start + 1, whole)
                    column += 2
                    continue
                for i in range(rows):
                    for j in range(n):
                        values[i * n + j] = plane[start + i * row_stride + j * stride]
                take_larger(best, places, values, offsets, <int32_t>start, whole)
                column += p.columns.step
            row += p.rows.step
        s += p.slices.step
    for i in range(rows):
        for j in range(n):
            out[j] = best[i * n + j]
        for j in range(n):
            indices[j] = places[i * n + j]
        out, indices = out + p.columns.out_size, indices + p.columns.out_size


cdef inline void take_pairs(number* first, number* second, const number* x, ssize n) noexcept nogil:
    """The numbers of n neighbouring pairs, which vector instructions take apart."""
    cdef ssize i
    for i in range(n):
        first[i] = x[2 * i]
        second[i] = x[2 * i + 1]


cdef inline void take_larger(number* best, int32_t* places, const number* values, const int32_t* offsets, int32_t start,
                             ssize whole) noexcept nogil:
    """Compare with one element of each window. Two plain choices: of one condition, joined by `or`, GCC makes branches."""
    cdef ssize i = 0
    cdef int j
    cdef number value, largest
    cdef int32_t place, here
    while i < whole:
        for j in range(LANES):
            value, largest, place, here = values[i + j], best[i + j], places[i + j], start + offsets[i + j]
            place = here if value > largest else place
            largest = value if value > largest else largest
            places[i + j] = here if value != value else place
            best[i + j] = value if value != value else largest
        i += LANES


cdef inline ssize max_of_window(Planes* p, number* plane, const int64_t* in_slices, const int64_t* in_rows,
                                const int64_t* in_columns, number* out) noexcept nogil:
    """Write the largest number; return its place, which is behind the plane if the window holds nothing."""
    cdef ssize width = p.columns.size, row_step = p.rows.step, column_step = p.columns.step
    cdef ssize row_behind = in_rows[BEHIND], column_first = in_columns[FIRST], column_behind = in_columns[BEHIND]
    cdef ssize s = in_slices[FIRST], row = in_rows[FIRST], column, start
    cdef ssize place = (s * p.rows.size + row) * width + column_first
    cdef number best, value
    if s >= in_slices[BEHIND] or row >= row_behind or column_first >= column_behind:
        out[0] = lowest(out[0])
        return p.size
    best = plane[place]
    while s < in_slices[BEHIND]:
        row = in_rows[FIRST]
        while row < row_behind:
            start = (s * p.rows.size + row) * width
            column = column_first
            while column < column_behind:
                value = plane[start + column]
                if value > best or value != value:
                    best = value
                    place = start + column
                column += column_step
            row += row_step
        s += p.slices.step
    out[0] = best
    return place


cdef inline number lowest(number like) noexcept nogil:
    """What no number of this type is below."""
    if number is float or number is double:
        return -INFINITY
    elif number is uint8_t:
        return 0
    else:
        return <number>(<uint64_t>1 << (8 * sizeof(number) - 1))


cdef void* loop_of(int dtype) except NULL:
    if dtype == UINT8:
        return <void*>max_of_planes[uint8_t]
    if dtype == INT8:
        return <void*>max_of_planes[int8_t]
    if dtype == INT16:
        return <void*>max_of_planes[int16_t]
    if dtype == INT32:
        return <void*>max_of_planes[int32_t]
    if dtype == INT64:
        return <void*>max_of_planes[int64_t]
    return <void*>max_of_planes[double] if is_double(dtype) else <void*>max_of_planes[float]


cdef int max_of_windows(TensorBase values, TensorBase indices, TensorBase x, tuple windows, tuple counts, tuple steps,
                        bint per_plane) except -1:
    """Write the largest numbers and their places.

    `counts`: how many windows there are along each axis of a plane; `steps` lead from one element of a window to the next;
    `per_plane`: each plane has windows of its own, one table after another.
    """
    cdef int kernel_type = kernel_dtype(x.dtype_)
    cdef TensorBase computed = plain_as(x, kernel_type), out = plain_result(values)
    cdef Planes p
    describe(&p, computed, windows, counts, per_plane)
    p.slices.step, p.rows.step, p.columns.step = (1,) * (3 - len(steps)) + steps
    p.x, p.out, p.indices = memory_of(computed), memory_of(out), <int64_t*>memory_of(indices)
    run_planes(&p, loop_of(kernel_type))
    return put_back(values, out)


cdef tuple maxima_results(TensorBase x, tuple counts):
    """For the numbers and their places."""
    return result_of_sizes(x.dtype_, x, counts), result_of_sizes(INT64, x, counts)


def to_places(grad, indices, x_shape, axes):
    """The gradient of numbers that were taken from these places of each plane."""
    flat = (*x_shape[:-axes], x_shape[-axes:].numel())
    return run_4(GATHER_BACKWARD, grad.flatten(-axes), -1, indices.flatten(-axes), flat).view(x_shape)


# ---------------------------------------------------------------- max_pool1d, max_pool2d, max_pool3d
cdef Op MAX_POOL2D = Op("max_pool2d(Tensor x, int[] kernel_size, int[] stride=[], "
                        "int[] padding=0, int[] dilation=1, "
                        "bool ceil_mode=False) -> (Tensor values, Tensor indices)",
                        aten="max_pool2d_with_indices", node="MaxPool2DWithIndicesBackward0",
                        public={"indices": "result1"}, differentiable=1, zero_curvature=True)
cdef Op MAX_POOL3D = Op("max_pool3d(Tensor x, int[] kernel_size, int[] stride=[], "
                        "int[] padding=0, int[] dilation=1, "
                        "bool ceil_mode=False) -> (Tensor values, Tensor indices)",
                        aten="max_pool3d_with_indices", node="MaxPool3DWithIndicesBackward0",
                        public={"indices": "result1"}, differentiable=1, zero_curvature=True)

cdef tuple max_windows(TensorBase x, object kernel_size, object stride, object padding, object dilation, object ceil_mode):
    """The windows of an input that is checked here, in the name of the function for as many axes."""
    cdef tuple kernels = ints_of(kernel_size), windows
    cdef int axes = <int>len(kernels)
    cdef str where = f"max_pool{axes}d"
    check_axes(x, axes, where)
    check_dtype(where, x, INTEGRAL | FLOATING)
    windows = windows_of(axis_sizes(x, axes), kernels, ints_beside(kernels, stride), ints_beside(kernels, padding),
                         ints_beside(kernels, dilation), ceil_mode, False, where)
    check_filled(x, axes, where)
    return windows

@MAX_POOL3D.infer
@MAX_POOL2D.infer
def max_pool_infer(TensorBase x, kernel_size, stride, padding, dilation, ceil_mode):
    return maxima_results(x, lengths_of(max_windows(x, kernel_size, stride, padding, dilation, ceil_mode)))

@MAX_POOL3D.kernel
@MAX_POOL2D.kernel
def max_pool_kernel(TensorBase values, TensorBase indices, TensorBase x, kernel_size, stride, padding, dilation, ceil_mode):
    windows = max_windows(x, kernel_size, stride, padding, dilation, ceil_mode)
    max_of_windows(values, indices, x, windows, lengths_of(windows), ints_beside(kernel_size, dilation), False)

@MAX_POOL2D.derivative("x")
@MAX_POOL3D.derivative("x")
def max_pool_derivative(grad, x_shape, indices, kernel_size, padding, dilation):
    return to_where_maxima_were(grad, x_shape, indices, kernel_size, padding, dilation)

def to_where_maxima_were(grad, x_shape, indices, kernel_size, padding, dilation):
    """Each window's gradient goes to the place that its number came from; that of a window of padding goes nowhere."""
    axes = len(kernel_size)
    # only a wide step can miss the image
    if max(ints_beside(kernel_size, padding)) > 0 and max(ints_beside(kernel_size, dilation)) > 1:
        size = x_shape[-axes:].numel()
        grad = grad.masked_fill(indices >= size, 0)
        indices = indices.clamp(max=size - 1)
    return to_places(grad, indices, x_shape, axes)

# What programs that PyTorch has traced call.
cdef Op MAX_POOL2D_BACKWARD = Op("max_pool2d_with_indices_backward(Tensor grad, Tensor x, int[] kernel_size, int[] stride, "
                                 "int[] padding, int[] dilation, bool ceil_mode, Tensor indices) -> Tensor",
                                 aten="max_pool2d_with_indices_backward", public={"grad": "grad_output"}, checks_values=True)

@MAX_POOL2D_BACKWARD.compose
def max_pool2d_backward_of(TensorBase grad, TensorBase x, kernel_size, stride, padding, dilation, ceil_mode,
                           TensorBase indices):
    kernels, paddings, steps = [ints_for_axes(one, 2, "max_pool2d_with_indices_backward", name)
                                for one, name in ((kernel_size, "kernel_size"), (padding, "padding"), (dilation, "dilation"))]
    return to_where_maxima_were(alias(grad), x.shape, alias(indices), kernels, paddings, steps)

@MAX_POOL2D_BACKWARD.derivative("grad")
def max_pool2d_backward_derivative_grad(grad, indices):
    """What was put at these places comes from there."""
    places = indices.clamp(max=grad.size(-1) * grad.size(-2) - 1).flatten(-2)
    return grad.flatten(-2).gather(-1, places).view(indices.shape).masked_fill(indices >= grad.size(-1) * grad.size(-2), 0)

@MAX_POOL2D_BACKWARD.derivative("x")
def max_pool2d_backward_derivative_x(grad, x_shape):
    return grad.new_zeros(x_shape)

cdef tuple max_pool(Op op, int axes, TensorBase x, object kernel_size, object stride, object padding, object dilation,
                    bint ceil_mode):
    """The largest numbers and their places."""
    cdef str where = f"max_pool{axes}d"
    cdef tuple kernels = ints_for_axes(kernel_size, axes, where, "kernel_size")
    cdef tuple strides = strides_or_kernels(stride, kernels, where)
    cdef tuple paddings = ints_for_axes(padding, axes, where, "padding")
    cdef tuple steps = ints_for_axes(dilation, axes, where, "dilation")
    if axes > 1:
        return run_tuple(op, (x, kernels, strides, paddings, steps, ceil_mode))
    max_windows(x, kernels, strides, paddings, steps, ceil_mode)     # checks, in the name of max_pool1d
    found = run_tuple(op, (x.unsqueeze(-2), (1, *kernels), (1, *strides), (0, *paddings), (1, *steps), ceil_mode))
    return found[0].squeeze(-2), found[1].squeeze(-2)

def max_pool1d(TensorBase input not None, kernel_size, stride=None, padding=0, dilation=1, bint ceil_mode=False,
               bint return_indices=False):
    """The largest number of each window of a signal, (batch, channels, length) or without batch; see `max_pool2d`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.max_pool1d(tensorlab.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)
    tensor([[[3., 7.]]])
    """
    found = max_pool(MAX_POOL2D, 1, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]

def max_pool2d(TensorBase input not None, kernel_size, stride=None, padding=0, dilation=1, bint ceil_mode=False,
               bint return_indices=False):
    """The largest number of each window of an image.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch, of any type but bool
    kernel_size : int or pair of int, the window
    stride : int or pair of int, from one window to the next; the kernel size unless given
    padding : int or pair of int, places around the image that hold less than any number
    dilation : int or pair of int, from one element of a window to the next
    ceil_mode : bool; a last window that is not full counts too
    return_indices : bool; also return where in its plane, row-major, each number was

    Returns
    -------
    Tensor, shape (batch, channels, out_height, out_width); and int64 indices of that shape

    Raises
    ------
    ShapeError
        If a window is larger than the image, or the padding more than half of it.

    Notes
    -----
    A dilated window can hold nothing but padding: its number is the lowest of its type, its index lies behind the plane,
    and its gradient goes nowhere.

    >>> import tensorlab
    >>> tensorlab.nn.functional.max_pool2d(tensorlab.arange(16.).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    found = max_pool(MAX_POOL2D, 2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]

def max_pool3d(TensorBase input not None, kernel_size, stride=None, padding=0, dilation=1, bint ceil_mode=False,
               bint return_indices=False):
    """The largest number of each window of a volume, (batch, channels, depth, height, width) or without batch.

    The other parameters are those of `max_pool2d`, an int or three of them. An index counts the elements of a volume.

    >>> import tensorlab
    >>> tensorlab.nn.functional.max_pool3d(tensorlab.arange(8.).view(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    found = max_pool(MAX_POOL3D, 3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]

def max_pool1d_with_indices(TensorBase input not None, kernel_size, stride=None, padding=0, dilation=1, bint ceil_mode=False,
                            bint return_indices=False):
    """`max_pool1d` with its indices, whatever `return_indices` is.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.max_pool1d_with_indices(tensorlab.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)
    (tensor([[[3., 7.]]]), tensor([[[1, 3]]]))
    """
    return max_pool(MAX_POOL2D, 1, input, kernel_size, stride, padding, dilation, ceil_mode)

def max_pool2d_with_indices(TensorBase input not None, kernel_size, stride=None, padding=0, dilation=1, bint ceil_mode=False,
                            bint return_indices=False):
    """`max_pool2d` with its indices, whatever `return_indices` is.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> values, indices = F.max_pool2d_with_indices(tensorlab.rand(1, 1, 4, 4), 2)
    >>> indices.shape
    tensorlab.Size([1, 1, 2, 2])
    """
    return max_pool(MAX_POOL2D, 2, input, kernel_size, stride, padding, dilation, ceil_mode)

def max_pool3d_with_indices(TensorBase input not None, kernel_size, stride=None, padding=0, dilation=1, bint ceil_mode=False,
                            bint return_indices=False):
    """`max_pool3d` with its indices, whatever `return_indices` is.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> values, indices = F.max_pool3d_with_indices(tensorlab.rand(1, 1, 4, 4, 4), 2)
    >>> indices.shape
    tensorlab.Size([1, 1, 2, 2, 2])
    """
    return max_pool(MAX_POOL3D, 3, input, kernel_size, stride, padding, dilation, ceil_mode)
