"""Running sums, products and extremes along a dimension: result i is made of elements 0 to i.

A running sum is serial by nature, one addition waits for the last, so float32 is summed in float64 at no cost.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tensorlab._core.dispatch.dispatch cimport run_2, run_3
from tensorlab._core.dispatch.levels cimport will_differentiate_again
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport check_dtype, same_numbers
from tensorlab._core.dispatch.out_argument cimport (
    CASTS, NO_PARTIAL_OVERLAP, dtype_or_that_of, store_out
)
from tensorlab._core.dtypes cimport (
    BOOL, COMPLEX, COMPLEX128, COMPLEX64, FLOAT32, FLOAT64, INEXACT, INT16, INT32,
    INT64, INT8, NUMBER, NUM_DTYPES, ORDERED, UINT8, complex128, complex64,
    complex_number, dtype_code, dtype_object, is_in, kernel_dtype, number, real,
    real_dtype, sum_dtype
)
from tensorlab._core.graph.graph cimport dim_of, needs_grad
from tensorlab._core.graph.inplace cimport check_inplace
from tensorlab._core.layout cimport int_argument, may_have_internal_overlap, plain_ints, shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_as, copy_into
from tensorlab._core.state.modes cimport thread_state
from tensorlab._core.tensor cimport TensorBase, parts_of, result_beside
from tensorlab.ops.dim_iterator cimport (
    STRIP, DimIterator, add_operand, dim_apply, dim_loop, rows_loop, start_iterator, strip_loop
)
from tensorlab.ops.inner_loops cimport total

from tensorlab import return_types
from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops.reductions import chosen_derivative

cdef enum:
    GRAIN = 16384               # elements that make a thread worth starting


cdef int scan(TensorBase x, TensorBase out, int dim, int kernel, dim_loop loop, strip_loop strip=NULL,
              rows_loop rows=NULL) except -1:
    """out = the loop's results for x along `dim`; out may be x, whose slices may overlap if it was made by unfold."""
    cdef DimIterator iter
    start_iterator(&iter, out, dim)
    iter.strip, iter.rows = strip, rows
    iter.one_by_one = x is out and may_have_internal_overlap(x.ndim_, x.sizes, x.strides)
    add_operand(&iter, out, dim, kernel, True)
    add_operand(&iter, x, dim, kernel, False)
    return dim_apply(&iter, loop, NULL, GRAIN)


cdef int running_dtype(TensorBase x, object dtype, str where) except -1:
    """The type of a running sum or product: the one asked for, or that of x, int64 for integers."""
    cdef int code = dtype_code(dtype, sum_dtype(x.dtype_))
    if not is_in(code, NUMBER):
        raise UnsupportedDType(f"{where}: not implemented for {dtype_object(code)}; give another dtype")
    return code


cdef TensorBase floating_result(TensorBase x, object dim, str where):
    """A result of x's shape and type, which must be floating."""
    dim_of(dim, x, where)
    check_dtype(where, x, INEXACT)
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)


cdef int scan_dtype(int code) noexcept:
    """The type that a running sum or product of `code` is computed in."""
    return kernel_dtype(sum_dtype(code))


# ---------------------------------------------------------------- cumsum
cdef void cumsum_loop(void** data, ssize n, total* as_this) noexcept nogil:
    cdef total* out = <total*>data[0]
    cdef total* x = <total*>data[1]
    cdef double wide = 0
    cdef int64_t whole = 0
    for i in range(n):
        if total is int64_t:
            whole += x[i]
            out[i] = whole
        else:
            wide += x[i]
            out[i] = <total>wide

cdef void cumsum_rows(real** data, ssize* strides, ssize n, ssize count) noexcept nogil:
    """Four slices side by side: while one addition waits for the last, three others are made. With more of them their
    cache lines would replace each other where rows are a power of two long."""
    cdef double[4] wide
    cdef real* out
    cdef real* x
    cdef void* one[2]
    cdef ssize i, j = 0
    cdef int k
    while j < count:
        out, x = data[0] + j * strides[0], data[1] + j * strides[1]
        if j + 4 <= count:
            wide[0] = wide[1] = wide[2] = wide[3] = 0
            for i in range(n):
                for k in range(4):
                    wide[k] += x[i + k * strides[1]]
                    out[i + k * strides[0]] = <real>wide[k]
            j += 4
        else:
            one[0], one[1] = out, x
            cumsum_loop(one, n, out)
            j += 1

cdef void cumsum_from_end_loop(void** data, ssize n, real* as_this) noexcept nogil:
    cdef real* out = <real*>data[0]
    cdef real* x = <real*>data[1]
    cdef double wide = 0
    cdef ssize i
    for i in range(n - 1, -1, -1):
        wide += x[i]
        out[i] = <real>wide

cdef void cumsum_strip(real** data, ssize* strides, ssize n, ssize width) noexcept nogil:
    """Slices that run across memory, side by side; two rows of them at a time, so that the sums are read and written half as
    often."""
    cdef double[STRIP] wide
    cdef ssize i = 0, j
    for j in range(width):
        wide[j] = 0
    while i + 2 <= n:
        cumsum_few(wide, data[0] + i * strides[0], strides[0], data[1] + i * strides[1], strides[1], 2, width)
        i += 2
    while i < n:
        cumsum_few(wide, data[0] + i * strides[0], strides[0], data[1] + i * strides[1], strides[1], 1, width)
        i += 1

cdef inline void cumsum_few(double* wide, real* out, ssize out_stride, real* x, ssize x_stride, int rows,
                            ssize width) noexcept nogil:
    cdef double so_far
    cdef ssize j
    cdef int k
    for j in range(width):
        so_far = wide[j]
        for k in range(rows):
            so_far += x[j + k * x_stride]
            out[j + k * out_stride] = <real>so_far
        wide[j] = so_far

cdef dim_loop[NUM_DTYPES] cumsum_loops, cumsum_from_end_loops
cdef strip_loop[NUM_DTYPES] cumsum_strips
cdef rows_loop[NUM_DTYPES] cumsum_row_loops
cumsum_row_loops[FLOAT32] = <rows_loop>cumsum_rows[float]
cumsum_row_loops[FLOAT64] = <rows_loop>cumsum_rows[double]
cumsum_strips[FLOAT32] = <strip_loop>cumsum_strip[float]
cumsum_strips[FLOAT64] = <strip_loop>cumsum_strip[double]
cumsum_loops[FLOAT32] = <dim_loop>cumsum_loop[float]
cumsum_loops[FLOAT64] = <dim_loop>cumsum_loop[double]
cumsum_loops[INT64] = <dim_loop>cumsum_loop[int64_t]
cumsum_from_end_loops[FLOAT32] = <dim_loop>cumsum_from_end_loop[float]
cumsum_from_end_loops[FLOAT64] = <dim_loop>cumsum_from_end_loop[double]

cdef Op CUMSUM = Op("cumsum(Tensor x, int dim, *, ScalarType? dtype=None) -> Tensor")

@CUMSUM.derivative("x")
def cumsum_derivative(grad, dim):
    return cumsum_from_end(grad, dim) if grad.numel() > 1 and grad.size(dim) > 1 else grad

@CUMSUM.infer
def cumsum_infer(TensorBase x, dim, dtype):
    dim_of(dim, x, "cumsum")
    return result_beside(x, running_dtype(x, dtype, "cumsum"), x.ndim_, x.sizes)

@CUMSUM.kernel
def cumsum_kernel(TensorBase out, TensorBase x, dim, dtype):
    cdef int d = dim_of(dim, x, "cumsum"), kernel = scan_dtype(out.dtype_)
    if is_in(out.dtype_, COMPLEX):                      # the parts side by side
        if x.ndim_ == 0:
            return copy_into(out, x)
        x = x if x.dtype_ == out.dtype_ else copy_as(x, out.dtype_)
        x, out, kernel = parts_of(x), parts_of(out), real_dtype(kernel)
    scan(x, out, d, kernel, cumsum_loops[kernel], cumsum_strips[kernel],
         cumsum_row_loops[kernel])

cdef Op CUMSUM_ = inplace_op(CUMSUM)

def cumsum(TensorBase input not None, dim, *, dtype=None, out=None):
    """Running sum along a dimension.

    Parameters
    ----------
    input : Tensor
    dim : int
    dtype : the type to sum in; integers and bools are summed in int64 if it is not given
    out : Tensor, optional; the result is written there

    Returns
    -------
    Tensor of the same shape, row-major

    Raises
    ------
    DimensionError
        If the dimension is out of range.

    >>> import tensorlab
    >>> tensorlab.tensor([1., 2., 3.]).cumsum(0)
    tensor([1., 3., 6.])
    """
    return run_3(CUMSUM, input, plain_ints(dim), dtype_or_that_of(dtype, out), out, NO_PARTIAL_OVERLAP)

cdef int dim_to_write(TensorBase x, object dim, str where) except -1:
    """The dimension counted from 0. Whether x may be written at all is looked at first, as in PyTorch."""
    check_inplace(x, thread_state().grad_enabled and needs_grad(x), where)
    return dim_of(dim, x, where)

def cumsum_(TensorBase input not None, dim, *, dtype=None):
    """`cumsum`, written over `input`, in its type.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1, 2, 3]).cumsum_(0)
    tensor([1, 3, 6])
    """
    return run_3(CUMSUM_, input, dim_to_write(input, dim, "cumsum_"), None)


# ---------------------------------------------------------------- cumsum_from_end
cdef Op CUMSUM_FROM_END = Op("cumsum_from_end(Tensor x, int dim) -> Tensor", aten=None)

@CUMSUM_FROM_END.derivative("x")
def cumsum_from_end_derivative(grad, dim):
    return cumsum(grad, dim)

@CUMSUM_FROM_END.infer
def cumsum_from_end_infer(TensorBase x, dim):
    return floating_result(x, dim, "cumsum_from_end")

@CUMSUM_FROM_END.kernel
def cumsum_from_end_kernel(TensorBase out, TensorBase x, dim):
    cdef int d = dim_of(dim, x, "cumsum_from_end"), kernel = kernel_dtype(real_dtype(x.dtype_))
    if is_in(x.dtype_, COMPLEX):
        x, out = parts_of(x), parts_of(out)
    scan(x, out, d, kernel, cumsum_from_end_loops[kernel])

def cumsum_from_end(TensorBase x not None, dim):
    """Sum of element i and all after it: the gradient of cumsum."""
    return run_2(CUMSUM_FROM_END, x, plain_ints(dim))


# ---------------------------------------------------------------- logcumsumexp
cdef extern from "math.h" nogil:
    double exp_of_double "exp"(double)
    double log1p_of_double "log1p"(double)

cdef void logcumsumexp_loop(void** data, ssize n, real* as_this) noexcept nogil:
    """log(exp(a) + exp(b)) = max + log1p(exp(min - max)): the difference is never positive, so nothing overflows."""
    cdef real* out = <real*>data[0]
    cdef real* x = <real*>data[1]
    cdef double so_far = 0, larger, smaller
    cdef ssize i
    for i in range(n):
        if i == 0:
            so_far = x[i]
        else:
            larger = so_far if so_far > x[i] else <double>x[i]
            smaller = x[i] if so_far > x[i] else so_far
            if smaller != smaller or larger != larger:
                so_far = larger + smaller               # nan stays
            elif smaller == larger and smaller - smaller != 0:
                so_far = larger                         # both inf or both -inf
            else:
                so_far = larger + log1p_of_double(exp_of_double(smaller - larger))
        out[i] = <real>so_far

cdef dim_loop[NUM_DTYPES] logcumsumexp_loops
logcumsumexp_loops[FLOAT32] = <dim_loop>logcumsumexp_loop[float]
logcumsumexp_loops[FLOAT64] = <dim_loop>logcumsumexp_loop[double]

cdef extern from "math.h" nogil:
    double atan2_of_double "atan2"(double, double)

cdef extern from "complex.h" nogil:
    complex128 exp_of_complex "cexp"(complex128)
    complex128 log_of_complex "clog"(complex128)

cdef void complex_logcumsumexp_loop(void** data, ssize n, complex_number* as_this) noexcept nogil:
    """The same; what is larger is decided by the real parts, and imaginary parts may be beyond pi, as those of x are."""
    cdef complex_number* out = <complex_number*>data[0]
    cdef complex_number* x = <complex_number*>data[1]
    cdef complex128 so_far = 0, larger, smaller, share
    cdef ssize i
    for i in range(n):
        if i == 0:
            so_far = x[i]
        else:
            smaller, larger = so_far, x[i]
            if larger.real < smaller.real:
                smaller, larger = larger, smaller
            if smaller != smaller or larger != larger:
                so_far = larger + smaller               # nan stays
            elif smaller.real == larger.real and smaller.real - smaller.real != 0:
                if smaller.real > 0:                    # both inf; else both -inf, and it stays as it is
                    so_far = log_of_complex(exp_of_complex(smaller) + exp_of_complex(larger))
            else:
                share = exp_of_complex(smaller - larger)
                so_far = larger + log_of_one_and(share)
        out[i] = <complex_number>so_far

cdef inline complex128 log_of_one_and(complex128 x) noexcept nogil:
    """log(1 + x), exact for small x."""
    cdef double size = log1p_of_double(2 * x.real + x.real * x.real + x.imag * x.imag) / 2
    return size + 1j * atan2_of_double(x.imag, 1 + x.real)

logcumsumexp_loops[COMPLEX64] = <dim_loop>complex_logcumsumexp_loop[complex64]
logcumsumexp_loops[COMPLEX128] = <dim_loop>complex_logcumsumexp_loop[complex128]

cdef Op LOGCUMSUMEXP = Op("logcumsumexp(Tensor x, int dim) -> Tensor")

@LOGCUMSUMEXP.derivative("x")
def logcumsumexp_derivative(grad, out, x, dim):
    """Each x[i] is in out[i], out[i+1], ...: exp(x[i]) times the sum of grad * exp(-out) from i on. That sum is a
    logcumsumexp from the end, once for the positive and once for the negative gradients, so that it cannot overflow either."""
    lowest = float("-inf")
    if will_differentiate_again() and x.dim() > 0 and x.size(dim) <= LONGEST_WITH_SHARES:
        place = dim % x.dim()
        return (grad.unsqueeze(place) * shares(x, out, place)).sum(place + 1)
    if out.is_complex():                                # a logarithm takes any gradient
        gains = (grad.log() - out).masked_fill(out.real == lowest, lowest)
        return (logcumsumexp(gains.flip(dim), dim).flip(dim) + x).exp()
    nothing = out == lowest                             # all of x[:i + 1] is -inf, which no gradient moves
    gains = (grad.masked_fill(grad <= 0, 1).log() - out).masked_fill((grad <= 0) | nothing, lowest)
    losses = ((-grad).masked_fill(grad >= 0, 1).log() - out).masked_fill((grad >= 0) | nothing, lowest)
    return ((logcumsumexp(gains.flip(dim), dim).flip(dim) + x).exp() -
            (logcumsumexp(losses.flip(dim), dim).flip(dim) + x).exp())

cdef enum:
    LONGEST_WITH_SHARES = 1024

cdef object shares(object x, object out, int place):
    """exp(x[j] - out[i]) for all j <= i, with dimensions j, i in the place of one: how much of the sum i each x is.

    The formula above has no derivative where the gradient is 0, as it takes logarithms; and this takes n * n numbers.
    """
    n = x.size(place)
    distance = x.unsqueeze(place + 1) - out.unsqueeze(place)
    takes_part = x.new_ones((n, n), dtype=dtype_object(BOOL)).triu()
    takes_part = takes_part.reshape((n, n) + (1,) * (x.dim() - place - 1))
    return distance.masked_fill(~takes_part | (out.real == float("-inf")).unsqueeze(place), float("-inf")).exp()

@LOGCUMSUMEXP.infer
def logcumsumexp_infer(TensorBase x, dim):
    return floating_result(x, dim, "logcumsumexp")

@LOGCUMSUMEXP.kernel
def logcumsumexp_kernel(TensorBase out, TensorBase x, dim):
    cdef int d = dim_of(dim, x, "logcumsumexp"), kernel = kernel_dtype(x.dtype_)
    scan(x, out, d, kernel, logcumsumexp_loops[kernel])

def logcumsumexp(TensorBase input not None, dim, *, out=None):
    """Running logarithm of the sum of exponentials along a dimension.

    Parameters
    ----------
    input : Tensor, floating or complex
    dim : int

    Returns
    -------
    Tensor of the same shape; log(exp(x[0]) + ... + exp(x[i])), without overflow on the way

    >>> import tensorlab
    >>> tensorlab.logcumsumexp(tensorlab.tensor([0., 0., 1000.]), 0)
    tensor([0.0000e+00, 6.9315e-01, 1.0000e+03])
    """
    return run_2(LOGCUMSUMEXP, input, plain_ints(dim), out, NO_PARTIAL_OVERLAP)


# ---------------------------------------------------------------- cumprod
cdef void cumprod_loop(void** data, ssize n, total* as_this) noexcept nogil:
    cdef total* out = <total*>data[0]
    cdef total* x = <total*>data[1]
    cdef double wide = 1
    cdef int64_t whole = 1
    for i in range(n):
        if total is int64_t:
            whole *= x[i]
            out[i] = whole
        else:
            wide *= x[i]
            out[i] = <total>wide

cdef void complex_cumprod_loop(void** data, ssize n, complex_number* as_this) noexcept nogil:
    cdef complex_number* out = <complex_number*>data[0]
    cdef complex_number* x = <complex_number*>data[1]
    cdef complex128 wide = 1
    cdef ssize i
    for i in range(n):
        wide *= x[i]
        out[i] = <complex_number>wide

cdef dim_loop[NUM_DTYPES] cumprod_loops
cumprod_loops[COMPLEX64] = <dim_loop>complex_cumprod_loop[complex64]
cumprod_loops[COMPLEX128] = <dim_loop>complex_cumprod_loop[complex128]
cumprod_loops[FLOAT32] = <dim_loop>cumprod_loop[float]
cumprod_loops[FLOAT64] = <dim_loop>cumprod_loop[double]
cumprod_loops[INT64] = <dim_loop>cumprod_loop[int64_t]

cdef Op CUMPROD = Op("cumprod(Tensor x, int dim, *, ScalarType? dtype=None) -> Tensor")

@CUMPROD.derivative("x")
def cumprod_derivative(grad, x, out, dim, dtype):
    # `out` is not needed: PyTorch divides it by x and so refuses a result that was written to, and programs notice.
    return cumprod_backward(grad, x if dtype is None else x.to(dtype), dim)

@CUMPROD.infer
def cumprod_infer(TensorBase x, dim, dtype):
    dim_of(dim, x, "cumprod")
    return result_beside(x, running_dtype(x, dtype, "cumprod"), x.ndim_, x.sizes)

@CUMPROD.kernel
def cumprod_kernel(TensorBase out, TensorBase x, dim, dtype):
    cdef int kernel = scan_dtype(out.dtype_)
    scan(x, out, dim_of(dim, x, "cumprod"), kernel, cumprod_loops[kernel])

cdef Op CUMPROD_ = inplace_op(CUMPROD)

def cumprod(TensorBase input not None, dim, *, dtype=None, out=None):
    """Running product along a dimension. Its gradient is right where elements are 0, too.

    Parameters
    ----------
    input : Tensor
    dim : int
    dtype : the type to multiply in; integers and bools are multiplied in int64 if it is not given
    out : Tensor, optional; the result is written there

    >>> import tensorlab
    >>> tensorlab.tensor([1., 2., 3.]).cumprod(0)
    tensor([1., 2., 6.])
    """
    return run_3(CUMPROD, input, plain_ints(dim), dtype_or_that_of(dtype, out), out, NO_PARTIAL_OVERLAP)

def cumprod_(TensorBase input not None, dim, *, dtype=None):
    """`cumprod`, written over `input`, in its type.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.tensor([1, 2, 3]).cumprod_(0)
    tensor([1, 2, 6])
    """
    return run_3(CUMPROD_, input, dim_to_write(input, dim, "cumprod_"), None)


# ---------------------------------------------------------------- cumprod_backward
cdef void cumprod_backward_loop(void** data, ssize n, real* as_this) noexcept nogil:
    """out[k] = (product before k) * rest[k], where rest[k] = grad[k] + x[k + 1] * rest[k + 1]: no division, so zeros
    do."""
    cdef real* out = <real*>data[0]
    cdef real* grad = <real*>data[1]
    cdef real* x = <real*>data[2]
    cdef double rest = 0, before = 1
    cdef ssize i
    for i in range(n - 1, -1, -1):
        rest = grad[i] + (x[i + 1] * rest if i + 1 < n else 0)
        out[i] = <real>rest
    for i in range(n):
        out[i] = <real>(out[i] * before)
        before *= x[i]

cdef void complex_cumprod_backward_loop(void** data, ssize n, complex_number* as_this) noexcept nogil:
    cdef complex_number* out = <complex_number*>data[0]
    cdef complex_number* grad = <complex_number*>data[1]
    cdef complex_number* x = <complex_number*>data[2]
    cdef complex128 rest = 0, before = 1
    cdef ssize i
    for i in range(n - 1, -1, -1):
        rest = grad[i] + (x[i + 1] * rest if i + 1 < n else 0)
        out[i] = <complex_number>rest
    for i in range(n):
        out[i] = <complex_number>(out[i] * before)
        before *= x[i]

cdef dim_loop[NUM_DTYPES] cumprod_backward_loops
cumprod_backward_loops[FLOAT32] = <dim_loop>cumprod_backward_loop[float]
cumprod_backward_loops[FLOAT64] = <dim_loop>cumprod_backward_loop[double]
cumprod_backward_loops[COMPLEX64] = <dim_loop>complex_cumprod_backward_loop[complex64]
cumprod_backward_loops[COMPLEX128] = <dim_loop>complex_cumprod_backward_loop[complex128]

cdef Op CUMPROD_BACKWARD = Op("cumprod_backward(Tensor grad, Tensor x, int dim) -> Tensor")

cdef tuple square_of(TensorBase x, int dim):
    """Row k holds x with a 1 instead of x[k], along the last of two dimensions; the diagonal; what lies before it."""
    from tensorlab.ops.ranges import arange
    x = x.movedim(dim, -1)
    index = arange(x.size(-1))
    is_diagonal = index.unsqueeze(0) == index.unsqueeze(1)
    is_before = index.unsqueeze(0) < index.unsqueeze(1)
    return x.unsqueeze(-2).masked_fill(is_diagonal, 1), is_diagonal, is_before

@CUMPROD_BACKWARD.derivative("grad")
def cumprod_backward_derivative_grad(grad, x, dim):
    # Row k of the cumprod of the square is the derivative of the results by x[k]. This costs memory for n * n numbers,
    # but only second derivatives come here.
    square, _, is_before = square_of(x, dim)
    slopes = cumprod(square, -1).masked_fill(is_before, 0)
    return (grad.movedim(dim, -1).unsqueeze(-1) * slopes).sum(-2).movedim(-1, dim)

@CUMPROD_BACKWARD.derivative("x")
def cumprod_backward_derivative_x(grad, grad_, x, dim):
    square, is_diagonal, is_before = square_of(x, dim)
    pairs = grad.movedim(dim, -1).unsqueeze(-1) * grad_.movedim(dim, -1).unsqueeze(-2)
    slopes = cumprod_backward(pairs.masked_fill(is_before, 0), square, square.dim() - 1)
    return slopes.masked_fill(is_diagonal, 0).sum(-2).movedim(-1, dim)

@CUMPROD_BACKWARD.infer
def cumprod_backward_infer(TensorBase grad, TensorBase x, dim):
    cdef TensorBase out = floating_result(x, dim, "cumprod_backward")
    if grad.ndim_ != x.ndim_ or not same_numbers(x.ndim_, grad.sizes, x.sizes):
        raise ShapeError(f"cumprod_backward: grad has shape {shape_text(grad.ndim_, grad.sizes)} and x has shape "
                         f"{shape_text(x.ndim_, x.sizes)}; they must be equal")
    return out

@CUMPROD_BACKWARD.kernel
def cumprod_backward_kernel(TensorBase out, TensorBase grad, TensorBase x, dim):
    cdef int d = dim_of(dim, x, "cumprod_backward"), kernel = kernel_dtype(x.dtype_)
    cdef DimIterator iter
    start_iterator(&iter, out, d)
    add_operand(&iter, out, d, kernel, True)
    add_operand(&iter, grad, d, kernel, False)
    add_operand(&iter, x, d, kernel, False)
    dim_apply(&iter, cumprod_backward_loops[kernel], NULL, GRAIN)

def cumprod_backward(TensorBase grad not None, TensorBase x not None, dim):
    """The gradient of cumprod."""
    return grad if x.ndim_ == 0 else run_3(CUMPROD_BACKWARD, grad, x, plain_ints(dim))


# ---------------------------------------------------------------- cummax, cummin
cdef inline void running_extreme(void** data, ssize n, number* values, bint is_min) noexcept nogil:
    """The last of equal elements is chosen, and a nan stays."""
    cdef number* x = <number*>data[2]
    cdef int64_t* indices = <int64_t*>data[1]
    cdef number best
    cdef int64_t at = 0
    cdef ssize i
    if n > 0:
        best = x[0]
    for i in range(n):
        if x[i] != x[i] or (best == best and (x[i] <= best if is_min else x[i] >= best)):
            best = x[i]
            at = i
        values[i] = best
        indices[i] = at

cdef void cummax_loop(void** data, ssize n, number* as_this) noexcept nogil:
    running_extreme(data, n, <number*>data[0], False)

cdef void cummin_loop(void** data, ssize n, number* as_this) noexcept nogil:
    running_extreme(data, n, <number*>data[0], True)

cdef dim_loop[NUM_DTYPES] cummax_loops, cummin_loops

cdef void set_loops(int dtype, number as_this) noexcept:
    cummax_loops[dtype] = <dim_loop>cummax_loop[number]
    cummin_loops[dtype] = <dim_loop>cummin_loop[number]

set_loops[uint8_t](BOOL, 0)
set_loops[uint8_t](UINT8, 0)
set_loops[int8_t](INT8, 0)
set_loops[int16_t](INT16, 0)
set_loops[int32_t](INT32, 0)
set_loops[int64_t](INT64, 0)
set_loops[float](FLOAT32, 0)
set_loops[double](FLOAT64, 0)

cdef Op CUMMAX = Op("cummax(Tensor x, int dim) -> (Tensor values, Tensor indices)")
cdef Op CUMMIN = Op("cummin(Tensor x, int dim) -> (Tensor values, Tensor indices)")

CUMMAX.derivative("x")(chosen_derivative)
CUMMIN.derivative("x")(chosen_derivative)

cdef tuple running_results(TensorBase x, object dim, str where):
    dim_of(dim, x, where)
    check_dtype(where, x, ORDERED)
    return result_beside(x, x.dtype_, x.ndim_, x.sizes), result_beside(x, INT64, x.ndim_, x.sizes)

cdef int run_both(TensorBase values, TensorBase indices, TensorBase x, object dim, dim_loop* loops) except -1:
    cdef int d = dim_of(dim, x, "cummax"), kernel = kernel_dtype(x.dtype_)
    cdef DimIterator iter
    start_iterator(&iter, values, d)
    add_operand(&iter, values, d, kernel, True)
    add_operand(&iter, indices, d, INT64, True)
    add_operand(&iter, x, d, kernel, False)
    return dim_apply(&iter, loops[kernel], NULL, GRAIN)

@CUMMAX.infer
def cummax_infer(TensorBase x, dim):
    return running_results(x, dim, "cummax")

@CUMMAX.kernel
def cummax_kernel(TensorBase values, TensorBase indices, TensorBase x, dim):
    run_both(values, indices, x, dim, cummax_loops)

@CUMMIN.infer
def cummin_infer(TensorBase x, dim):
    return running_results(x, dim, "cummin")

@CUMMIN.kernel
def cummin_kernel(TensorBase values, TensorBase indices, TensorBase x, dim):
    run_both(values, indices, x, dim, cummin_loops)

def cummax(TensorBase input not None, dim, *, out=None):
    """Running maximum along a dimension, with the index of each maximum (the last among equal elements).

    Returns
    -------
    (values, indices)

    >>> import tensorlab
    >>> tensorlab.tensor([1., 3., 2.]).cummax(0).values
    tensor([1., 3., 3.])
    """
    return return_types.cummax(run_2(CUMMAX, input, plain_ints(dim), out))

def cummin(TensorBase input not None, dim, *, out=None):
    """Running minimum along a dimension, with the index of each minimum (the last among equal elements). See
    `cummax`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cummin(tensorlab.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
    """
    return return_types.cummin(run_2(CUMMIN, input, plain_ints(dim), out))


# ---------------------------------------------------------------- diff: from other ops
def diff(TensorBase input not None, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """Differences of neighbours along a dimension, taken n times.

    Parameters
    ----------
    input : Tensor; for bools the difference is whether they differ
    n : int, how many times
    dim : int
    prepend, append : Tensor, joined to the input first, optional

    Returns
    -------
    Tensor, n elements shorter along `dim`

    >>> import tensorlab
    >>> tensorlab.tensor([1, 4, 9]).diff()
    tensor([3, 5])
    """
    from tensorlab.ops.joining import cat
    cdef ssize times = int_argument(n, "diff", "n")
    cdef int d = dim_of(dim, input, "diff")
    if input.ndim_ == 0:
        raise ShapeError("diff: a 0-d tensor has no neighbours; expected at least one dimension")
    if times < 0:
        raise ShapeError(f"diff: n is {times}; expected 0 or more")
    parts = [part for part in (prepend, input, append) if part is not None]
    if times == 0:
        x = (<object>input).clone()                     # without what is to be joined to it
    else:
        x = cat(parts, d) if len(parts) > 1 else input
    for _ in range(min(times, x.size(d))):
        length = x.size(d)
        later, earlier = x.narrow(d, 1, length - 1), x.narrow(d, 0, length - 1)
        x = later != earlier if input.dtype_ == BOOL else later - earlier
    return store_out("diff", x, out, (prepend, input, append), CASTS)
