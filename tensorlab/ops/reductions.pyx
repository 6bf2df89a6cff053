"""Sums, and what is made of them: mean, count_nonzero and the sums that pass over nan."""
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from tensorlab._core.dispatch.dispatch cimport run_2, run_4
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype
from tensorlab._core.dispatch.out_argument cimport CASTS, dtype_or_that_of, store_out
from tensorlab._core.dtypes cimport (
    BOOL, COMPLEX, FLOAT32, FLOAT64, INEXACT, INT64, NUM_DTYPES, ORDERED, UINT64, dtype_code,
    dtype_object, is_double, is_in, item_size, kernel_dtype, real, real_dtype, sum_dtype
)
from tensorlab._core.graph.graph cimport bump_version, ndim_of
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, read_sizes, shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_as, copy_into
from tensorlab._core.tensor cimport TensorBase, parts_of
from tensorlab.ops.reduction_iterator cimport (
    MAX_TOTALS, Reducer, finalize_loop, fold_loop, read_dims, reduced_count,
    reduced_result, run_reduction
)
from tensorlab.ops.inner_loops cimport fold_to_few, pairwise_sum, total

from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType

cdef enum:
    LANES = 64
    FEW_LANES = 16
    FEW = 16                    # shorter rows are summed side by side,
    GROUP = 8                   # this many at a time
    SHORT = 512                 # elements up to which a row is summed in PyTorch's order,
    REGISTER = 8                # floats in a register; it takes half as many doubles
    SMALL = 64                  # and columns up to which a few rows are
    MOST_PAIRS = 4096           # rows of two columns that are summed at once


cdef void set_reducer(Reducer* reducer, int dtype, void* rows, void* columns, const void* start, void* merge=NULL) noexcept:
    """Totals of the elements' type, each from `start` on; those of several threads are folded as columns, or by `merge`."""
    reducer.dtype = reducer.total_dtype = dtype
    reducer.rows = <fold_loop>rows
    reducer.columns = <fold_loop>columns
    reducer.merge = <fold_loop>(columns if merge == NULL else merge)
    memcpy(reducer.start, start, item_size[dtype])


# ---------------------------------------------------------------- sum: loops
# Short sums add in the order in which PyTorch adds with AVX2 (four doubles to a register), so that what cancels there to
# exactly 0, or to a last bit, does so here: a comparison with 0 would make a visible difference of it.

cdef inline total sum_scalars(total* x, ssize n) noexcept nogil:
    """Four running sums; what is left over goes to the first."""
    cdef total a = 0, b = 0, c = 0, d = 0
    cdef ssize i = 0
    while i + 4 <= n:
        a += x[i]
        b += x[i + 1]
        c += x[i + 2]
        d += x[i + 3]
        i += 4
    while i < n:
        a += x[i]
        i += 1
    return ((a + b) + c) + d

cdef inline total sum_registers(total* x, ssize n) noexcept nogil:
    """Four running sums of registers; then what fills no register, and the parts of the register."""
    cdef total[4 * REGISTER] lane
    cdef total result = 0
    cdef ssize i = 0
    cdef int k, width = 4 if total is double else REGISTER
    for k in range(4 * width):
        lane[k] = 0
    while i + 4 * width <= n:
        for k in range(4 * width):
            lane[k] += x[i + k]
        i += 4 * width
    while i + width <= n:
        for k in range(width):
            lane[k] += x[i + k]
        i += width
    for k in range(width):
        lane[k] = ((lane[k] + lane[k + width]) + lane[k + 2 * width]) + lane[k + 3 * width]
    while i < n:
        result += x[i]
        i += 1
    for k in range(width):
        result += lane[k]
    return result

cdef void sum_rows(total* totals, total* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef total[GROUP] a, b, c, d
    cdef ssize i = 0, j
    cdef int k, few = 4 if total is double else 8
    if n >= SHORT:
        for i in range(m):
            totals[i] += pairwise_sum(x + i * row_stride, n)
        return
    if n >= few:
        for i in range(m):
            totals[i] += sum_registers(x + i * row_stride, n)
        return
    while i + GROUP <= m:               # GROUP rows side by side, each addition waiting for no other
        for k in range(GROUP):
            a[k] = b[k] = c[k] = d[k] = 0
        j = 0
        while j + 4 <= n:
            for k in range(GROUP):
                a[k] += x[(i + k) * row_stride + j]
                b[k] += x[(i + k) * row_stride + j + 1]
                c[k] += x[(i + k) * row_stride + j + 2]
                d[k] += x[(i + k) * row_stride + j + 3]
            j += 4
        while j < n:
            for k in range(GROUP):
                a[k] += x[(i + k) * row_stride + j]
            j += 1
        for k in range(GROUP):
            totals[i + k] += ((a[k] + b[k]) + c[k]) + d[k]
        i += GROUP
    while i < m:
        totals[i] += sum_scalars(x + i * row_stride, n)
        i += 1

cdef inline total sum_column(total* x, ssize m, ssize row_stride) noexcept nogil:
    """sum_scalars, down a column."""
    cdef total[4] lane
    cdef ssize i = 0
    cdef int k
    for k in range(4):
        lane[k] = 0
    while i + 4 <= m:
        for k in range(4):
            lane[k] += x[(i + k) * row_stride]
        i += 4
    while i < m:
        lane[0] += x[i * row_stride]
        i += 1
    return ((lane[0] + lane[1]) + lane[2]) + lane[3]

cdef void sum_few_columns(total* totals, total* x, ssize m, ssize row_stride, ssize n) noexcept nogil:
    """Whole groups of columns are summed row by row, the others one by one."""
    cdef total[SMALL] lane
    cdef int width = 4 if total is double else REGISTER
    cdef ssize i, j, whole = n // (4 * width) * (4 * width) if n >= width else n // 4 * 4
    for j in range(whole):
        lane[j] = 0
    for i in range(m):
        for j in range(whole):
            lane[j] += x[i * row_stride + j]
    for j in range(whole):
        totals[j] += lane[j]
    for j in range(whole, n):
        totals[j] += sum_column(x + j, m, row_stride)

cdef void sum_pairs(total* totals, total* x, ssize m) noexcept nogil:
    """Two columns side by side, as of complex numbers: even lanes belong to one, odd ones to the other."""
    cdef total[LANES] lane
    cdef total[FEW_LANES] few
    cdef ssize i = 0, count = 2 * m
    cdef int k
    for k in range(LANES):
        lane[k] = 0
    while i + LANES <= count:
        for k in range(LANES):
            lane[k] += x[i + k]
        i += LANES
    fold_to_few(few, lane)
    while i < count:
        few[i % 2] += x[i]
        i += 1
    for k in range(8):
        few[k] += few[k + 8]
    for k in range(4):
        few[k] += few[k + 4]
    totals[0] += few[0] + few[2]
    totals[1] += few[1] + few[3]

cdef void sum_columns(total* totals, total* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    """Four rows at a time, so that the totals are read and written a quarter as often."""
    cdef ssize i = 0, j
    cdef total* row
    if n == 2 and row_stride == 2 and LANES <= m <= MOST_PAIRS:
        sum_pairs(totals, x, m)
        return
    if m >= 512:
        sum_column_halves(totals, x, m, row_stride, n)
        return
    if m < FEW and n <= SMALL:
        sum_few_columns(totals, x, m, row_stride, n)
        return
    while i + 4 <= m:
        row = x + i * row_stride
        for j in range(n):
            totals[j] += (row[j] + row[j + row_stride]) + (row[j + 2 * row_stride] + row[j + 3 * row_stride])
        i += 4
    while i < m:
        row = x + i * row_stride
        for j in range(n):
            totals[j] += row[j]
        i += 1

cdef void sum_column_halves(total* totals, total* x, ssize m, ssize row_stride,
                            ssize n) noexcept nogil:
    """Halves of long columns are summed separately, for accuracy."""
    cdef total[MAX_TOTALS] strip
    cdef ssize half = m // 2, j
    for j in range(n):
        strip[j] = 0
    sum_columns(totals, x, half, row_stride, n, NULL)
    sum_columns(strip, x + half * row_stride, m - half, row_stride, n, NULL)
    for j in range(n):
        totals[j] += strip[j]

cdef Reducer[NUM_DTYPES] sum_reducers           # by the type that is summed in
cdef int64_t zero = 0
set_reducer(&sum_reducers[FLOAT32], FLOAT32, &sum_rows[float], &sum_columns[float], &zero)
set_reducer(&sum_reducers[FLOAT64], FLOAT64, &sum_rows[double], &sum_columns[double], &zero)
set_reducer(&sum_reducers[INT64], INT64, &sum_rows[int64_t], &sum_columns[int64_t], &zero)


# ---------------------------------------------------------------- count: loops
cdef void count_rows(int64_t* totals, uint8_t* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    """Bytes are counted in bytes, 255 at a time: 64 of them go into one instruction."""
    cdef uint8_t[LANES] lane
    cdef ssize i, j, stop
    cdef int64_t count
    cdef int k
    for i in range(m):
        j = 0
        count = 0
        while j + LANES <= n:
            stop = min(n - LANES, j + 254 * LANES)
            for k in range(LANES):
                lane[k] = 0
            while j <= stop:
                for k in range(LANES):
                    lane[k] += x[i * row_stride + j + k]
                j += LANES
            for k in range(LANES):
                count += lane[k]
        while j < n:
            count += x[i * row_stride + j]
            j += 1
        totals[i] += count

cdef void count_columns(int64_t* totals, uint8_t* x, ssize m, ssize row_stride, ssize n,
                        const void* extra) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] += x[i * row_stride + j]

cdef Reducer count_reducer
set_reducer(&count_reducer, BOOL, &count_rows, &count_columns, &zero, &sum_columns[int64_t])
count_reducer.total_dtype = INT64


# ---------------------------------------------------------------- what sums and means share
cdef int sum_to(TensorBase out, TensorBase x, unsigned int mask, finalize_loop finalize, double parameter) except -1:
    """Fill `out` with sums, which are computed in the type that belongs to its own."""
    cdef int compute = kernel_dtype(sum_dtype(out.dtype_))
    if is_in(out.dtype_, COMPLEX):                          # the parts are summed side by side
        if x.ndim_ == 0:
            return copy_into(out, x)
        x = x if x.dtype_ == out.dtype_ else copy_as(x, out.dtype_)
        return sum_to(parts_of(out), parts_of(x), mask, finalize, parameter)
    return run_reduction(&count_reducer if compute == INT64 and x.dtype_ == BOOL else &sum_reducers[compute], out, x, mask,
                         None, finalize, parameter)


# ---------------------------------------------------------------- gradients of reductions
cdef object spread(TensorBase grad, object x_shape, object dim, bint keepdim):
    """A gradient of reduced shape, repeated over the dimensions that were reduced."""
    return keep_dims(grad, x_shape, dim, keepdim).expand(x_shape)

cdef object keep_dims(TensorBase grad, object x_shape, object dim, bint keepdim):
    """A tensor of reduced shape, with size 1 where dimensions were reduced."""
    cdef int ndim = len(x_shape), i
    cdef unsigned int mask
    if keepdim or grad.ndim_ == ndim or dim is None:
        return grad
    mask = read_dims(dim, ndim, "sum")
    return grad.reshape([1 if mask >> i & 1 else x_shape[i] for i in range(ndim)])

cdef object to_sources(object grad, object x_shape, int dim, object indices):
    """The gradient of elements that were chosen along `dim`: it goes to where they came from.

    PyTorch fills zeros and then writes the gradient into them, and programs can see both in the version.
    """
    out = grad.new_zeros(x_shape).scatter_add(dim, indices, grad)
    bump_version(out)
    bump_version(out)
    return out

def chosen_derivative(grads, x_shape, dim, indices):
    """The derivative of several elements that were chosen along a dimension, such as sorted ones."""
    return to_sources(grads[0], x_shape, dim, indices)


def one_chosen_derivative(grads, x_shape, dim, keepdim, indices):
    """The derivative of one element that was chosen along a dimension, such as the largest."""
    if keepdim or len(x_shape) == 0:
        return to_sources(grads[0], x_shape, dim, indices)
    return to_sources(grads[0].unsqueeze(dim), x_shape, dim, indices.unsqueeze(dim))


cdef object share_among(object mask, object grad):
    """The gradient of one element chosen of all: equal shares where `mask` is True. (The version: as above.)"""
    out = (mask * (grad / mask.sum())).contiguous()
    bump_version(out)
    return out


# ---------------------------------------------------------------- sum
cdef Op SUM = Op("sum(Tensor x, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                 aten="sum.dim_IntList")

cdef int refuse_sum(int code, str where) except -1:
    raise UnsupportedDType(f"{where}: not implemented for {dtype_object(code)}; give dtype=tensorlab.float32")

@SUM.infer
def sum_infer(TensorBase x, dim, bint keepdim, dtype):
    return reduced_result(summed_dtype(x, dtype, "sum"), x, read_dims(dim, ndim_of(x), "sum"), keepdim)

@SUM.kernel
def sum_kernel(TensorBase out, TensorBase x, dim, keepdim, dtype):
    if out.dtype_ == BOOL and x.dtype_ != BOOL:
        x = <TensorBase>(x != 0)                            # cast first: 0.5 + 0.5 is True
    sum_to(out, x, read_dims(dim, x.ndim_, "sum"), NULL, 0)

@SUM.derivative("x")
def sum_derivative(grad, x_shape, dim, keepdim):
    return spread(grad, x_shape, dim, keepdim)

def sum(TensorBase input not None, dim=None, keepdim=False, *, dtype=None, out=None):
    """Sum of the elements, of all or along dimensions.

    Parameters
    ----------
    input : Tensor
    dim : int, tuple of int or None; None and () mean all dimensions
    keepdim : bool, keep the summed dimensions with size 1
    dtype : the type to sum in; integers and bools are summed in int64 if it is not given
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor, row-major

    Raises
    ------
    DimensionError
        If a dimension is out of range.
    ShapeError
        If a dimension is given twice.

    Notes
    -----
    float16 and bfloat16 are summed in float32 and rounded once.

    >>> import tensorlab
    >>> x = tensorlab.tensor([[1., 2.], [3., 4.]])
    >>> x.sum(), x.sum(0)
    (tensor(10.), tensor([4., 6.]))
    """
    return run_4(SUM, input, plain_ints(dim), keepdim, dtype_or_that_of(dtype, out), out)


# ---------------------------------------------------------------- mean
cdef void divide_loop(real* totals, ssize n, double parameter) noexcept nogil:
    cdef real divisor = <real>parameter
    for i in range(n):
        totals[i] /= divisor

cdef finalize_loop divide_totals(int dtype) except NULL:
    """Divides totals of the type that `dtype` is computed in."""
    return <finalize_loop>divide_loop[double] if is_double(kernel_dtype(real_dtype(dtype))) else <finalize_loop>divide_loop[float]

cdef int mean_dtype(TensorBase x, object dtype, str where) except -1:
    """The type of a mean: floating, or an error."""
    cdef int code = dtype_code(dtype, x.dtype_)
    if not is_in(code, INEXACT):
        raise DTypeError(f"{where}: needs a floating dtype, but "
                         f"{'dtype= is' if dtype is not None else 'the tensor has'} {dtype_object(code)}; "
                         f"give dtype=tensorlab.float32, or convert the tensor with .float()")
    return code

cdef Op MEAN = Op("mean(Tensor x, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                  aten="mean.dim")

@MEAN.infer
def mean_infer(TensorBase x, dim, bint keepdim, dtype):
    cdef int code = mean_dtype(x, dtype, "mean")
    return reduced_result(code, x, read_dims(dim, ndim_of(x), "mean"), keepdim)

@MEAN.kernel
def mean_kernel(TensorBase out, TensorBase x, dim, keepdim, dtype):
    cdef unsigned int mask = read_dims(dim, x.ndim_, "mean")
    sum_to(out, x, mask, divide_totals(out.dtype_), reduced_count(x, mask))

@MEAN.derivative("x")
def mean_derivative(grad, x_shape, dim, keepdim):
    cdef ssize count = 1, i
    cdef unsigned int mask = read_dims(dim, len(x_shape), "mean")
    for i in range(len(x_shape)):
        if mask >> i & 1:
            count *= x_shape[i]
    return spread(grad, x_shape, dim, keepdim) / count

def mean(TensorBase input not None, dim=None, bint keepdim=False, *, dtype=None, out=None):
    """Mean of the elements, of all or along dimensions.

    Parameters
    ----------
    input : Tensor, floating (or any, if a floating `dtype` is given)
    dim : int, tuple of int or None; None and () mean all dimensions
    keepdim : bool, keep the reduced dimensions with size 1
    dtype : the floating type to compute in
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor, row-major; nan where there is nothing to average

    Raises
    ------
    DTypeError
        If the type is not floating.
    DimensionError
        If a dimension is out of range.

    >>> import tensorlab
    >>> tensorlab.tensor([[1., 2.], [3., 4.]]).mean(1)
    tensor([1.5000, 3.5000])
    """
    return run_4(MEAN, input, plain_ints(dim), keepdim, dtype, out, CASTS)


# ---------------------------------------------------------------- nansum, nanmean: from other ops
def nansum(TensorBase input not None, dim=None, bint keepdim=False, *, dtype=None, out=None):
    """Sum of the elements that are not nan; see `sum`.

    >>> import tensorlab
    >>> tensorlab.tensor([1., float("nan"), 2.]).nansum()
    tensor(3.)
    """
    check_dtype("nansum", input, ORDERED | 1 << UINT64)
    if not is_in(input.dtype_, INEXACT):
        return sum(input, dim, keepdim, dtype=dtype, out=out)
    return store_out("nansum", sum(input.masked_fill(input != input, 0), dim, keepdim, dtype=dtype), out, (input,), CASTS)

def nanmean(TensorBase input not None, dim=None, bint keepdim=False, *, dtype=None, out=None):
    """Mean of the elements that are not nan; see `mean`.

    >>> import tensorlab
    >>> tensorlab.tensor([1., float("nan"), 2.]).nanmean()
    tensor(1.5000)
    """
    mean_dtype(input, dtype, "nanmean")
    result = nansum(input, dim, keepdim, dtype=dtype) / sum(input == input, dim, keepdim)
    return store_out("nanmean", result, out, (input,), CASTS)


# ---------------------------------------------------------------- count_nonzero
cdef Op COUNT_NONZERO = Op("count_nonzero(Tensor x, int[]? dim=None) -> Tensor",
                           aten="count_nonzero.dim_IntList")

@COUNT_NONZERO.infer
def count_nonzero_infer(TensorBase x, dim):
    return reduced_result(INT64, x, read_dims(dim, x.ndim_, "count_nonzero"), False)

@COUNT_NONZERO.kernel
def count_nonzero_kernel(TensorBase out, TensorBase x, dim):
    run_reduction(&count_reducer, out, x, read_dims(dim, x.ndim_, "count_nonzero"), None, NULL, 0)

def count_nonzero(TensorBase input not None, dim=None):
    """How many elements are not 0, of all or along dimensions, as int64.

    >>> import tensorlab
    >>> tensorlab.tensor([[0, 1], [2, 3]]).count_nonzero(0)
    tensor([1, 2])
    """
    return run_2(COUNT_NONZERO, input, plain_ints(dim))


# ---------------------------------------------------------------- sum_to_size
cdef unsigned int dims_to_sum(TensorBase x, int ndim, const ssize* sizes) except? 0xffffffff:
    """A bit for each dimension of x that has to be summed for its shape to become `sizes`."""
    cdef int shift = x.ndim_ - ndim, i
    cdef unsigned int mask = (<unsigned int>1 << shift) - 1 if shift > 0 else 0
    for i in range(ndim):
        if shift < 0 or (sizes[i] != 1 and sizes[i] != x.sizes[i + shift]):
            raise ShapeError(f"sum_to_size: size {shape_text(ndim, sizes)} cannot be broadcast "
                             f"to the shape of the tensor, {shape_text(x.ndim_, x.sizes)}; "
                             "sizes must be equal or 1")
        if sizes[i] != x.sizes[i + shift]:
            mask |= <unsigned int>1 << (i + shift)
    return mask

cdef Op SUM_TO_SIZE = Op("sum_to_size(Tensor x, int[] size) -> Tensor")

@SUM_TO_SIZE.infer
def sum_to_size_infer(TensorBase x, size):
    """Dimensions are kept, with size 1 where they were summed."""
    cdef ssize[MAX_NDIM] sizes
    cdef unsigned int mask = dims_to_sum(x, read_sizes(size, sizes, "sum_to_size"), sizes)
    return reduced_result(sum_dtype(x.dtype_), x, mask, True)

@SUM_TO_SIZE.kernel
def sum_to_size_kernel(TensorBase out, TensorBase x, size):
    cdef ssize[MAX_NDIM] sizes
    sum_to(out, x, dims_to_sum(x, read_sizes(size, sizes, "sum_to_size"), sizes), NULL, 0)

@SUM_TO_SIZE.derivative("x")
def sum_to_size_derivative(grad, x_shape):
    return grad.expand(x_shape)

def sum_to_size(TensorBase input not None, *size):
    """Sum over leading dimensions and over those that are 1 in `size`, so that the result has that shape.

    It undoes broadcasting: autograd uses it for the gradient of an operand that was broadcast.

    Raises
    ------
    ShapeError
        If `size` cannot be broadcast to the shape of `input`.

    >>> import tensorlab
    >>> tensorlab.tensor([[1., 2.], [3., 4.]]).sum_to_size(2, 1)
    tensor([[3.],
            [7.]])
    """
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(size, sizes, "sum_to_size"), i
    cdef tuple wanted = tuple([sizes[i] for i in range(ndim)])
    if ndim == 0:
        return input.sum()
    if dims_to_sum(input, ndim, sizes) == 0:
        return input
    out = run_2(SUM_TO_SIZE, input, wanted)
    return out if ndim == input.ndim_ else out.view(wanted)     # a view, as in PyTorch
