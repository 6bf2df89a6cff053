"""softmax and log_softmax, and their gradients.

exp overflows for arguments above 88 (float32), so the row's largest element is subtracted first, which changes nothing
in the quotient: exp(x - m) / sum(exp(x - m)) has no argument above 0.
"""
from libc.float cimport DBL_MAX, FLT_MAX
from libc.stdlib cimport free, malloc

cimport tensorlab._core.loops.tl_math as tl_math
from tensorlab._core.dispatch.dispatch cimport run_3
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_same_place, same_numbers
from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, FLOATING, NUM_DTYPES, dtype_code, dtype_object, is_in, kernel_dtype, real
from tensorlab._core.graph.graph cimport dim_of
from tensorlab._core.layout cimport plain_ints, shape_text, ssize
from tensorlab._core.loops.parallel cimport grain_of, parallel_for, range_body
from tensorlab._core.tensor cimport TensorBase, alias, result_beside
from tensorlab.ops.dim_iterator cimport STRIP, DimIterator, add_operand, dim_apply, dim_loop, start_iterator, strip_loop
from tensorlab.ops.inner_loops cimport INFINITY, exp_nonpositive, exp_shifted, largest, pairwise_sum, sum_of_products

from tensorlab.errors import ShapeError, UnsupportedDType

cdef enum:
    GRAIN = 8192                # elements that make a thread worth starting
    FEW = 4
    PART = 512                  # rows of slices across memory that have a shift of their own


cdef struct Loops:              # of one op, by the type that is computed in
    dim_loop[NUM_DTYPES] slice
    strip_loop[NUM_DTYPES] strip


cdef int run_along(TensorBase out, TensorBase x, TensorBase y, int dim, const Loops* loops) except -1:
    """Fill `out` with the loops' results for x, or for x and y, along `dim`."""
    cdef int kernel = kernel_dtype(out.dtype_)
    cdef DimIterator iter
    if out.numel_ == 0:                                 # perhaps of a type that has no loops
        return 0
    start_iterator(&iter, out, dim)
    add_operand(&iter, out, dim, kernel, True)
    add_operand(&iter, x, dim, kernel, False)
    if y is not None:
        add_operand(&iter, y, dim, kernel, False)
    iter.strip = loops.strip[kernel]
    if y is None:
        iter.shared_rows = PART
    return dim_apply(&iter, loops.slice[kernel], NULL, GRAIN)


cdef void set_loops(Loops* loops, void* float_loop, void* double_loop, void* float_strip, void* double_strip) noexcept:
    loops.slice[FLOAT32], loops.slice[FLOAT64] = <dim_loop>float_loop, <dim_loop>double_loop
    loops.strip[FLOAT32], loops.strip[FLOAT64] = <strip_loop>float_strip, <strip_loop>double_strip


cdef void shifts_of(real* shift, real* x, ssize x_stride, ssize n, ssize width) noexcept nogil:
    """The largest element of each of `width` slices across memory, or the smallest finite number."""
    cdef ssize i = 0, j
    for j in range(width):
        shift[j] = -FLT_MAX if real is float else -DBL_MAX
    while i + FEW <= n:
        raise_shifts(shift, x + i * x_stride, x_stride, FEW, width)
        i += FEW
    while i < n:
        raise_shifts(shift, x + i * x_stride, x_stride, 1, width)
        i += 1


cdef inline void raise_shifts(real* shift, real* x, ssize x_stride, int rows, ssize width) noexcept nogil:
    """Several rows at a time, so that the shifts are read and written less often."""
    cdef real top
    cdef ssize j
    cdef int k
    for j in range(width):
        top = shift[j]
        for k in range(rows):
            top = x[j + k * x_stride] if x[j + k * x_stride] > top else top
        shift[j] = top


cdef void exp_strip(real* total, real* out, ssize out_stride, real* x, ssize x_stride, real* shift, ssize n,
                    ssize width) noexcept nogil:
    """out = exp(x - shift) of `width` slices that run across memory, and the sum of each."""
    cdef real* from_row
    cdef real* to_row
    cdef ssize i, j
    for j in range(width):
        total[j] = 0
    for i in range(n):
        to_row, from_row = out + i * out_stride, x + i * x_stride
        for j in range(width):
            to_row[j] = exp_nonpositive(from_row[j] - shift[j])
            total[j] += to_row[j]


# A strip of slices across memory is taken in parts of PART rows, which threads share: each then
# reads whole rows, one after the other, where its share of each row would be a run too short to be
# fetched early. A part subtracts its own largest elements, so that it is read once for them and the
# exponentials; its factors make up for that. The bits don't depend on the number of threads.
cdef struct Strip:
    void** data                     # the result and x, as a strip loop gets them
    ssize* strides
    ssize n, width
    ssize parts, part               # how many, and rows of each but for the last
    void* memory                    # of what follows, NULL if the caller's small buffers do
    void* shift                     # for each slice in the first part, in the second ...: what is subtracted
    void* total                     # likewise the sum of its exponentials
    void* top                       # the largest element of each slice
    void* sum                       # of its exp(x - top)


cdef void start_strip(Strip* strip, real* small, real** data, ssize* strides, ssize n, ssize width) noexcept nogil:
    """Share out the exponentials and sum them; `small` has four numbers for each slice."""
    cdef real* shift
    cdef real* total
    strip.data, strip.strides, strip.n, strip.width = <void**>data, strides, n, width
    strip.parts, strip.part, strip.memory = (n + PART - 1) // PART, PART, NULL
    if strip.parts > 1:
        strip.memory = malloc((2 * strip.parts + 2) * width * sizeof(real))
    if strip.memory == NULL:
        strip.parts, strip.part = 1, n
    shift = small if strip.memory == NULL else <real*>strip.memory
    total = shift + strip.parts * width
    strip.shift, strip.total = shift, total
    strip.top, strip.sum = total + strip.parts * width, total + (strip.parts + 1) * width
    share_rows(strip, <range_body>exp_rows[real])
    sum_parts(strip, <real*>strip.top, <real*>strip.sum)


cdef void share_rows(Strip* strip, range_body body) noexcept nogil:
    parallel_for(body, strip, strip.parts, grain_of(GRAIN, strip.part * strip.width))


cdef void exp_rows(real* context, ssize begin, ssize end) noexcept nogil:
    """out = exp(x - shift) of some parts, and the sum for each slice and part."""
    cdef Strip* strip = <Strip*><void*>context
    cdef real* out
    cdef real* x
    cdef real* shift
    cdef ssize p, rows
    for p in range(begin, end):
        out = <real*>strip.data[0] + p * strip.part * strip.strides[0]
        x = <real*>strip.data[1] + p * strip.part * strip.strides[1]
        shift = <real*>strip.shift + p * strip.width
        rows = min(strip.part, strip.n - p * strip.part)
        shifts_of(shift, x, strip.strides[1], rows, strip.width)
        exp_strip(<real*>strip.total + p * strip.width, out, strip.strides[0], x, strip.strides[1], shift, rows, strip.width)


cdef void sum_parts(Strip* strip, real* top, real* sum) noexcept nogil:
    """Find what each slice has in all parts. Shifts become exp(shift - top)."""
    cdef real* shift = <real*>strip.shift
    cdef real* total = <real*>strip.total
    cdef ssize _p, j
    shifts_of(top, shift, strip.width, strip.parts, strip.width)
    for j in range(strip.width):
        sum[j] = 0
    for _p in range(strip.parts):
        for j in range(strip.width):
            shift[j] = exp_nonpositive(shift[j] - top[j])
            sum[j] += shift[j] * total[j]
        shift, total = shift + strip.width, total + strip.width


cdef int softmax_dtype(TensorBase x, object dtype, str where) except -1:
    cdef int code = dtype_code(dtype, x.dtype_)
    if not is_in(code, FLOATING) and x.numel_ > 0:          # nothing is computed for no elements, as in PyTorch
        raise UnsupportedDType(f"{where}: not implemented for {dtype_object(code)}; give dtype=tensorlab.float32, or "
                               f"convert the tensor with .float()")
    return code


cdef TensorBase forward_result(TensorBase x, object dim, object dtype, str where):
    dim_of(dim, x, where)
    return result_beside(x, softmax_dtype(x, dtype, where), x.ndim_, x.sizes)


cdef TensorBase backward_result(TensorBase grad, TensorBase y, object dim, str where):
    """Of a gradient and the result that it is of."""
    dim_of(dim, y, where)
    if grad.ndim_ != y.ndim_ or not same_numbers(y.ndim_, grad.sizes, y.sizes):
        raise ShapeError(f"{where}: the gradient has shape {shape_text(grad.ndim_, grad.sizes)}, but the result has "
                         f"{shape_text(y.ndim_, y.sizes)}; they must be equal")
    check_same_place(grad, y, where)
    return result_beside(grad, softmax_dtype(y, None, where), y.ndim_, y.sizes)


# ---------------------------------------------------------------- softmax
cdef void softmax_loop(void** data, ssize n, real* as_this) noexcept nogil:
    cdef real* out = <real*>data[0]
    cdef real* x = <real*>data[1]
    cdef real factor
    exp_shifted(out, x, largest(x, n), n)
    factor = 1 / pairwise_sum(out, n)
    for i in range(n):
        out[i] *= factor

cdef void softmax_strip(real** data, ssize* strides, ssize n, ssize width) noexcept nogil:
    cdef real[4 * STRIP] small
    cdef Strip strip
    start_strip(&strip, small, data, strides, n, width)
    share_rows(&strip, <range_body>scale_rows[real])
    free(strip.memory)

cdef void scale_rows(real* context, ssize begin, ssize end) noexcept nogil:
    cdef Strip* strip = <Strip*><void*>context
    cdef real* factor
    cdef real* row
    cdef real* sum = <real*>strip.sum
    cdef ssize p, i, j
    for p in range(begin, end):
        factor = <real*>strip.shift + p * strip.width
        for j in range(strip.width):
            factor[j] /= sum[j]
        for i in range(p * strip.part, min((p + 1) * strip.part, strip.n)):
            row = <real*>strip.data[0] + i * strip.strides[0]
            for j in range(strip.width):
                row[j] *= factor[j]

cdef Loops softmax_loops
set_loops(&softmax_loops, <void*>softmax_loop[float], <void*>softmax_loop[double], <void*>softmax_strip[float],
          <void*>softmax_strip[double])

cdef Op SOFTMAX = Op("softmax(Tensor x, int dim, ScalarType? dtype=None) -> Tensor",
                     aten="softmax.int")

@SOFTMAX.infer
def softmax_infer(TensorBase x, dim, dtype):
    return forward_result(x, dim, dtype, "softmax")

@SOFTMAX.kernel
def softmax_kernel(TensorBase out, TensorBase x, dim, dtype):
    run_along(out, x, None, dim_of(dim, x, "softmax"), &softmax_loops)

@SOFTMAX.derivative("x")
def softmax_derivative(grad, out, dim):
    return run_3(SOFTMAX_BACKWARD, grad, out, dim)

def softmax(TensorBase input not None, dim, dtype=None, *, out=None):
    """exp(x) / sum(exp(x)) along a dimension: numbers between 0 and 1 whose sum is 1.

    Parameters
    ----------
    input : Tensor, floating (or any, if a floating `dtype` is given)
    dim : int
    dtype : the floating type to compute in

    Returns
    -------
    Tensor of the same shape, row-major

    Raises
    ------
    UnsupportedDType
        If the type is not floating.
    DimensionError
        If the dimension is out of range.

    >>> import tensorlab
    >>> tensorlab.tensor([0., 0., 1000.]).softmax(0)
    tensor([0., 0., 1.])
    """
    return run_3(SOFTMAX, input, plain_ints(dim), dtype, out)


# ---------------------------------------------------------------- _safe_softmax
# Of scores that are all masked out; programs that PyTorch has traced call it.
cdef Op SAFE_SOFTMAX = Op("_safe_softmax(Tensor x, int dim, ScalarType? dtype=None) -> Tensor")

@SAFE_SOFTMAX.compose
def safe_softmax_of(TensorBase x, dim, dtype):
    """softmax, but zeros where all numbers are -inf."""
    scores = alias(x)                                   # without its history
    return softmax(scores, dim, dtype=dtype).masked_fill((scores == -INFINITY).all(dim, keepdim=True), 0)

@SAFE_SOFTMAX.derivative("x")
def safe_softmax_derivative(grad, out, dim):
    return run_3(SOFTMAX_BACKWARD, grad, out, dim)


# ---------------------------------------------------------------- softmax_backward: y * (grad - sum(grad * y)) in one pass
cdef void softmax_backward_loop(void** data, ssize n, real* as_this) noexcept nogil:
    cdef real* out = <real*>data[0]
    cdef real* grad = <real*>data[1]
    cdef real* y = <real*>data[2]
    cdef real shared = sum_of_products(grad, y, n)
    for i in range(n):
        out[i] = (grad[i] - shared) * y[i]

cdef void softmax_backward_strip(real** data, ssize* strides, ssize n, ssize width) noexcept nogil:
    cdef real[STRIP] shared
    cdef real* out
    cdef real* grad
    cdef real* y
    cdef ssize i, j
    for j in range(width):
        shared[j] = 0
    for i in range(n):
        grad, y = data[1] + i * strides[1], data[2] + i * strides[2]
        for j in range(width):
            shared[j] += grad[j] * y[j]
    for i in range(n):
        out, grad, y = data[0] + i * strides[0], data[1] + i * strides[1], data[2] + i * strides[2]
        for j in range(width):
            out[j] = (grad[j] - shared[j]) * y[j]

cdef Loops softmax_backward_loops
set_loops(&softmax_backward_loops, <void*>softmax_backward_loop[float], <void*>softmax_backward_loop[double],
          <void*>softmax_backward_strip[float], <void*>softmax_backward_strip[double])

cdef Op SOFTMAX_BACKWARD = Op("softmax_backward(Tensor grad, Tensor y, int dim) -> Tensor")

@SOFTMAX_BACKWARD.infer
def softmax_backward_infer(TensorBase grad, TensorBase y, dim):
    return backward_result(grad, y, dim, "softmax_backward")

@SOFTMAX_BACKWARD.kernel
def softmax_backward_kernel(TensorBase out, TensorBase grad, TensorBase y, dim):
    run_along(out, grad, y, dim_of(dim, y, "softmax_backward"), &softmax_backward_loops)

@SOFTMAX_BACKWARD.derivative("grad")
def softmax_backward_derivative_grad(grad, y, dim):
    return run_3(SOFTMAX_BACKWARD, grad, y, dim)        # the derivative of softmax is a symmetric matrix

@SOFTMAX_BACKWARD.derivative("y")
def softmax_backward_derivative_y(grad, grad_, y, dim):
    return grad * (grad_ - (grad_ * y).sum(dim, True)) - grad_ * (grad * y).sum(dim, True)


# ---------------------------------------------------------------- log_softmax
cdef void log_softmax_loop(void** data, ssize n, real* as_this) noexcept nogil:
    cdef real* out = <real*>data[0]
    cdef real* x = <real*>data[1]
    cdef real shift = largest(x, n), log_of_sum
    exp_shifted(out, x, shift, n)
    log_of_sum = tl_math.log(pairwise_sum(out, n))
    for i in range(n):
        out[i] = (x[i] - shift) - log_of_sum

cdef void log_softmax_strip(real** data, ssize* strides, ssize n, ssize width) noexcept nogil:
    cdef real[4 * STRIP] small
    cdef Strip strip
    cdef real* sum
    cdef ssize j
    start_strip(&strip, small, data, strides, n, width)
    sum = <real*>strip.sum
    for j in range(width):
        sum[j] = tl_math.log(sum[j])
    share_rows(&strip, <range_body>subtract_rows[real])
    free(strip.memory)

cdef void subtract_rows(real* context, ssize begin, ssize end) noexcept nogil:
    cdef Strip* strip = <Strip*><void*>context
    cdef real* out
    cdef real* x
    cdef real* top = <real*>strip.top
    cdef real* log_of_sum = <real*>strip.sum
    cdef ssize i, j
    for i in range(begin * strip.part, min(end * strip.part, strip.n)):
        out, x = <real*>strip.data[0] + i * strip.strides[0], <real*>strip.data[1] + i * strip.strides[1]
        for j in range(strip.width):
            out[j] = (x[j] - top[j]) - log_of_sum[j]

cdef Loops log_softmax_loops
set_loops(&log_softmax_loops, <void*>log_softmax_loop[float], <void*>log_softmax_loop[double],
          <void*>log_softmax_strip[float], <void*>log_softmax_strip[double])

cdef Op LOG_SOFTMAX = Op("log_softmax(Tensor x, int dim, ScalarType? dtype=None) -> Tensor",
                         aten="log_softmax.int")

@LOG_SOFTMAX.infer
def log_softmax_infer(TensorBase x, dim, dtype):
    return forward_result(x, dim, dtype, "log_softmax")

@LOG_SOFTMAX.kernel
def log_softmax_kernel(TensorBase out, TensorBase x, dim, dtype):
    run_along(out, x, None, dim_of(dim, x, "log_softmax"), &log_softmax_loops)

@LOG_SOFTMAX.derivative("x")
def log_softmax_derivative(grad, out, dim):
    return run_3(LOG_SOFTMAX_BACKWARD, grad, out, dim)

def log_softmax(TensorBase input not None, dim, dtype=None, *, out=None):
    """Logarithm of the softmax along a dimension: x - log(sum(exp(x))), without overflow.

    Parameters
    ----------
    input : Tensor, floating (or any, if a floating `dtype` is given)
    dim : int
    dtype : the floating type to compute in

    Returns
    -------
    Tensor of the same shape, row-major

    Raises
    ------
    UnsupportedDType
        If the type is not floating.
    DimensionError
        If the dimension is out of range.

    >>> import tensorlab
    >>> tensorlab.tensor([0., 0., 1000.]).log_softmax(0)
    tensor([-1000., -1000.,     0.])
    """
    return run_3(LOG_SOFTMAX, input, plain_ints(dim), dtype, out)


# ---------------------------------------------------------------- log_softmax_backward: grad - exp(y) * sum(grad) in one pass
cdef void log_softmax_backward_loop(void** data, ssize n, real* as_this) noexcept nogil:
    cdef real* out = <real*>data[0]
    cdef real* grad = <real*>data[1]
    cdef real* y = <real*>data[2]
    cdef real total = pairwise_sum(grad, n)
    for i in range(n):
        out[i] = grad[i] - exp_nonpositive(y[i]) * total

cdef void log_softmax_backward_strip(real** data, ssize* strides, ssize n, ssize width) noexcept nogil:
    cdef real[STRIP] total
    cdef real* out
    cdef real* grad
    cdef real* y
    cdef ssize i, j
    for j in range(width):
        total[j] = 0
    for i in range(n):
        grad = data[1] + i * strides[1]
        for j in range(width):
            total[j] += grad[j]
    for i in range(n):
        out, grad, y = data[0] + i * strides[0], data[1] + i * strides[1], data[2] + i * strides[2]
        for j in range(width):
            out[j] = grad[j] - exp_nonpositive(y[j]) * total[j]

cdef Loops log_softmax_backward_loops
set_loops(&log_softmax_backward_loops, <void*>log_softmax_backward_loop[float],
          <void*>log_softmax_backward_loop[double],
          <void*>log_softmax_backward_strip[float], <void*>log_softmax_backward_strip[double])

cdef Op LOG_SOFTMAX_BACKWARD = Op("log_softmax_backward(Tensor grad, Tensor y, int dim) -> Tensor")

@LOG_SOFTMAX_BACKWARD.infer
def log_softmax_backward_infer(TensorBase grad, TensorBase y, dim):
    return backward_result(grad, y, dim, "log_softmax_backward")

@LOG_SOFTMAX_BACKWARD.kernel
def log_softmax_backward_kernel(TensorBase out, TensorBase grad, TensorBase y, dim):
    run_along(out, grad, y, dim_of(dim, y, "log_softmax_backward"), &log_softmax_backward_loops)

@LOG_SOFTMAX_BACKWARD.derivative("grad")
def log_softmax_backward_derivative_grad(grad, y, dim):
    return grad - (grad * y.exp()).sum(dim, True)

@LOG_SOFTMAX_BACKWARD.derivative("y")
def log_softmax_backward_derivative_y(grad, grad_, y, dim):
    return -(grad * y.exp()) * grad_.sum(dim, True)


# ---------------------------------------------------------------- softmin
def softmin(TensorBase input not None, dim, dtype=None):
    """softmax of -x: the smallest element has the largest share.

    >>> import tensorlab
    >>> tensorlab.nn.functional.softmin(tensorlab.tensor([0., 0., 1000.]), 0)
    tensor([0.5000, 0.5000, 0.0000])
    """
    return softmax(-input, dim, dtype)
