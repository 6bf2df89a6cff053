"""Largest and smallest elements, and where they are.

nan counts as larger and as smaller than every number, so that it is never lost: the maximum and the minimum of a row
with a nan are nan, and the index is that of the first nan. Among equal elements the first one is chosen.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t, uint8_t

from tensorlab._core.dispatch.dispatch cimport run_1, run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dispatch.out_argument cimport CASTS, NO_DERIVATIVE, NO_OVERLAP, store_outs
from tensorlab._core.dtypes cimport (
    BOOL, BOOLEAN, FLOAT32, FLOAT64, INT16, INT32, INT64, INT8, MAX_ITEMSIZE, NUM_DTYPES,
    ORDERED, UINT64, UINT8, dtype_object, is_in, kernel_dtype
)
from tensorlab._core.graph.graph cimport dim_of, ndim_of
from tensorlab._core.layout cimport plain_ints, shape_text, ssize, wrap_dim
from tensorlab._core.loops.iterator cimport plain_as
from tensorlab._core.loops.parallel cimport NOGIL_WORK
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.tensor cimport TensorBase, empty_beside, give_memory, memory_of
from tensorlab.ops.dim_iterator cimport STRIP, DimIterator, add_operand, dim_apply, dim_loop, start_iterator, strip_loop
from tensorlab.ops.reduction_iterator cimport Reducer, read_dims, reduced_result, run_reduction
from tensorlab.ops.reductions cimport keep_dims, set_reducer, share_among
from tensorlab.ops.sorting cimport sortable

from tensorlab import return_types
from tensorlab.errors import DimensionError, DTypeError, ShapeError
from tensorlab.ops.reductions import one_chosen_derivative

cdef enum:
    LANES = 64
    FEW = 8
    BLOCK = 64                  # elements that are searched at a time
    ROWS = 8
    NOWHERE = 2147483647
    STRETCH = 4096              # of a line whose index is wanted: it stays in the L1 cache until it is searched

cdef extern from *:
    float INFINITY


# ---------------------------------------------------------------- loops
cdef inline sortable select(sortable best, sortable x, bint is_min) noexcept nogil:
    """The better of two; nan stays once it is there. Two plain selects: so the loops around it are vectorised."""
    if is_min:
        best = x if x < best else best
    else:
        best = x if x > best else best
    return x if x != x else best

cdef inline sortable better(sortable x, sortable y, bint is_min) noexcept nogil:
    """The better of two numbers, neither of which is nan."""
    if is_min:
        return x if x < y else y
    return x if x > y else y

cdef inline sortable extreme_of_lanes(sortable* x, int width, bint is_min) noexcept nogil:
    """The extreme of FEW or LANES elements. One look for nan at all of them, instead of one at each."""
    cdef int k, nans = 0
    if sortable is float or sortable is double:
        for k in range(width):
            nans += x[k] != x[k]
        if nans:
            k = 0
            while x[k] == x[k]:
                k += 1
            return x[k]
    if width == LANES:
        for k in range(16):                             # sizes that the compiler knows
            x[k] = better(better(x[k], x[k + 16], is_min), better(x[k + 32], x[k + 48], is_min), is_min)
        for k in range(FEW):
            x[k] = better(x[k], x[k + FEW], is_min)
    return better(better(better(x[0], x[1], is_min), better(x[2], x[3], is_min), is_min),
                  better(better(x[4], x[5], is_min), better(x[6], x[7], is_min), is_min), is_min)

cdef inline void fill_lanes(sortable* lane, sortable* x, ssize n, int width, bint is_min) noexcept nogil:
    """In each lane the extreme of every `width`-th element.

    The last block overlaps the one before it, which changes no extreme: no element is left to be taken singly.
    """
    cdef ssize i = width
    cdef int k
    for k in range(width):
        lane[k] = x[k]
    while i < n:
        i = i if i < n - width else n - width
        for k in range(width):
            lane[k] = select(lane[k], x[i + k], is_min)
        i += width

cdef inline sortable extreme_of_row(sortable* x, ssize n, bint is_min) noexcept nogil:
    cdef sortable[64] lane                                # LANES
    cdef sortable best = x[0]
    cdef ssize i
    if n < FEW:
        for i in range(1, n):
            best = select(best, x[i], is_min)
        return best
    if n < LANES:
        fill_lanes(lane, x, n, FEW, is_min)
        return extreme_of_lanes(lane, FEW, is_min)
    fill_lanes(lane, x, n, LANES, is_min)
    return extreme_of_lanes(lane, LANES, is_min)

cdef void max_rows(sortable* totals, sortable* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef ssize i
    for i in range(m):
        totals[i] = select(totals[i], extreme_of_row(x + i * row_stride, n, False), False)

cdef void min_rows(sortable* totals, sortable* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef ssize i
    for i in range(m):
        totals[i] = select(totals[i], extreme_of_row(x + i * row_stride, n, True), True)

cdef void max_columns(sortable* totals, sortable* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] = select(totals[j], x[i * row_stride + j], False)

cdef void min_columns(sortable* totals, sortable* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] = select(totals[j], x[i * row_stride + j], True)

cdef Reducer[NUM_DTYPES] max_reducers, min_reducers


# ---------------------------------------------------------------- what amax, amin, max and min share
cdef int refuse_empty(TensorBase x, unsigned int mask, bint has_dim, str where) except -1:
    """An extreme of nothing is an error."""
    cdef int i
    if x.numel_ > 0:
        return 0
    if not has_dim:
        raise ShapeError(f"{where}: a tensor without elements has no extreme; give dim, a dimension that is not empty")
    for i in range(x.ndim_):
        if mask >> i & 1 and x.sizes[i] == 0:
            raise DimensionError(f"{where}: dimension {i} of shape {shape_text(x.ndim_, x.sizes)} is empty; "
                                 f"reduce dimensions that have elements")
    return 0

cdef TensorBase extreme_result(str where, TensorBase x, object dim, bint keepdim):
    cdef unsigned int mask = read_dims(dim, ndim_of(x), where)       # dim holds plain ints
    check_dtype(where, x, ORDERED | 1 << UINT64)
    refuse_empty(x, mask, not (dim is None or dim == ()), where)
    return reduced_result(x.dtype_, x, mask, keepdim)

cdef int largest_into(TensorBase out, TensorBase x, unsigned int mask) except -1:
    """The largest elements over the dimensions in `mask`, none of which is empty, into a row-major tensor."""
    return run_reduction(&max_reducers[kernel_dtype(x.dtype_)], out, x, mask, None, NULL, 0)

cdef int smallest_into(TensorBase out, TensorBase x, unsigned int mask) except -1:
    """The smallest elements, likewise."""
    return run_reduction(&min_reducers[kernel_dtype(x.dtype_)], out, x, mask, None, NULL, 0)

# ---------------------------------------------------------------- amax
cdef Op AMAX = Op("amax(Tensor x, int[] dim=[], bool keepdim=False) -> Tensor")

@AMAX.infer
def amax_infer(TensorBase x, dim, bint keepdim):
    return extreme_result("amax", x, dim, keepdim)

@AMAX.kernel
def amax_kernel(TensorBase out, TensorBase x, dim, keepdim):
    largest_into(out, x, read_dims(dim, x.ndim_, "amax"))

@AMAX.derivative("x")
def amax_derivative(grad, x, out, dim, keepdim):        # equal shares for all elements that are equal to the extreme
    grad = keep_dims(grad, x.shape, dim, keepdim)
    mask = keep_dims(out, x.shape, dim, keepdim) == x
    return (grad * mask) / mask.sum(dim, True)

def amax(TensorBase input not None, dim=(), bint keepdim=False, *, out=None):
    """Largest element, of all or along dimensions. Its gradient is shared equally by all elements that are the largest.

    Parameters
    ----------
    input : Tensor
    dim : int or tuple of int; () means all dimensions
    keepdim : bool, keep the reduced dimensions with size 1
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor, row-major; nan where there is a nan

    Raises
    ------
    DimensionError
        If a dimension is out of range, or empty.

    >>> import tensorlab
    >>> tensorlab.tensor([[1., 5.], [7., 2.]]).amax(0)
    tensor([7., 5.])
    """
    return run_3(AMAX, input, plain_ints(dim), keepdim, out)


# ---------------------------------------------------------------- amin
cdef Op AMIN = Op("amin(Tensor x, int[] dim=[], bool keepdim=False) -> Tensor")

@AMIN.infer
def amin_infer(TensorBase x, dim, bint keepdim):
    return extreme_result("amin", x, dim, keepdim)

@AMIN.kernel
def amin_kernel(TensorBase out, TensorBase x, dim, keepdim):
    smallest_into(out, x, read_dims(dim, x.ndim_, "amin"))

AMIN.derivative("x")(amax_derivative)

def amin(TensorBase input not None, dim=(), bint keepdim=False, *, out=None):
    """Smallest element, of all or along dimensions; see `amax`.

    >>> import tensorlab
    >>> tensorlab.tensor([[1., 5.], [7., 2.]]).amin(1)
    tensor([1., 2.])
    """
    return run_3(AMIN, input, plain_ints(dim), keepdim, out)


# ---------------------------------------------------------------- aminmax
def aminmax(TensorBase input not None, *, dim=None, bint keepdim=False, out=None):
    """Smallest and largest element, of all or along one dimension, as (min, max); `out` is a pair of tensors.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6).view(2, 3)
    >>> tensorlab.aminmax(x)
    tensorlab.return_types.aminmax(
    min=tensor(0),
    max=tensor(5))
    """
    dim = plain_ints(dim)
    if input.numel_ == 0 and (dim is None or input.sizes[dim_of(dim, input, "aminmax")] == 0):
        error = ShapeError if dim is None else DimensionError
        raise error("aminmax: a tensor without elements has no extremes; reduce a dimension that has elements")
    dims = () if dim is None else dim
    results = amin(input, dims, keepdim), amax(input, dims, keepdim)
    if out is not None:
        results = store_outs("aminmax", results, out, (input,), 0 if dim is None else NO_OVERLAP)
    return return_types.aminmax(results)


# ---------------------------------------------------------------- index of an extreme: loops
cdef inline int first_in_block(sortable* x, sortable value, int size) noexcept nogil:
    """Where `value` stands first (for nan: the first nan); `size` if nowhere. Without a branch, so that it is vectorised."""
    cdef int k, at, found = size
    if value == value:
        for k in range(size):
            at = k if x[k] == value else size
            found = at if at < found else found
    else:
        for k in range(size):
            at = k if x[k] != x[k] else size
            found = at if at < found else found
    return found

cdef inline ssize first_equal(sortable* x, ssize n, sortable value) noexcept nogil:
    """Where a value that is there stands first. The last block overlaps the one before it, in which it was not found."""
    cdef ssize i = 0
    cdef int found
    if n < FEW:
        return first_in_block(x, value, <int>n)
    while n >= BLOCK:
        i = i if i < n - BLOCK else n - BLOCK
        found = first_in_block(x + i, value, BLOCK)
        if found < BLOCK:
            return i + found
        i += BLOCK
    while True:
        i = i if i < n - FEW else n - FEW
        found = first_in_block(x + i, value, FEW)
        if found < FEW or i + FEW >= n:
            return i + found
        i += FEW

cdef inline void extreme_loop(void** data, ssize n, bint is_min, sortable* as_this) noexcept nogil:
    """The best of each stretch, and where it stands in the stretch that has the best of all: the others are read once."""
    cdef sortable* x = <sortable*>data[0]
    cdef sortable best = x[0], candidate
    cdef ssize start = 0, at = 0
    while start < n:
        candidate = extreme_of_row(x + start, STRETCH if n - start > STRETCH else n - start, is_min)
        if candidate != candidate or (candidate < best if is_min else candidate > best):
            best = candidate
            at = start
            if candidate != candidate:                  # the first nan
                break
        start += STRETCH
    at += first_equal(x + at, n - at, best)
    (<sortable*>data[1])[0] = x[at]
    (<int64_t*>data[2])[0] = at

cdef void max_loop(void** data, ssize n, sortable* as_this) noexcept nogil:
    extreme_loop(data, n, False, as_this)

cdef void min_loop(void** data, ssize n, sortable* as_this) noexcept nogil:
    extreme_loop(data, n, True, as_this)

cdef inline void extreme_of_strip(void** data, ssize stride, ssize n, ssize width, sortable* values,
                                  bint is_min) noexcept nogil:
    """Slices that run across memory, side by side; ROWS rows of them at a time, so that what was found is read and
    written seldom. Plain selects only, so that they are vectorised: numbers and the first nan are looked for apart.

    Where fewer rows are left the last one is taken again, which changes nothing.
    """
    cdef ssize[ROWS] starts
    cdef int32_t[STRIP] at
    cdef int32_t[STRIP] nan_from
    cdef sortable[STRIP] best
    cdef sortable* x = <sortable*>data[0]
    cdef sortable value, so_far, nan
    cdef int64_t* indices = <int64_t*>data[2]
    cdef int32_t i = 0, j, k, found, columns = <int32_t>width
    for j in range(columns):
        best[j] = x[j]
        at[j] = 0
        nan_from[j] = NOWHERE
    while i < n:
        for k in range(ROWS):
            starts[k] = (i + k if i + k < n else n - 1) * stride
        for j in range(columns):
            so_far = best[j]
            found = at[j]
            nan = 0
            for k in range(ROWS):
                value = x[starts[k] + j]
                if is_min:
                    found = i + k if value < so_far else found
                    so_far = value if value < so_far else so_far
                else:
                    found = i + k if value > so_far else found
                    so_far = value if value > so_far else so_far
                if sortable is float or sortable is double:
                    nan = value if value != value else nan
            best[j] = so_far
            at[j] = found
            if sortable is float or sortable is double:
                found = i if nan != nan else NOWHERE
                nan_from[j] = found if found < nan_from[j] else nan_from[j]
        i += ROWS
    for j in range(columns):
        if nan_from[j] < NOWHERE:
            at[j] = nan_from[j]
            while at[j] < n - 1 and x[at[j] * stride + j] == x[at[j] * stride + j]:    # another thread may write to x
                at[j] += 1
            best[j] = x[at[j] * stride + j]
        values[j] = best[j]
        indices[j] = at[j]

cdef void max_strip(void** data, ssize* strides, ssize n, ssize width, sortable* as_this) noexcept nogil:
    extreme_of_strip(data, strides[0], n, width, <sortable*>data[1], False)

cdef void min_strip(void** data, ssize* strides, ssize n, ssize width, sortable* as_this) noexcept nogil:
    extreme_of_strip(data, strides[0], n, width, <sortable*>data[1], True)

cdef dim_loop[NUM_DTYPES] max_loops, min_loops
cdef strip_loop[NUM_DTYPES] max_strips, min_strips

cdef void set_loops(int dtype, sortable lowest, sortable highest) noexcept:
    """Reducers start from the value that every other one beats."""
    set_reducer(&max_reducers[dtype], dtype, &max_rows[sortable], &max_columns[sortable], &lowest)
    set_reducer(&min_reducers[dtype], dtype, &min_rows[sortable], &min_columns[sortable], &highest)
    max_loops[dtype] = <dim_loop>max_loop[sortable]
    min_loops[dtype] = <dim_loop>min_loop[sortable]
    max_strips[dtype] = <strip_loop>max_strip[sortable]
    min_strips[dtype] = <strip_loop>min_strip[sortable]

set_loops[uint8_t](BOOL, 0, 1)
set_loops[uint8_t](UINT8, 0, 255)
set_loops[int8_t](INT8, -128, 127)
set_loops[int16_t](INT16, -32768, 32767)
set_loops[int32_t](INT32, -2147483648, 2147483647)
set_loops[int64_t](INT64, -9223372036854775807 - 1, 9223372036854775807)
set_loops[uint64_t](UINT64, 0, <uint64_t>-1)
set_loops[float](FLOAT32, -INFINITY, INFINITY)
set_loops[double](FLOAT64, -INFINITY, INFINITY)


cdef tuple chosen_results(str where, TensorBase x, object dim, bint keepdim):
    """Of (values, indices) along a dimension."""
    cdef unsigned int mask = <unsigned int>1 << dim_of(dim, x, where)
    check_dtype(where, x, ORDERED | 1 << UINT64)
    refuse_empty(x, mask, True, where)
    return reduced_result(x.dtype_, x, mask, keepdim), reduced_result(INT64, x, mask, keepdim)

cdef int choose(TensorBase values, TensorBase indices, TensorBase x, int dim, bint keepdim, bint is_min) except -1:
    """Find the extremes along a dimension, and where they are."""
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef DimIterator iter
    start_iterator(&iter, x, dim)
    if x.ndim_ > 0 and x.sizes[dim] < 2147483647:       # strips count in int32
        iter.strip = min_strips[kernel] if is_min else max_strips[kernel]
    add_operand(&iter, x, dim, kernel, False)
    add_operand(&iter, values, dim if keepdim else -1, kernel, True)
    add_operand(&iter, indices, dim if keepdim else -1, INT64, True)
    return dim_apply(&iter, min_loops[kernel] if is_min else max_loops[kernel], NULL, 32768)

# ---------------------------------------------------------------- max
cdef Op MAX = Op("max(Tensor x) -> Tensor", node="MaxBackward1")
cdef Op MAX_DIM = Op("max_dim(Tensor x, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
                     aten="max.dim", node="MaxBackward0")

@MAX.infer
def max_infer(TensorBase x):
    return extreme_result("max", x, None, False)

@MAX.kernel
def max_kernel(TensorBase out, TensorBase x):
    largest_into(out, x, read_dims(None, x.ndim_, "max"))

@MAX_DIM.infer
def max_dim_infer(TensorBase x, dim, bint keepdim):
    return chosen_results("max", x, dim, keepdim)

@MAX_DIM.kernel
def max_dim_kernel(TensorBase values, TensorBase indices, TensorBase x, dim, bint keepdim):
    choose(values, indices, x, dim_of(dim, x, "max"), keepdim, False)

@MAX.derivative("x")
def max_derivative(grad, x, out):
    return share_among((x == out) | (x != x), grad)     # where the maximum is nan, the nans share it

MAX_DIM.derivative("x")(one_chosen_derivative)

cdef object max_or_min(str where, TensorBase x, object dim, bint keepdim, object out, bint is_min):
    """The three forms of max and min."""
    if dim is None:
        return run_1(MIN if is_min else MAX, x, out, CASTS)
    results = run_3(MIN_DIM if is_min else MAX_DIM, x, dim_of(dim, x, where), keepdim, out, NO_OVERLAP)
    return (return_types.min if is_min else return_types.max)(results)

def max(TensorBase input not None, dim=None, bint keepdim=False, *, other=None, out=None):
    """Largest element of all; or along a dimension, with its index; or the larger of two tensors, elementwise.

    Parameters
    ----------
    input : Tensor
    dim : int, or a second tensor (then this is `maximum`)
    keepdim : bool, keep the reduced dimension with size 1
    other : Tensor, the second tensor by name
    out : Tensor, or with `dim` a pair of tensors; the results are written there

    Returns
    -------
    Tensor, or with `dim` the named pair (values, indices). Among equal elements the first is chosen, and nan before
    all numbers. The gradient goes to the chosen element; without `dim` it is shared equally by all elements that are the
    largest.

    Raises
    ------
    ShapeError
        If there is no element and no `dim`.
    DimensionError
        If the dimension is out of range, or empty.

    >>> import tensorlab
    >>> values, indices = tensorlab.tensor([[1., 5.], [7., 2.]]).max(1)
    >>> indices
    tensor([1, 0])
    """
    if isinstance(dim, TensorBase) or other is not None:
        return input.maximum(dim if other is None else other, out=out)
    return max_or_min("max", input, dim, keepdim, out, False)


# ---------------------------------------------------------------- min
cdef Op MIN = Op("min(Tensor x) -> Tensor", node="MinBackward1")
cdef Op MIN_DIM = Op("min_dim(Tensor x, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
                     aten="min.dim", node="MinBackward0")

@MIN.infer
def min_infer(TensorBase x):
    return extreme_result("min", x, None, False)

@MIN.kernel
def min_kernel(TensorBase out, TensorBase x):
    smallest_into(out, x, read_dims(None, x.ndim_, "min"))

@MIN_DIM.infer
def min_dim_infer(TensorBase x, dim, bint keepdim):
    return chosen_results("min", x, dim, keepdim)

@MIN_DIM.kernel
def min_dim_kernel(TensorBase values, TensorBase indices, TensorBase x, dim, bint keepdim):
    choose(values, indices, x, dim_of(dim, x, "min"), keepdim, True)

MIN.derivative("x")(max_derivative)

MIN_DIM.derivative("x")(one_chosen_derivative)

def min(TensorBase input not None, dim=None, bint keepdim=False, *, other=None, out=None):
    """Smallest element of all; or along a dimension, with its index; or the smaller of two tensors. See `max`.

    >>> import tensorlab
    >>> tensorlab.tensor([[1., 5.], [7., 2.]]).min()
    tensor(1.)
    """
    if isinstance(dim, TensorBase) or other is not None:
        return input.minimum(dim if other is None else other, out=out)
    return max_or_min("min", input, dim, keepdim, out, True)


# ---------------------------------------------------------------- argmax, argmin
cdef Op ARGMAX = Op("argmax(Tensor x, int? dim=None, bool keepdim=False) -> Tensor")
cdef Op ARGMIN = Op("argmin(Tensor x, int? dim=None, bool keepdim=False) -> Tensor")

cdef TensorBase index_result(TensorBase x, object dim, bint keepdim, str where):
    cdef unsigned int mask = read_dims(None, x.ndim_, where)
    if not is_in(x.dtype_, (ORDERED | 1 << UINT64) & ~BOOLEAN):
        raise DTypeError(f"{where}: not defined for {dtype_object(x.dtype_).name}; convert with .int() first")
    if dim is not None:
        mask = <unsigned int>1 << wrap_dim(dim, x.ndim_, where)
        refuse_empty(x, mask, True, where)
    elif x.numel_ == 0:
        raise DimensionError(f"{where}: a tensor without elements has no extreme; give dim, a dimension that is "
                             "not empty")
    return reduced_result(INT64, x, mask, keepdim)

@ARGMAX.infer
def argmax_infer(TensorBase x, dim, bint keepdim):
    return index_result(x, dim, keepdim, "argmax")

@ARGMAX.kernel
def argmax_kernel(TensorBase out, TensorBase x, dim, bint keepdim):
    index_of_extreme(out, x, dim, keepdim, False)

@ARGMIN.infer
def argmin_infer(TensorBase x, dim, bint keepdim):
    return index_result(x, dim, keepdim, "argmin")

@ARGMIN.kernel
def argmin_kernel(TensorBase out, TensorBase x, dim, bint keepdim):
    index_of_extreme(out, x, dim, keepdim, True)

cdef int index_of_extreme(TensorBase out, TensorBase x, object dim, bint keepdim, bint is_min) except -1:
    cdef TensorBase row
    cdef void* data[3]
    cdef char[MAX_ITEMSIZE] value                       # only its place is wanted
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef dim_loop loop = min_loops[kernel] if is_min else max_loops[kernel]
    if dim is not None:
        return choose(empty_beside(x, x.dtype_, out.ndim_, out.sizes), out, x, wrap_dim(dim, x.ndim_), keepdim, is_min)
    row = plain_as(x, kernel)
    data[0], data[1], data[2] = memory_of(row), value, memory_of(out)
    if row.numel_ < NOGIL_WORK:
        loop(data, row.numel_, NULL)
    else:
        with nogil:
            loop(data, row.numel_, NULL)
    return 0

cdef TensorBase arg_extreme(Op op, str where, TensorBase x, object dim, bint keepdim, object out, bint is_min):
    """Over all elements without the call of an op, unless a layer is to see it: a third of the time of 100 elements."""
    cdef TensorBase index
    if dim is not None or out is not None or active_layers or x.storage_.device != ON_CPU:
        return run_3(op, x, plain_ints(dim), keepdim, out, NO_DERIVATIVE)
    index = index_result(x, None, keepdim, where)
    give_memory(index)
    index_of_extreme(index, x, None, keepdim, is_min)
    return index

def argmax(TensorBase input not None, dim=None, bint keepdim=False, *, out=None):
    """Index of the largest element, in the flattened tensor or along a dimension; the first among equal ones.

    Parameters
    ----------
    input : Tensor, not bool
    dim : int or None; None means the flattened tensor
    keepdim : bool, keep the reduced dimensions with size 1
    out : Tensor of int64, optional; the result is written there

    Returns
    -------
    Tensor of int64

    >>> import tensorlab
    >>> tensorlab.tensor([[1., 5.], [7., 2.]]).argmax()
    tensor(2)
    """
    return arg_extreme(ARGMAX, "argmax", input, dim, keepdim, out, False)

def argmin(TensorBase input not None, dim=None, bint keepdim=False, *, out=None):
    """Index of the smallest element, in the flattened tensor or along a dimension; see `argmax`.

    >>> import tensorlab
    >>> tensorlab.tensor([[1., 5.], [7., 2.]]).argmin(0)
    tensor([0, 1])
    """
    return arg_extreme(ARGMIN, "argmin", input, dim, keepdim, out, True)
