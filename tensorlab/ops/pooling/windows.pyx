"""Windows: for each place along an axis the first element, the one after the last, and how many a mean divides by.

Strided, padded, adaptive and fractional pooling are the same loops over other tables of windows, and a signal is an image
one row high, which is a volume one slice deep. The backward pass makes the windows again from the arguments of the call:
they are the op's own, so no hook of saved tensors should see them, and making them costs nothing beside the loops.
"""

from libc.stdint cimport INT32_MAX, int64_t

from tensorlab._core.dtypes cimport INT64
from tensorlab._core.layout cimport plain_ints, shape_text, ssize
from tensorlab._core.loops.parallel cimport grain_of, parallel_for
from tensorlab._core.tensor cimport TensorBase, empty_tensor, memory_of, result_beside

from tensorlab.errors import ShapeError

cdef enum:
    LARGEST_WINDOW = 0x7fffffff     # so that a product of two sizes fits in 64 bits
    GRAIN = 16384               # elements that make a thread worth starting
    LEAST_EVEN = 3              # from so many windows on it pays to take them side by side

cdef tuple NAMES = ("length", "height, width", "depth, height, width")


# ---------------------------------------------------------------- tables
cdef tuple windows_of(tuple sizes, tuple kernels, tuple strides, tuple paddings, tuple dilations, bint ceil_mode,
                      bint counts_padding, str where):
    """The tables of each axis of planes of these sizes."""
    if not len(sizes) == len(kernels) == len(strides) == len(paddings) == len(dilations):
        raise ShapeError(f"{where}: kernel_size {kernels}, stride {strides}, padding {paddings} and dilation {dilations} must "
                         f"have one number for each of {len(sizes)} axes")
    return tuple([axis_windows(size, kernel, stride, padding, dilation, ceil_mode, counts_padding, where)
                  for size, kernel, stride, padding, dilation in zip(sizes, kernels, strides, paddings, dilations)])


cdef TensorBase axis_windows(ssize size, ssize kernel, ssize stride, ssize padding, ssize dilation, bint ceil_mode,
                             bint counts_padding, str where):
    """The table of windows along one axis. With a dilation, a window can step over all of a small axis: it holds nothing."""
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
        raise ShapeError(f"{where}: the kernel reaches over {reach} elements, more than the {size} of the input with padding "
                         f"{padding}")
    table = int_table(n)
    entry = <int64_t*>memory_of(table)
    for i in range(n):
        start = i * stride - padding
        entry[FIRST] = start if start >= 0 else start + (-start + dilation - 1) // dilation * dilation
        entry[BEHIND] = min(start + reach, size)
        entry[COUNT] = min(start + reach, size + padding) - start if counts_padding else entry[BEHIND] - entry[FIRST]
        entry += 3
    return table


cdef tuple splitting_windows(tuple sizes, tuple output_size):
    """The tables of windows for each axis, where `output_size` windows split it."""
    return tuple([axis_split(size, n) for size, n in zip(sizes, output_size)])


cdef TensorBase axis_split(ssize size, ssize n):
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


cdef tuple lengths_of(tuple windows):
    """How many windows there are along each axis."""
    return tuple([(<TensorBase>table).sizes[0] for table in windows])


# ---------------------------------------------------------------- arguments
cdef tuple ints_of(object given):
    """The ints of an op's argument, one for each axis."""
    cdef tuple ints = plain_ints(tuple(given))
    if not 1 <= len(ints) <= MAX_AXES:
        raise ShapeError(f"pooling: {ints} must have one to three numbers, one for each axis")
    return ints


cdef tuple ints_beside(object kernel_size, object given):
    """The ints of an op's argument beside the kernel: one for each axis, or one for all. None at all are the kernel's."""
    cdef tuple ints = plain_ints(tuple(given)) if isinstance(given, (tuple, list)) else (given,) * len(kernel_size)
    if len(ints) == 0:
        return ints_of(kernel_size)
    if len(ints) != len(kernel_size):
        raise ShapeError(f"pooling: {ints} must have {len(kernel_size)} numbers, one for each axis")
    return ints


cdef tuple ints_for_axes(object given, int axes, str where, str name):
    """One int for all axes, or one for each."""
    cdef object read = plain_ints(given)
    cdef tuple ints = read if isinstance(read, tuple) else (read,)
    if not all([isinstance(one, int) for one in ints]):
        raise TypeError(f"{where}: {name} must be an int or {axes} of them, not {given!r}")
    if len(ints) == 1:
        return ints * axes
    if len(ints) != axes:
        raise ShapeError(f"{where}: {name} must be an int or {axes} of them, not {given!r}")
    return ints


cdef tuple strides_or_kernels(object stride, tuple kernels, str where):
    """The strides as they were given; windows that touch otherwise."""
    if stride is None or isinstance(stride, (tuple, list)) and len(stride) == 0:
        return kernels
    return ints_for_axes(stride, <int>len(kernels), where, "stride")


cdef int check_axes(TensorBase x, int axes, str where) except -1:
    if x.ndim_ != axes + 1 and x.ndim_ != axes + 2:
        raise ShapeError(f"{where}: the input has shape {shape_text(x.ndim_, x.sizes)}; expected (batch, channels, "
                         f"{NAMES[axes - 1]}), or without batch")
    return 0


cdef int check_filled(TensorBase x, int axes, str where) except -1:
    """Only a batch may be empty."""
    cdef int i
    for i in range(x.ndim_ - axes - 1, x.ndim_):
        if x.sizes[i] == 0:
            raise ShapeError(f"{where}: the input has shape {shape_text(x.ndim_, x.sizes)}; only the batch may be empty")
    return 0


# ---------------------------------------------------------------- planes
cdef tuple axis_sizes(TensorBase x, int axes):
    """The sizes of the last axes."""
    return tuple([x.sizes[i] for i in range(x.ndim_ - axes, x.ndim_)])


cdef TensorBase result_of_sizes(int dtype, TensorBase like, tuple sizes):
    """A result with the planes of `like` and these sizes of the last axes."""
    cdef ssize[MAX_AXES + 2] all_sizes
    cdef int i, before = like.ndim_ - <int>len(sizes)
    for i in range(like.ndim_):
        all_sizes[i] = like.sizes[i] if i < before else sizes[i - before]
    return result_beside(like, dtype, like.ndim_, all_sizes)


cdef TensorBase ONE = splitting_windows((1,), (1,))[0]      # the only window along an axis that is not there


cdef int describe(Planes* p, TensorBase x, tuple windows, tuple counts, bint per_plane) except -1:
    """Planes of x's sizes, and windows, `counts` along each axis, which the caller keeps alive."""
    cdef int axes = <int>len(windows), i
    cdef tuple missing = (1,) * (MAX_AXES - axes)
    cdef tuple tables = (ONE,) * (MAX_AXES - axes) + windows, sizes = missing + axis_sizes(x, axes)
    counts = missing + counts
    describe_axis(&p.slices, tables[0], sizes[0], counts[0], per_plane and axes > 2)
    describe_axis(&p.rows, tables[1], sizes[1], counts[1], per_plane and axes > 1)
    describe_axis(&p.columns, tables[2], sizes[2], counts[2], per_plane)
    p.size = p.slices.size * p.rows.size * p.columns.size
    p.out_size = p.slices.out_size * p.rows.out_size * p.columns.out_size
    p.planes = 1
    for i in range(x.ndim_ - axes):
        p.planes *= x.sizes[i]
    p.divisor = 0
    return 0


cdef int describe_axis(Axis* axis, TensorBase table, ssize size, ssize count, bint per_plane) except -1:
    axis.size, axis.out_size, axis.step = size, count, 1
    axis.windows, axis.next_plane = <const int64_t*>memory_of(table), 3 * count if per_plane else 0
    return 0


cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Planes* p = <Planes*>context
    (<planes_loop>p.loop)(p, begin, end, p.x)


cdef void run_planes(Planes* p, void* loop) noexcept:
    """All planes, split over threads."""
    p.loop = loop
    with nogil:
        parallel_for(run_share, p, p.planes, grain_of(GRAIN, p.size))


# ---------------------------------------------------------------- windows side by side
cdef void find_even(const Planes* p, ssize plane, EvenWindows* even) noexcept nogil:
    """The windows of a plane that can be taken side by side. There may be none."""
    find_even_along(&p.rows, plane, &even.first_row, &even.last_row)
    find_even_along(&p.columns, plane, &even.first, &even.last)
    if p.size > INT32_MAX:
        even.last = even.first
    even.rows = max(1, WINDOW_BLOCK // max(1, even.last - even.first))


cdef void find_even_along(const Axis* axis, ssize plane, ssize* first, ssize* last) noexcept nogil:
    """Windows along an axis that are alike, and at one distance: those between the borders."""
    cdef const int64_t* windows = axis.windows + plane * axis.next_plane
    cdef ssize n = axis.out_size, stride, j = 0
    while j + 1 < n and window_length(windows, j + 1) > window_length(windows, j):
        j += 1
    first[0] = last[0] = j
    if n - j < LEAST_EVEN or window_length(windows, j) <= 0:
        return
    stride = windows[3 * (j + 1) + FIRST] - windows[3 * j + FIRST]
    while j < n and windows[3 * j + FIRST] == windows[3 * first[0] + FIRST] + (j - first[0]) * stride and (
            window_length(windows, j) == window_length(windows, first[0])) and (
            windows[3 * j + COUNT] == windows[3 * first[0] + COUNT]):
        j += 1
    last[0] = j


cdef inline ssize window_length(const int64_t* windows, ssize j) noexcept nogil:
    return windows[3 * j + BEHIND] - windows[3 * j + FIRST]


cdef ssize rows_together(const EvenWindows* even, ssize i) noexcept nogil:
    """How many rows of windows, from number i on, are taken together."""
    return min(even.rows, even.last_row - i) if even.first_row <= i < even.last_row else 1
