"""Variance, and the logarithm of a sum of exponentials.

The variance takes two passes: the mean first, then the squares of what is left without it. The one-pass formula
mean(x * x) - mean(x)**2 subtracts two large numbers and loses all digits where the mean is much larger than the spread.
The mean itself is the first element plus the mean difference from it: where all elements are equal it is exact, so that
programs which test for a standard deviation of 0 find it.
"""
from libc.stdint cimport int64_t

cimport tensorlab._core.loops.c_math as c_math
cimport tensorlab._core.loops.tl_math as tl_math
from tensorlab._core.dispatch.dispatch cimport run_3, run_4
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.out_argument cimport CASTS, store_out
from tensorlab._core.dtypes cimport (
    COMPLEX, FLOAT32, FLOAT64, FLOAT8, FLOATING, INEXACT, default_float, dtype_object, is_double,
    is_in, kernel_dtype, real
)
from tensorlab._core.graph.graph cimport ndim_of
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, ssize
from tensorlab._core.loops.iterator cimport copy_into, plain_result, put_back
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, memory_of
from tensorlab.ops.dim_iterator cimport DimIterator, add_operand, dim_apply, dim_loop, start_iterator
from tensorlab.ops.extrema cimport largest_into
from tensorlab.ops.filling cimport fill_number
from tensorlab.ops.reduction_iterator cimport (
    Reducer, finalize_loop, read_dims, reduced_count, reduced_result, reduced_tensor,
    run_reduction
)
from tensorlab.ops.reductions cimport divide_totals, keep_dims, set_reducer
from tensorlab.ops.inner_loops cimport exp_nonpositive, exp_shifted, largest, pairwise_sum
from tensorlab.ops.moments cimport sum_of_blocks, sum_of_squares

import warnings

from tensorlab.errors import DTypeError
from tensorlab.ops.reductions import mean

cdef enum:
    BUFFER = 512
    MANY_ROWS = 64              # so many are shared among threads as they are
    LONG_ROW = 64               # in which a logarithm of its own takes little of the time
    GRAIN = 32768               # elements that make a thread worth starting

cdef extern from *:
    float INFINITY

cdef int64_t zero = 0


# ---------------------------------------------------------------- differences and squares around a centre: loops
cdef void differences_rows(real* totals, real* x, ssize m, ssize row_stride, ssize n, const real* firsts) noexcept nogil:
    cdef ssize i
    for i in range(m):
        totals[i] += sum_of_blocks(x + i * row_stride, firsts[i], n, False)

cdef void differences_columns(real* totals, real* x, ssize m, ssize row_stride, ssize n, const real* firsts) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] += x[i * row_stride + j] - firsts[j]

cdef void add_loop(real* totals, const real* firsts, ssize n) noexcept nogil:
    for i in range(n):
        totals[i] += firsts[i]

cdef void squares_rows(real* totals, real* x, ssize m, ssize row_stride, ssize n, const real* centres) noexcept nogil:
    cdef ssize i
    for i in range(m):
        totals[i] += sum_of_blocks(x + i * row_stride, centres[i], n, True)

cdef void squares_columns(real* totals, real* x, ssize m, ssize row_stride, ssize n, const real* centres) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] += (x[i * row_stride + j] - centres[j]) * (x[i * row_stride + j] - centres[j])

cdef void merge_sums(real* totals, real* x, ssize m, ssize row_stride, ssize n, const void* extra) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] += x[i * row_stride + j]

cdef void divide_and_root_loop(real* totals, ssize n, double parameter) noexcept nogil:
    for i in range(n):
        totals[i] = c_math.sqrt(totals[i] / <real>parameter)


# ---------------------------------------------------------------- whole rows
# What takes two passes, or three, is done row by row where rows lie next to each other: the first pass brings a row into
# the cache, and the others find it there.
cdef bint has_rows(TensorBase x, unsigned int mask, int kernel, ssize n) noexcept:
    """Do the last dimensions, those in `mask`, make many rows of n elements, of the type that is computed in?"""
    return (x.is_contiguous_ and x.dtype_ == kernel and 1 < n <= x.numel_ // MANY_ROWS and
            mask + (mask & -mask) == <unsigned int>1 << x.ndim_)

cdef int run_rows(TensorBase out, TensorBase x, ssize n, dim_loop loop, void* parameter) except -1:
    """Call the loop for each row, and for where its result belongs in `out`, which is row-major."""
    cdef DimIterator iter
    cdef ssize[2] sizes, strides
    cdef TensorBase rows
    sizes[0], sizes[1], strides[0], strides[1] = x.numel_ // n, n, n, 1
    rows = alias_as(x, 2, sizes, strides, x.data_)
    start_iterator(&iter, rows, 1)
    add_operand(&iter, rows, 1, x.dtype_, False)
    add_operand(&iter, alias_as(out, 1, sizes, &strides[1], out.data_), -1, x.dtype_, True)
    return dim_apply(&iter, loop, parameter, GRAIN)


# ---------------------------------------------------------------- var, std
cdef void variance_loop(void** data, ssize n, double* divisor, real* as_this) noexcept nogil:
    cdef real* x = <real*>data[0]
    cdef real* out = <real*>data[1]
    cdef real centre = sum_of_blocks(x, x[0], n, False) / n + x[0]
    out[0] = sum_of_blocks(x, centre, n, True) / <real>divisor[0]

cdef void deviation_loop(void** data, ssize n, double* divisor, real* as_this) noexcept nogil:
    variance_loop(data, n, divisor, as_this)
    (<real*>data[1])[0] = c_math.sqrt((<real*>data[1])[0])

cdef dim_loop[2][2] spread_loops                        # by is_std and is_double
spread_loops[False][False] = <dim_loop>variance_loop[float]
spread_loops[False][True] = <dim_loop>variance_loop[double]
spread_loops[True][False] = <dim_loop>deviation_loop[float]
spread_loops[True][True] = <dim_loop>deviation_loop[double]

cdef TensorBase first_elements(TensorBase x, unsigned int mask, bint keepdim, int kernel):
    """The elements with index 0 in the reduced dimensions, row-major."""
    cdef TensorBase out = reduced_tensor(kernel, x, mask, keepdim)
    cdef ssize[MAX_NDIM] strides
    cdef int i, ndim = 0
    for i in range(x.ndim_):
        if keepdim or not mask >> i & 1:
            strides[ndim] = x.strides[i]
            ndim += 1
    copy_into(out, alias_as(x, ndim, out.sizes, strides, x.data_))
    return out

cdef TensorBase centre_of(TensorBase x, unsigned int mask, bint keepdim, int kernel, ssize n):
    """The mean, computed from differences to the first element."""
    cdef TensorBase out = reduced_tensor(kernel, x, mask, keepdim), first
    if x.numel_ == 0:
        return out
    first = first_elements(x, mask, keepdim, kernel)
    run_reduction(&differences_reducers[is_double(kernel)], out, x, mask, first, divide_totals(kernel), n)
    if is_double(kernel):
        add_loop(<double*>out.data_, <double*>first.data_, out.numel_)
    else:
        add_loop(<float*>out.data_, <float*>first.data_, out.numel_)
    return out

cdef TensorBase spread_result(TensorBase x, object dim, bint keepdim, double correction, str where):
    """Of a variance or its root."""
    cdef int ndim = ndim_of(x)                          # dim holds plain ints
    cdef unsigned int mask
    cdef ssize n
    if not is_in(x.dtype_, FLOATING):
        raise DTypeError(f"{where}: needs a floating tensor, not {dtype_object(x.dtype_)}; convert it with .float()")
    mask = read_dims(dim, ndim, where)
    n = reduced_count(x, mask)
    if n - correction <= 0:
        warnings.warn(f"{where}: {n} elements with a correction of {correction:g} leave nothing to divide "
                      f"by: the result is nan or infinite; pass a smaller correction", UserWarning)
    return reduced_result(x.dtype_, x, mask, keepdim)

cdef int spread_to(TensorBase out, TensorBase x, object dim, bint keepdim, double correction, bint is_std) except -1:
    """The variance or its root: sum((x - mean)**2) / (n - correction)."""
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef unsigned int mask = read_dims(dim, x.ndim_, "var")
    cdef ssize n = reduced_count(x, mask)
    cdef double divisor = n - correction
    cdef finalize_loop finalize_totals = divide_totals(kernel)
    divisor = divisor if divisor > 0 else 0
    if has_rows(x, mask, kernel, n):
        return run_rows(out, x, n, spread_loops[is_std][is_double(kernel)], &divisor)
    if is_std:
        finalize_totals = (<finalize_loop>divide_and_root_loop[double] if is_double(kernel) else
                           <finalize_loop>divide_and_root_loop[float])
    return run_reduction(&squares_reducers[is_double(kernel)], out, x, mask, centre_of(x, mask, keepdim, kernel, n),
                         finalize_totals, divisor)

cdef double correction_of(object unbiased, object correction) except? -1:
    """What is subtracted from the count: 1 unless told otherwise (Bessel's correction)."""
    return (1 if unbiased else 0) if correction is None else correction

cdef Op VAR = Op("var(Tensor x, int[]? dim=None, *, Scalar? correction=None, "
                 "bool keepdim=False) -> Tensor", aten="var.correction")
cdef Op STD = Op("std(Tensor x, int[]? dim=None, *, Scalar? correction=None, "
                 "bool keepdim=False) -> Tensor", aten="std.correction")

@VAR.infer
def var_infer(TensorBase x, dim, correction, bint keepdim):
    return spread_result(x, dim, keepdim, correction_of(True, correction), "var")

@VAR.kernel
def var_kernel(TensorBase out, TensorBase x, dim, correction, bint keepdim):
    spread_to(out, x, dim, keepdim, correction_of(True, correction), False)

@STD.infer
def std_infer(TensorBase x, dim, correction, bint keepdim):
    return spread_result(x, dim, keepdim, correction_of(True, correction), "std")

@STD.kernel
def std_kernel(TensorBase out, TensorBase x, dim, correction, bint keepdim):
    spread_to(out, x, dim, keepdim, correction_of(True, correction), True)

cdef object var_gradient(TensorBase grad, TensorBase x, object dim, bint keepdim, double correction):
    cdef double divisor = reduced_count(x, read_dims(dim, ndim_of(x), "var")) - correction
    factor = keep_dims(grad, x.shape, dim, keepdim) * (2 / divisor if divisor != 0 else float("inf"))
    return factor * (x - mean(x, dim, True))

@VAR.derivative("x")
def var_derivative(grad, x, dim, correction, keepdim):
    return var_gradient(grad, x, dim, keepdim, correction_of(True, correction))

@STD.derivative("x")
def std_derivative(grad, x, out, dim, correction, keepdim):
    return var_gradient((grad / (out * 2)).masked_fill(out == 0, 0), x, dim, keepdim,
                        correction_of(True, correction))

def var(TensorBase input not None, dim=None, unbiased=True, bint keepdim=False, *, correction=None, out=None):
    """Variance of the elements, of all or along dimensions: sum((x - mean)**2) / (n - correction).

    Parameters
    ----------
    input : Tensor, floating
    dim : int, tuple of int or None; None means all dimensions. (A bool here is `unbiased`.)
    unbiased : bool; True: divide by n - 1, False: by n
    keepdim : bool, keep the reduced dimensions with size 1
    correction : number, what is subtracted from n, instead of `unbiased`
    out : Tensor, optional; the result is written there

    Raises
    ------
    DTypeError
        If the type is not floating.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1., 2., 3., 4.])
    >>> x.var(), x.var(correction=0)
    (tensor(1.6667), tensor(1.2500))
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    minus, dim = correction_of(unbiased, correction), plain_ints(dim)
    if is_in(input.dtype_, COMPLEX):                    # E|x - mean|^2, which is that of both parts
        parts = [run_4(VAR, part, dim, minus, keepdim) for part in (input.real, input.imag)]
        return store_out("var", parts[0] + parts[1], out, (input,), CASTS)
    return run_4(VAR, input, dim, minus, keepdim, out, CASTS)

def std(TensorBase input not None, dim=None, unbiased=True, bint keepdim=False, *, correction=None, out=None):
    """Standard deviation, the root of the variance; see `var`.

    >>> import tensorlab
    >>> tensorlab.tensor([1., 2., 3., 4.]).std()
    tensor(1.2910)
    """
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if is_in(input.dtype_, COMPLEX):
        variance = var(input, dim, unbiased, keepdim, correction=correction)
        is_flat = variance == 0                         # where the root has no slope, and PyTorch's gradient is 0
        return store_out("std", variance.masked_fill(is_flat, 1).sqrt().masked_fill(is_flat, 0), out, (input,), CASTS)
    minus, dim = correction_of(unbiased, correction), plain_ints(dim)
    return run_4(STD, input, dim, minus, keepdim, out, CASTS)

def var_mean(TensorBase input not None, dim=None, unbiased=True, bint keepdim=False, *, correction=None):
    """(variance, mean); see `var`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.var_mean(tensorlab.tensor([1.0, 3.0]))
    (tensor(2.), tensor(2.))
    """
    return (var(input, dim, unbiased, keepdim, correction=correction),
            mean(input, None if isinstance(dim, bool) else dim, keepdim))

def std_mean(TensorBase input not None, dim=None, unbiased=True, bint keepdim=False, *, correction=None):
    """(standard deviation, mean); see `var`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.std_mean(tensorlab.tensor([1.0, 3.0]))
    (tensor(1.4142), tensor(2.))
    """
    return (std(input, dim, unbiased, keepdim, correction=correction),
            mean(input, None if isinstance(dim, bool) else dim, keepdim))


# ---------------------------------------------------------------- logsumexp: loops
cdef void exponentials_rows(real* totals, real* x, ssize m, ssize row_stride, ssize n, const real* shifts) noexcept nogil:
    """Adds exp(x - shift), by way of a buffer: so exp is vectorised."""
    cdef real[BUFFER] buffer
    cdef ssize i, j, width
    for i in range(m):
        j = 0
        while j < n:
            width = min(<ssize>BUFFER, n - j)
            exp_shifted(buffer, x + i * row_stride + j, shifts[i], width)
            totals[i] += pairwise_sum(buffer, width)
            j += width

cdef void exponentials_columns(real* totals, real* x, ssize m, ssize row_stride, ssize n,
                               const real* shifts) noexcept nogil:
    cdef ssize i, j
    for i in range(m):
        for j in range(n):
            totals[j] += exp_nonpositive(x[i * row_stride + j] - shifts[j])

cdef void shifts_loop(real* shifts, real* top, ssize n) noexcept nogil:
    """What is subtracted: the largest element, or 0 where that is infinite, as inf - inf would be nan."""
    for i in range(n):
        shifts[i] = 0 if top[i] == <real>INFINITY or top[i] == -<real>INFINITY else top[i]

cdef void shift_back_loop(real* totals, real* shifts, real* top, ssize n) noexcept nogil:
    for i in range(n):
        totals[i] = top[i] if top[i] == <real>INFINITY else totals[i] + shifts[i]

cdef void log_loop(real* totals, ssize n, double parameter) noexcept nogil:
    for i in range(n):
        totals[i] = tl_math.log(totals[i])

cdef void logsumexp_loop(void** data, ssize n, void* parameter, real* as_this) noexcept nogil:
    cdef real* x = <real*>data[0]
    cdef real* out = <real*>data[1]
    cdef real top = largest(x, n), shift
    shifts_loop(&shift, &top, 1)
    out[0] = 0
    exponentials_rows(out, x, 1, 0, n, &shift)
    out[0] = tl_math.log(out[0]) + shift
    if top == <real>INFINITY:
        out[0] = sum_of_squares(x, 0, n)                # inf, or nan if there is one

# ---------------------------------------------------------------- reducers
cdef Reducer[2] differences_reducers, squares_reducers, exponentials_reducers       # of float32, of float64

cdef void set_reducers(int k, int dtype, const real* as_this) noexcept:
    set_reducer(&differences_reducers[k], dtype, &differences_rows[real], &differences_columns[real], &zero, &merge_sums[real])
    set_reducer(&squares_reducers[k], dtype, &squares_rows[real], &squares_columns[real], &zero, &merge_sums[real])
    set_reducer(&exponentials_reducers[k], dtype, &exponentials_rows[real], &exponentials_columns[real], &zero, &merge_sums[real])

set_reducers[float](0, FLOAT32, NULL)
set_reducers[double](1, FLOAT64, NULL)


# ---------------------------------------------------------------- logsumexp
cdef Op LOGSUMEXP = Op("logsumexp(Tensor x, int[] dim, bool keepdim=False) -> Tensor")

@LOGSUMEXP.infer
def logsumexp_infer(TensorBase x, dim, bint keepdim):
    cdef unsigned int mask = read_dims(dim, ndim_of(x), "logsumexp")
    if not is_in(x.dtype_, FLOATING):
        raise DTypeError(f"logsumexp: needs a floating tensor, not {dtype_object(x.dtype_)}; convert it with .float()")
    return reduced_result(x.dtype_, x, mask, keepdim)

@LOGSUMEXP.kernel
def logsumexp_kernel(TensorBase out, TensorBase x, dim, keepdim):
    cdef TensorBase totals = plain_result(out), top, shifts
    cdef unsigned int mask = read_dims(dim, x.ndim_, "logsumexp")
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef ssize n = reduced_count(x, mask)
    if n == 0:
        fill_number(out, -INFINITY, "logsumexp")
        return
    if n >= LONG_ROW and has_rows(x, mask, kernel, n):
        run_rows(totals, x, n,
                 <dim_loop>logsumexp_loop[double] if is_double(kernel) else <dim_loop>logsumexp_loop[float], NULL)
        put_back(out, totals)
        return
    top = empty_beside(x, kernel, out.ndim_, out.sizes)
    shifts = empty_beside(x, kernel, out.ndim_, out.sizes)
    largest_into(top, x, mask)
    if is_double(kernel):
        shifts_loop(<double*>memory_of(shifts), <double*>memory_of(top), out.numel_)
        run_reduction(&exponentials_reducers[1], totals, x, mask, shifts, <finalize_loop>log_loop[double], 0)
        shift_back_loop(<double*>memory_of(totals), <double*>memory_of(shifts), <double*>memory_of(top), out.numel_)
    else:
        shifts_loop(<float*>memory_of(shifts), <float*>memory_of(top), out.numel_)
        run_reduction(&exponentials_reducers[0], totals, x, mask, shifts, <finalize_loop>log_loop[float], 0)
        shift_back_loop(<float*>memory_of(totals), <float*>memory_of(shifts), <float*>memory_of(top), out.numel_)
    put_back(out, totals)

@LOGSUMEXP.derivative("x")
def logsumexp_derivative(grad, x, out, dim, keepdim):
    out = keep_dims(out, x.shape, dim, keepdim)
    return keep_dims(grad, x.shape, dim, keepdim) * (x - out.masked_fill(out == -INFINITY, 0)).exp()

def complex_logsumexp(x, dim, keepdim):
    """The largest real part is subtracted: an imaginary one only turns exp(x)."""
    top = x.real.detach().amax(dim, True)
    top = top.masked_fill(top.isinf(), 0)
    total = (x - top).exp().sum(dim, keepdim).log()
    return total + (top if keepdim else top.reshape(total.shape))


def logsumexp(TensorBase input not None, dim, bint keepdim=False, *, out=None):
    """log(sum(exp(x))) along dimensions, without overflow: the largest element is subtracted first and added again.

    Parameters
    ----------
    input : Tensor; integers are converted to the default floating type
    dim : int or tuple of int
    keepdim : bool, keep the reduced dimensions with size 1
    out : Tensor, optional; the result is written there

    Raises
    ------
    DimensionError
        If a dimension is out of range.

    >>> import tensorlab
    >>> tensorlab.tensor([100., 100.]).logsumexp(0)
    tensor(100.6931)
    """
    x = input if is_in(input.dtype_, INEXACT | FLOAT8) else input.to(dtype_object(default_float()))
    if is_in(input.dtype_, COMPLEX):
        return store_out("logsumexp", complex_logsumexp(x, plain_ints(dim), keepdim), out, (input,), CASTS)
    return run_3(LOGSUMEXP, x, plain_ints(dim), keepdim, out, CASTS)
