"""Pooling: the largest or the mean number of each window of an image.

A window is what its rows and its columns are: for each place along an axis the first element, the one after the last, and
how many the mean divides by. So strided, padded and adaptive pooling are the same loops over other windows, and pooling of
signals is that of images one row high. The backward pass makes the windows again from the arguments of the call: they are
the op's own, so no hook of saved tensors should see them, and making them costs nothing beside the loops.
"""

from libc.stdint cimport int64_t

from tensorlab._core.dispatch cimport run_2, run_3, run_tuple
from tensorlab._core.dtypes cimport FLOAT64, INT64, dtype_object, is_floating, kernel_dtype, real
from tensorlab._core.iterator cimport copy_into
from tensorlab._core.layout cimport int_argument, plain_ints, shape_text, ssize
from tensorlab._core.op cimport Op
from tensorlab._core.parallel cimport grain_of, parallel_for
from tensorlab._core.tensor cimport TensorBase, empty_beside, empty_tensor, memory_of

from tensorlab.errors import ShapeError, UnsupportedDType

cdef enum:
    LARGEST_WINDOW = 0x7fffffff     # so that a product of two sizes fits in 64 bits
    GRAIN = 16384               # elements that make a thread worth starting
    FIRST = 0                   # columns of the table of windows
    BEHIND = 1
    COUNT = 2

cdef struct Planes:             # images, one after another
    ssize planes
    ssize height
    ssize width
    ssize out_height
    ssize out_width
    const int64_t* rows         # (out_height, 3) and (out_width, 3): the windows
    const int64_t* columns
    ssize row_stride            # from one element of a window to the next
    ssize column_stride
    double divisor              # of every mean, or 0 for the number of elements
    void* x
    void* out
    int64_t* indices


# ---------------------------------------------------------------- windows
cdef tuple windows_of(tuple sizes, tuple kernels, tuple strides, tuple paddings, tuple dilations, bint ceil_mode,
                      bint counts_padding, str where):
    """The tables of the rows' and of the columns' windows of an image of these sizes, height and width."""
    return (axis_windows(sizes[0], kernels[0], strides[0], paddings[0], dilations[0], ceil_mode, counts_padding, where),
            axis_windows(sizes[1], kernels[1], strides[1], paddings[1], dilations[1], ceil_mode, counts_padding, where))


cdef TensorBase axis_windows(ssize size, ssize kernel, ssize stride, ssize padding, ssize dilation, bint ceil_mode,
                             bint counts_padding, str where):
    """The table of windows along one axis."""
    cdef ssize reach = dilation * (kernel - 1) + 1, i, start, n
    cdef ssize room = size + 2 * padding - reach
    cdef TensorBase table
    cdef int64_t* entry
    if max(kernel, stride, dilation) > LARGEST_WINDOW:
        raise ShapeError(f"{where}: kernel_size {kernel}, stride {stride} and dilation {dilation} must be below "
                         f"2**31")
    if kernel < 1 or stride < 1 or dilation < 1:
        raise ShapeError(f"{where}: kernel_size {kernel}, stride {stride} and dilation {dilation} must be at least 1")
    if padding < 0 or padding > kernel // 2:
        raise ShapeError(f"{where}: padding {padding} must be from 0 to half of kernel_size {kernel}, so that no window is only "
                         f"padding")
    if ceil_mode:
        room += stride - 1
    n = room // stride + 1 if room >= 0 else 0
    if ceil_mode and (n - 1) * stride >= size + padding:    # a window that begins behind the image is left out
        n -= 1
    if n < 1 or size == 0:
        raise ShapeError(f"{where}: the kernel reaches over {reach} elements, more than the {size} of the image with padding "
                         f"{padding}")
    table = int_table(n)
    entry = <int64_t*>memory_of(table)
    for i in range(n):
        start = i * stride - padding
        entry[FIRST] = start if start >= 0 else start + (-start + dilation - 1) // dilation * dilation
        entry[BEHIND] = min(start + reach, size)
        if entry[FIRST] >= entry[BEHIND]:           # with a dilation the kernel can step over all of a small image
            raise ShapeError(f"{where}: window {i} of kernel_size {kernel} and dilation {dilation} holds only padding; use less "
                             f"padding or dilation")
        entry[COUNT] = min(start + reach, size + padding) - start if counts_padding else entry[BEHIND] - entry[FIRST]
        entry += 3
    return table


cdef tuple adaptive_windows_of(tuple sizes, tuple output_size):
    """The same tables for windows that split both axes."""
    return adaptive_windows(sizes[0], output_size[0]), adaptive_windows(sizes[1], output_size[1])


cdef TensorBase adaptive_windows(ssize size, ssize n):
    """Windows that split the axis into n parts as even as can be, overlapping where n does not divide its size."""
    cdef TensorBase table = int_table(n)
    cdef int64_t* entry = <int64_t*>memory_of(table)
    cdef ssize i
    for i in range(n):
        entry[FIRST] = i * size // n
        entry[BEHIND] = ((i + 1) * size + n - 1) // n
        entry[COUNT] = entry[BEHIND] - entry[FIRST]
        entry += 3
    return table


cdef TensorBase int_table(ssize n):
    cdef ssize[2] sizes
    sizes[0], sizes[1] = n, 3
    return empty_tensor(INT64, 2, sizes)


# ---------------------------------------------------------------- loops
cdef void max_of_planes(Planes* p, ssize begin, ssize end, real* x) noexcept nogil:
    """The largest number of each window and its place in the plane; the first of several, or the last nan."""
    cdef real* out = <real*>p.out
    cdef real* plane
    cdef real best, value
    cdef ssize k, i, j, row, column, place, at
    for k in range(begin, end):
        plane = x + k * p.height * p.width
        at = k * p.out_height * p.out_width
        for i in range(p.out_height):
            for j in range(p.out_width):
                place = p.rows[3 * i] * p.width + p.columns[3 * j]
                best = plane[place]
                row = p.rows[3 * i]
                while row < p.rows[3 * i + BEHIND]:
                    column = p.columns[3 * j]
                    while column < p.columns[3 * j + BEHIND]:
                        value = plane[row * p.width + column]
                        if value > best or value != value:
                            best = value
                            place = row * p.width + column
                        column += p.column_stride
                    row += p.row_stride
                out[at] = best
                p.indices[at] = place
                at += 1


cdef void mean_of_planes(Planes* p, ssize begin, ssize end, real* x) noexcept nogil:
    cdef real* out = <real*>p.out
    cdef real* plane
    cdef real total
    cdef ssize k, i, j, row, column, at
    for k in range(begin, end):
        plane = x + k * p.height * p.width
        at = k * p.out_height * p.out_width
        for i in range(p.out_height):
            for j in range(p.out_width):
                total = 0
                for row in range(p.rows[3 * i], p.rows[3 * i + BEHIND]):
                    for column in range(p.columns[3 * j], p.columns[3 * j + BEHIND]):
                        total += plane[row * p.width + column]
                out[at] = total / divisor_of(p, i, j, total)
                at += 1


cdef void spread_over_planes(Planes* p, ssize begin, ssize end, real* x) noexcept nogil:
    """The gradient of the mean: each window's elements get their share. Here `out` is what `x` was the mean of."""
    cdef real* out
    cdef real share
    cdef ssize k, i, j, row, column, at
    for k in range(begin, end):
        out = <real*>p.out + k * p.height * p.width
        at = k * p.out_height * p.out_width
        for i in range(p.height * p.width):
            out[i] = 0
        for i in range(p.out_height):
            for j in range(p.out_width):
                share = x[at] / divisor_of(p, i, j, x[at])
                for row in range(p.rows[3 * i], p.rows[3 * i + BEHIND]):
                    for column in range(p.columns[3 * j], p.columns[3 * j + BEHIND]):
                        out[row * p.width + column] += share
                at += 1


cdef inline real divisor_of(Planes* p, ssize i, ssize j, real as_this) noexcept nogil:
    return <real>p.divisor if p.divisor != 0 else <real>(p.rows[3 * i + COUNT] * p.columns[3 * j + COUNT])


ctypedef void (*planes_loop)(Planes* p, ssize begin, ssize end, void* x) noexcept nogil

cdef struct Job:
    Planes* planes
    planes_loop loop


cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Job* job = <Job*>context
    job.loop(job.planes, begin, end, job.planes.x)


cdef void run_planes(Planes* p, void* of_float, void* of_double, bint is_double) noexcept:
    """All planes, split over threads."""
    cdef Job job
    job.planes, job.loop = p, <planes_loop>of_double if is_double else <planes_loop>of_float
    with nogil:
        parallel_for(run_share, &job, p.planes, grain_of(GRAIN, p.height * p.width))


# ---------------------------------------------------------------- arguments
cdef TensorBase plain(TensorBase x, int dtype):
    """x, or a copy of it, row-major and of this type."""
    cdef TensorBase copied
    if x.is_contiguous_ and x.dtype_ == dtype:
        return x
    copied = empty_beside(x, dtype, x.ndim_, x.sizes)
    copy_into(copied, x)
    return copied


cdef TensorBase tensor_of_shape(int dtype, TensorBase like, ssize height, ssize width):
    cdef ssize[4] sizes
    cdef int i
    for i in range(like.ndim_ - 2):
        sizes[i] = like.sizes[i]
    sizes[like.ndim_ - 2], sizes[like.ndim_ - 1] = height, width
    return empty_beside(like, dtype, like.ndim_, sizes)


cdef tuple image_size(TensorBase x):
    """Height and width."""
    return x.sizes[x.ndim_ - 2], x.sizes[x.ndim_ - 1]


cdef int describe(Planes* p, TensorBase x, tuple windows) except -1:
    """Images of x's size and these windows, which the caller keeps alive."""
    cdef TensorBase rows = windows[0], columns = windows[1]
    p.height, p.width = x.sizes[x.ndim_ - 2], x.sizes[x.ndim_ - 1]
    p.planes = x.sizes[0] * (x.sizes[1] if x.ndim_ == 4 else 1)
    p.out_height, p.out_width = rows.sizes[0], columns.sizes[0]
    p.rows, p.columns = <const int64_t*>memory_of(rows), <const int64_t*>memory_of(columns)
    p.row_stride = p.column_stride = 1
    p.divisor = 0


cdef tuple pair(object given):
    """The two ints of an op's argument."""
    if isinstance(given, tuple) and len(<tuple>given) == 2:
        return <tuple>given
    first, second = given
    return first, second


cdef tuple read_pair(object given, str where, str name):
    """One int for both axes, or one for each."""
    cdef tuple pair = (given,) * 2 if isinstance(given, int) else tuple(given)
    if len(pair) == 1:
        pair = pair * 2
    if len(pair) != 2 or not all([isinstance(one, int) for one in pair]):
        raise TypeError(f"{where}: {name} must be an int or a pair of ints, not {given!r}")
    return plain_ints(pair)


cdef int check_images(TensorBase x, str where) except -1:
    if x.ndim_ != 3 and x.ndim_ != 4:
        raise ShapeError(f"{where}: the input has shape {shape_text(x.ndim_, x.sizes)}; expected (batch, channels, height, "
                         f"width), or without batch")
    if not is_floating(x.dtype_):
        raise UnsupportedDType(f"{where}: not implemented for {dtype_object(x.dtype_)}; convert with .float()")
    return 0


# ---------------------------------------------------------------- max_pool2d
cdef Op MAX_POOL = Op("max_pool2d(Tensor x, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> "
                      "(Tensor values, Tensor indices)", node="MaxPool2DWithIndicesBackward0",
                      public={"indices": "result1"}, differentiable=1)

cdef tuple max_pool_result(TensorBase x, object kernel_size, object stride, object padding, object dilation, object ceil_mode):
    """New tensors for the values and the indices."""
    cdef tuple windows = max_windows(x, kernel_size, stride, padding, dilation, ceil_mode)
    cdef TensorBase rows = windows[0], columns = windows[1]
    return (tensor_of_shape(x.dtype_, x, rows.sizes[0], columns.sizes[0]),
            tensor_of_shape(INT64, x, rows.sizes[0], columns.sizes[0]))

cdef tuple max_windows(TensorBase x, object kernel_size, object stride, object padding, object dilation, object ceil_mode):
    check_images(x, "max_pool2d")
    return windows_of(image_size(x), pair(kernel_size), pair(stride), pair(padding), pair(dilation), ceil_mode, False,
                      "max_pool2d")

cdef tuple max_pool_kernel(TensorBase x, object kernel_size, object stride, object padding, object dilation, object ceil_mode):
    cdef tuple windows = max_windows(x, kernel_size, stride, padding, dilation, ceil_mode), steps = pair(dilation)
    cdef int kernel_type = kernel_dtype(x.dtype_)
    cdef TensorBase computed = plain(x, kernel_type), out, indices
    cdef Planes p
    describe(&p, computed, windows)
    p.row_stride, p.column_stride = steps[0], steps[1]
    out = tensor_of_shape(kernel_type, x, p.out_height, p.out_width)
    indices = tensor_of_shape(INT64, x, p.out_height, p.out_width)
    p.x, p.out, p.indices = memory_of(computed), memory_of(out), <int64_t*>memory_of(indices)
    run_planes(&p, <void*>max_of_planes[float], <void*>max_of_planes[double], kernel_type == FLOAT64)
    return plain(out, x.dtype_), indices

MAX_POOL.kernel = <void*>max_pool_kernel
MAX_POOL.shape_rule = <void*>max_pool_result

@MAX_POOL.derivative("x")
def max_pool_derivative(grad, x_shape, indices):
    """Each window's gradient goes to the place that its number came from."""
    *planes, height, width = x_shape
    return grad.new_zeros((*planes, height * width)).scatter_add(-1, indices.flatten(-2), grad.flatten(-2)).view(x_shape)

def max_pool2d(TensorBase input not None, kernel_size, stride=None, padding=0, dilation=1, bint ceil_mode=False,
               bint return_indices=False):
    """The largest number of each window of an image.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch, floating
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

    >>> import tensorlab
    >>> tensorlab.nn.functional.max_pool2d(tensorlab.arange(16.).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    cdef tuple kernels = read_pair(kernel_size, "max_pool2d", "kernel_size"), strides, paddings, steps
    strides = kernels if stride is None or stride == [] else read_pair(stride, "max_pool2d", "stride")
    paddings, steps = read_pair(padding, "max_pool2d", "padding"), read_pair(dilation, "max_pool2d", "dilation")
    found = run_tuple(MAX_POOL, (input, kernels, strides, paddings, steps, ceil_mode))
    return found if return_indices else found[0]


# ---------------------------------------------------------------- avg_pool2d, adaptive_avg_pool2d
cdef Op AVG_POOL = Op("avg_pool2d(Tensor x, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, "
                      "bool count_include_pad, int? divisor_override) -> Tensor")
cdef Op AVG_POOL_BACKWARD = Op("avg_pool2d_backward(Tensor grad, int[] sizes, int[] kernel_size, int[] stride, "
                               "int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor")

cdef tuple mean_windows(TensorBase x, tuple sizes, object kernel_size, object stride, object padding, object ceil_mode,
                        object count_include_pad, object divisor_override, str where):
    check_images(x, where)
    if divisor_override == 0:
        raise ShapeError(f"{where}: divisor_override is 0; give a number to divide by, or leave it out")
    return windows_of(sizes, pair(kernel_size), pair(stride), pair(padding), (1, 1), ceil_mode, count_include_pad, where)

cdef TensorBase avg_pool_result(TensorBase x, object kernel_size, object stride, object padding, object ceil_mode,
                                object count_include_pad, object divisor_override):
    return new_means(x, x.dtype_, mean_windows(x, image_size(x), kernel_size, stride, padding, ceil_mode, count_include_pad,
                                               divisor_override, "avg_pool2d"))

cdef TensorBase avg_pool_kernel(TensorBase x, object kernel_size, object stride, object padding, object ceil_mode,
                                object count_include_pad, object divisor_override):
    return mean_of_windows(x, mean_windows(x, image_size(x), kernel_size, stride, padding, ceil_mode, count_include_pad,
                                           divisor_override, "avg_pool2d"), divisor_override or 0)

cdef TensorBase avg_pool_backward_result(TensorBase grad, object sizes, object kernel_size, object stride, object padding,
                                         object ceil_mode, object count_include_pad, object divisor_override):
    windows = mean_windows(grad, pair(sizes), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
                           "avg_pool2d_backward")
    return new_image(grad, grad.dtype_, windows, pair(sizes), "avg_pool2d_backward")

cdef TensorBase avg_pool_backward_kernel(TensorBase grad, object sizes, object kernel_size, object stride, object padding,
                                         object ceil_mode, object count_include_pad, object divisor_override):
    """The gradient of a mean over windows by its input, an image of these sizes, height and width."""
    windows = mean_windows(grad, pair(sizes), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
                           "avg_pool2d_backward")
    return spread_over_windows(grad, windows, divisor_override or 0, pair(sizes), "avg_pool2d_backward")

AVG_POOL.kernel, AVG_POOL.shape_rule = <void*>avg_pool_kernel, <void*>avg_pool_result
AVG_POOL_BACKWARD.kernel, AVG_POOL_BACKWARD.shape_rule = <void*>avg_pool_backward_kernel, <void*>avg_pool_backward_result

@AVG_POOL.derivative("x")
def avg_pool_derivative(grad, x_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    *_, height, width = x_shape
    return run_tuple(AVG_POOL_BACKWARD, (grad, (height, width), kernel_size, stride, padding, ceil_mode, count_include_pad,
                                         divisor_override))

@AVG_POOL_BACKWARD.derivative("grad")
def avg_pool_backward_derivative(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    return run_tuple(AVG_POOL, (grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override))

cdef Op ADAPTIVE_AVG_POOL = Op("adaptive_avg_pool2d(Tensor x, int[] output_size) -> Tensor")
cdef Op ADAPTIVE_AVG_POOL_BACKWARD = Op("adaptive_avg_pool2d_backward(Tensor grad, int[] sizes, int[] output_size) -> "
                                        "Tensor")

cdef tuple splitting_windows(TensorBase x, tuple sizes, object output_size, str where):
    cdef ssize height = sizes[0], width = sizes[1], rows, columns
    check_images(x, where)
    rows, columns = output_size
    if rows < 0 or columns < 0 or height <= 0 or width <= 0:
        raise ShapeError(f"{where}: output_size {(rows, columns)} for images of {height} by {width}; expected two numbers from 0 "
                         f"up, and images that are not empty")
    return adaptive_windows_of((height, width), (rows, columns))

cdef TensorBase adaptive_avg_pool_result(TensorBase x, object output_size):
    return new_means(x, x.dtype_, splitting_windows(x, image_size(x), output_size, "adaptive_avg_pool2d"))

cdef TensorBase adaptive_avg_pool_kernel(TensorBase x, object output_size):
    return mean_of_windows(x, splitting_windows(x, image_size(x), output_size, "adaptive_avg_pool2d"), 0)

cdef TensorBase adaptive_avg_pool_backward_result(TensorBase grad, object sizes, object output_size):
    windows = splitting_windows(grad, pair(sizes), output_size, "adaptive_avg_pool2d_backward")
    return new_image(grad, grad.dtype_, windows, pair(sizes), "adaptive_avg_pool2d_backward")

cdef TensorBase adaptive_avg_pool_backward_kernel(TensorBase grad, object sizes, object output_size):
    """The gradient of a mean over windows that split an image of these sizes, height and width."""
    windows = splitting_windows(grad, pair(sizes), output_size, "adaptive_avg_pool2d_backward")
    return spread_over_windows(grad, windows, 0, pair(sizes), "adaptive_avg_pool2d_backward")

ADAPTIVE_AVG_POOL.kernel = <void*>adaptive_avg_pool_kernel
ADAPTIVE_AVG_POOL.shape_rule = <void*>adaptive_avg_pool_result
ADAPTIVE_AVG_POOL_BACKWARD.kernel = <void*>adaptive_avg_pool_backward_kernel
ADAPTIVE_AVG_POOL_BACKWARD.shape_rule = <void*>adaptive_avg_pool_backward_result

@ADAPTIVE_AVG_POOL.derivative("x")
def adaptive_avg_pool_derivative(grad, x_shape, output_size):
    *_, height, width = x_shape
    return run_3(ADAPTIVE_AVG_POOL_BACKWARD, grad, (height, width), output_size)

@ADAPTIVE_AVG_POOL_BACKWARD.derivative("grad")
def adaptive_avg_pool_backward_derivative(grad, output_size):
    return run_2(ADAPTIVE_AVG_POOL, grad, output_size)

cdef TensorBase new_means(TensorBase x, int dtype, tuple windows):
    cdef TensorBase rows = windows[0], columns = windows[1]
    return tensor_of_shape(dtype, x, rows.sizes[0], columns.sizes[0])

cdef TensorBase new_image(TensorBase grad, int dtype, tuple windows, tuple sizes, str where):
    """Of these sizes, height and width, where the windows belong to the gradient."""
    cdef TensorBase rows = windows[0], columns = windows[1]
    if grad.sizes[grad.ndim_ - 2] != rows.sizes[0] or grad.sizes[grad.ndim_ - 1] != columns.sizes[0]:
        raise ShapeError(f"{where}: the gradient has shape {shape_text(grad.ndim_, grad.sizes)}, but there are {rows.sizes[0]} "
                         f"by {columns.sizes[0]} windows")
    return tensor_of_shape(dtype, grad, sizes[0], sizes[1])

cdef TensorBase mean_of_windows(TensorBase x, tuple windows, double divisor):
    cdef int kernel_type = kernel_dtype(x.dtype_)
    cdef TensorBase computed = plain(x, kernel_type), out
    cdef Planes p
    describe(&p, computed, windows)
    out = new_means(x, kernel_type, windows)
    p.x, p.out, p.divisor = memory_of(computed), memory_of(out), divisor
    run_planes(&p, <void*>mean_of_planes[float], <void*>mean_of_planes[double], kernel_type == FLOAT64)
    return plain(out, x.dtype_)

cdef TensorBase spread_over_windows(TensorBase grad, tuple windows, double divisor, tuple sizes, str where):
    cdef int kernel_type = kernel_dtype(grad.dtype_)
    cdef TensorBase computed = plain(grad, kernel_type), out = new_image(grad, kernel_type, windows, sizes, where)
    cdef Planes p
    describe(&p, out, windows)
    p.x, p.out, p.divisor = memory_of(computed), memory_of(out), divisor
    run_planes(&p, <void*>spread_over_planes[float], <void*>spread_over_planes[double], kernel_type == FLOAT64)
    return plain(out, grad.dtype_)

def avg_pool2d(TensorBase input not None, kernel_size, stride=None, padding=0, bint ceil_mode=False,
               bint count_include_pad=True, divisor_override=None):
    """The mean of each window of an image.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch, floating
    kernel_size : int or pair of int, the window
    stride : int or pair of int, from one window to the next; the kernel size unless given
    padding : int or pair of int, zeros around the image
    ceil_mode : bool; a last window that is not full counts too
    count_include_pad : bool; the mean counts the zeros of the padding
    divisor_override : int, divides the sum instead of the number of elements

    Returns
    -------
    Tensor, shape (batch, channels, out_height, out_width)

    Raises
    ------
    ShapeError
        If a window is larger than the image, or the padding more than half of it.

    >>> import tensorlab
    >>> tensorlab.nn.functional.avg_pool2d(tensorlab.arange(16.).view(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    cdef tuple kernels = read_pair(kernel_size, "avg_pool2d", "kernel_size"), strides, paddings
    strides = kernels if stride is None or stride == [] else read_pair(stride, "avg_pool2d", "stride")
    paddings = read_pair(padding, "avg_pool2d", "padding")
    if divisor_override is not None:
        divisor_override = int_argument(divisor_override, "avg_pool2d", "divisor_override")
    return run_tuple(AVG_POOL, (input, kernels, strides, paddings, ceil_mode, count_include_pad, divisor_override))

def adaptive_avg_pool2d(TensorBase input not None, output_size):
    """The mean of each of as many windows as are asked for, as even as can be.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch, floating
    output_size : int or pair of int or None; None keeps the size of that axis

    Returns
    -------
    Tensor, shape (batch, channels, *output_size)

    >>> import tensorlab
    >>> tensorlab.nn.functional.adaptive_avg_pool2d(tensorlab.arange(16.).view(1, 4, 4), 1)
    tensor([[[7.5000]]])
    """
    cdef tuple sizes = plain_ints(output_size if isinstance(output_size, (tuple, list)) else (output_size,) * 2)
    check_images(input, "adaptive_avg_pool2d")
    if len(sizes) != 2:
        raise ShapeError(f"adaptive_avg_pool2d: output_size {output_size!r} must be an int, or two of them")
    sizes = tuple([size if wanted is None else wanted for size, wanted in zip(image_size(input), sizes)])
    return run_2(ADAPTIVE_AVG_POOL, input, sizes)


# ---------------------------------------------------------------- signals: images one row high
cdef object one_row(TensorBase x, str where):
    if x.ndim_ != 2 and x.ndim_ != 3:
        raise ShapeError(f"{where}: the input has shape {shape_text(x.ndim_, x.sizes)}; expected (batch, channels, length), or "
                         f"without batch")
    return x.unsqueeze(-2)

cdef object single(object given):
    return given[0] if isinstance(given, (tuple, list)) and len(given) == 1 else given

def max_pool1d(TensorBase input not None, kernel_size, stride=None, padding=0, dilation=1, bint ceil_mode=False,
               bint return_indices=False):
    """The largest number of each window of a signal, (batch, channels, length) or without batch; see `max_pool2d`."""
    stride = kernel_size if stride is None else stride
    found = max_pool2d(one_row(input, "max_pool1d"), (1, single(kernel_size)), (1, single(stride)), (0, single(padding)),
                       (1, single(dilation)), ceil_mode, return_indices)
    return (found[0].squeeze(-2), found[1].squeeze(-2)) if return_indices else found.squeeze(-2)

def avg_pool1d(TensorBase input not None, kernel_size, stride=None, padding=0, bint ceil_mode=False,
               bint count_include_pad=True):
    """The mean of each window of a signal, (batch, channels, length) or without batch; see `avg_pool2d`."""
    stride = kernel_size if stride is None else stride
    return avg_pool2d(one_row(input, "avg_pool1d"), (1, single(kernel_size)), (1, single(stride)), (0, single(padding)),
                      ceil_mode, count_include_pad).squeeze(-2)

def adaptive_avg_pool1d(TensorBase input not None, output_size):
    """The mean of each of `output_size` windows of a signal; see `adaptive_avg_pool2d`."""
    return adaptive_avg_pool2d(one_row(input, "adaptive_avg_pool1d"), (1, single(output_size))).squeeze(-2)
