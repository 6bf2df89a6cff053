"""Normalisation: bringing groups of values to mean 0 and variance 1.

layer_norm's gradient. With xhat = (x - mean) * r, r = 1 / sqrt(variance + eps), n values in a row and g the gradient
times the weight, the gradient by x is r * (g - mean(g) - xhat * mean(g * xhat)): what is left of g when its share along
the ones and its share along xhat are taken away, because neither shifting nor scaling a row changes the result.
"""
from libc.math cimport sqrt
from libc.string cimport memset

cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.dispatch.dispatch cimport run_tuple
from tensorlab._core.dispatch.levels cimport will_differentiate_again
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype, check_same_place, same_numbers
from tensorlab._core.dtypes cimport (
    FLOATING, INEXACT, dtype_object, is_double, item_size, kernel_dtype, real
)
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, read_sizes, shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_into, plain_as, plain_result, put_back
from tensorlab._core.loops.parallel cimport parallel_for, share_work, thread_count
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.tensor cimport TensorBase, empty_beside, make_size, memory_of, result_beside
from tensorlab.ops.inner_loops cimport pairwise_sum
from tensorlab.ops.moments cimport sum_of_squares, weighted_sums

from tensorlab.errors import DTypeError, ShapeError

cdef enum:
    REGISTER = 8                # floats in a register; it takes half as many doubles
    STRIP = 2048                # columns whose sums are kept in the L1 cache
    GRAIN = 16384               # elements that make a thread worth starting
    ROWS_OF_A_PASS = 64         # from which all gradients are computed in one pass

cdef struct Rows:               # m rows of n values, next to each other, in the type of computing
    ssize m
    ssize n
    double eps
    void* x
    void* grad
    void* weight                # NULL if there is none
    void* bias
    void* mean
    void* rstd
    void* out
    void* totals                # of each piece of the rows: the sums that are its share of two gradients
    ssize pieces
    void* loop                  # a rows_loop, of that type

ctypedef void (*rows_loop)(Rows* rows, ssize begin, ssize end, void* means) noexcept nogil


# ---------------------------------------------------------------- arguments
cdef inline void* data_of(TensorBase x) except? NULL:
    return memory_of(x) if x is not None else NULL


cdef int split(TensorBase x, object normalized_shape, Rows* rows, str where, int types=FLOATING) except -1:
    """How many rows of how many values the last dimensions make."""
    cdef ssize[MAX_NDIM] sizes
    cdef int count, i
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(f"{where}: normalized_shape must be a tuple of ints, not {type(normalized_shape).__name__}")
    count = read_sizes(normalized_shape, sizes, where)
    check_dtype(where, x, types)
    if count == 0:
        raise ShapeError(f"{where}: normalized_shape is empty; name at least one of the last sizes of the input")
    rows.n = 1
    for i in range(count):
        if count > x.ndim_ or x.sizes[x.ndim_ - count + i] != sizes[i]:
            raise ShapeError(f"{where}: normalized_shape is {tuple(normalized_shape)}, but the input has shape "
                             f"{shape_text(x.ndim_, x.sizes)}; it must be the input's last sizes")
        rows.n *= sizes[i]
    rows.m = x.numel_ // rows.n if rows.n else 0
    return count


cdef int check_parameter(TensorBase parameter, str name, TensorBase x, int count, str where) except -1:
    """Weight and bias have the normalized shape and the input's type (float32 beside half types)."""
    if parameter is None:
        return 0
    check_same_place(x, parameter, where)
    if parameter.ndim_ != count or not same_numbers(count, parameter.sizes, &x.sizes[x.ndim_ - count]):
        raise ShapeError(f"{where}: {name} has shape {shape_text(parameter.ndim_, parameter.sizes)}; expected the normalized "
                         f"shape, {shape_text(count, &x.sizes[x.ndim_ - count])}")
    if parameter.dtype_ != x.dtype_ and parameter.dtype_ != kernel_dtype(x.dtype_):
        raise DTypeError(f"{where}: {name} has type {parameter.dtype} and the input {x.dtype}; convert one of them "
                         "with .to()")
    return 0


cdef int check_backward(TensorBase grad, TensorBase x, object normalized_shape, TensorBase mean, TensorBase rstd, Rows* rows,
                        str where) except -1:
    """The arguments of a gradient: what layer_norm took and returned. Returns how many dimensions were normalized."""
    cdef int count = split(x, normalized_shape, rows, where)
    for one in (grad, mean, rstd):
        check_same_place(x, <TensorBase>one, where)
    if grad.ndim_ != x.ndim_ or not same_numbers(x.ndim_, grad.sizes, x.sizes):
        raise ShapeError(f"{where}: the gradient has shape {shape_text(grad.ndim_, grad.sizes)} and the input "
                         f"{shape_text(x.ndim_, x.sizes)}; they must be equal")
    if mean.numel_ != rows.m or rstd.numel_ != rows.m:
        raise ShapeError(f"{where}: mean and rstd have {mean.numel_} and {rstd.numel_} numbers; expected one for each of "
                         f"{rows.m} rows")
    return count


cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Rows* rows = <Rows*>context
    (<rows_loop>rows.loop)(rows, begin, end, rows.mean)


cdef void run_rows(Rows* rows, void* loop) noexcept:
    """All rows, split over threads."""
    rows.loop = loop
    share_work(run_share, rows, rows.m, rows.m * rows.n, GRAIN)


# ---------------------------------------------------------------- layer_norm: loops
cdef inline void normalize_row(real* out, real* x, real* weight, real* bias, real mean, real rstd,
                               ssize n) noexcept nogil:
    if weight == NULL and bias == NULL:
        for i in range(n):
            out[i] = (x[i] - mean) * rstd
    elif bias == NULL:
        for i in range(n):
            out[i] = (x[i] - mean) * rstd * weight[i]
    elif weight == NULL:
        for i in range(n):
            out[i] = (x[i] - mean) * rstd + bias[i]
    else:
        for i in range(n):
            out[i] = (x[i] - mean) * rstd * weight[i] + bias[i]

cdef inline real moments(real* x, ssize n, real* mean) noexcept nogil:
    """The mean of a short row, and the sum of squares of what is left without it, in one pass (Welford 1962).

    A register's lanes run side by side; then come what fills no register, and lane after lane (Chan et al. 1983). This is
    the order in which PyTorch computes, too, so that what cancels there to exactly 0 does so here.
    """
    cdef int k, width = 4 if real is double else REGISTER
    cdef real[REGISTER] lane_mean, lane_squares
    cdef ssize i, registers = n // width
    cdef real squares = 0, delta, share
    mean[0] = 0
    for i in range(registers * width, n):
        delta = x[i] - mean[0]
        mean[0] += delta / (i - registers * width + 1)
        squares += delta * (x[i] - mean[0])
    if registers == 0:
        return squares
    for k in range(width):
        lane_mean[k] = lane_squares[k] = 0
    for i in range(registers):
        share = <real>1 / (i + 1)
        for k in range(width):
            delta = x[i * width + k] - lane_mean[k]
            lane_mean[k] = c_math.fma(delta, share, lane_mean[k])
            lane_squares[k] = c_math.fma(delta, x[i * width + k] - lane_mean[k], lane_squares[k])
    n -= registers * width
    for k in range(width):
        share = <real>registers / (n + registers)
        delta = lane_mean[k] - mean[0]
        mean[0] = c_math.fma(share, delta, mean[0])
        squares += c_math.fma(delta * delta * share, <real>n, lane_squares[k])
        n += registers
    return squares

cdef void layer_norm_loop(Rows* rows, ssize begin, ssize end, real* means) noexcept nogil:
    cdef real* rstds = <real*>rows.rstd
    cdef real* x
    cdef real squares
    cdef ssize i, n = rows.n, few = 64 if real is double else 128
    for i in range(begin, end):
        x = <real*>rows.x + i * n
        if n < few:
            squares = moments(x, n, &means[i])
        else:
            means[i] = pairwise_sum(x, n) / n
            squares = sum_of_squares(x, means[i], n)
        rstds[i] = <real>1 / <real>sqrt(squares / n + <real>rows.eps)
        normalize_row(<real*>rows.out + i * n, x, <real*>rows.weight, <real*>rows.bias, means[i], rstds[i], n)


# ---------------------------------------------------------------- layer_norm
cdef Op LAYER_NORM = Op("layer_norm(Tensor x, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) "
                        "-> (Tensor out, Tensor mean, Tensor rstd)", aten=None, node="NativeLayerNormBackward0",
                        public={"x": "input", "mean": "result1", "rstd": "result2"}, differentiable=1)

@LAYER_NORM.infer
def layer_norm_infer(TensorBase x, normalized_shape, TensorBase weight, TensorBase bias, eps):
    """New tensors for the results."""
    cdef Rows rows
    cdef int count = split(x, normalized_shape, &rows, "layer_norm"), kernel = kernel_dtype(x.dtype_)
    check_parameter(weight, "weight", x, count, "layer_norm")
    check_parameter(bias, "bias", x, count, "layer_norm")
    return (result_beside(x, x.dtype_, x.ndim_, x.sizes), result_beside(x, kernel, 1, &rows.m),
            result_beside(x, kernel, 1, &rows.m))

@LAYER_NORM.kernel
def layer_norm_kernel(TensorBase out, TensorBase mean, TensorBase rstd, TensorBase x, normalized_shape, TensorBase weight,
                      TensorBase bias, double eps):
    cdef Rows rows
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef TensorBase plain_x = plain_as(x, kernel), w = plain_as(weight, kernel), b = plain_as(bias, kernel)
    cdef TensorBase normalized = plain_result(out)
    split(x, normalized_shape, &rows, "layer_norm")
    rows.eps = eps
    rows.x, rows.weight, rows.bias = memory_of(plain_x), data_of(w), data_of(b)
    rows.mean, rows.rstd, rows.out = memory_of(mean), memory_of(rstd), memory_of(normalized)
    run_rows(&rows, <void*>layer_norm_loop[double] if is_double(kernel) else <void*>layer_norm_loop[float])
    put_back(out, normalized)


# The formula names x, weight and bias, needed or not, as PyTorch's does, and so refuses any of them that was written to.
@LAYER_NORM.derivative("x", "weight", "bias")
def layer_norm_derivative(grad, x, normalized_shape, weight, bias, eps, TensorBase mean, rstd, wanted):
    if False not in wanted and mean.numel_ >= ROWS_OF_A_PASS and not active_layers and not will_differentiate_again():
        return run_tuple(LAYER_NORM_GRADIENTS, (grad, x, normalized_shape, weight, eps, mean, rstd))
    of_x, of_weight, of_bias = wanted
    return (run_tuple(LAYER_NORM_BACKWARD, (grad, x, normalized_shape, weight, eps, mean, rstd)) if of_x else None,
            run_tuple(LAYER_NORM_BACKWARD_WEIGHT, (grad, x, normalized_shape, eps, mean, rstd)) if of_weight else None,
            sum_of_rows(grad, normalized_shape) if of_bias else None)

cdef object sum_of_rows(object grad, object shape):
    total = grad.sum_to_size(shape)
    return total.clone() if total is grad else total    # a tensor of its own, even of one row

def layer_norm(TensorBase input not None, normalized_shape, TensorBase weight=None, TensorBase bias=None,
               double eps=1e-5):
    """Bring the last dimensions to mean 0 and variance 1, then scale by weight and add bias.

    Parameters
    ----------
    input : Tensor, shape (*, *normalized_shape), floating
    normalized_shape : tuple of int
    weight, bias : Tensor, shape normalized_shape, optional
    eps : float, added to the variance

    Returns
    -------
    Tensor of the input's shape, row-major

    Raises
    ------
    ShapeError
        If the last sizes of the input, or the shapes of weight and bias, are others.

    Notes
    -----
    Source: Ba, Kiros and Hinton 2016, "Layer Normalization", equation 4.

    >>> import tensorlab
    >>> tensorlab.nn.functional.layer_norm(tensorlab.tensor([[1., 3.], [0., 8.]]), (2,))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """
    return run_tuple(LAYER_NORM, (input, plain_ints(normalized_shape), weight, bias, eps))[0]


# ---------------------------------------------------------------- layer_norm_backward
cdef inline void backward_row(real* out, real* grad, real* x, real* weight, real mean, real rstd, ssize n) noexcept nogil:
    cdef real with_x
    cdef real shared = weighted_sums(grad, weight, x, mean, n, &with_x) / n
    cdef real slope = with_x * rstd * rstd / n
    cdef ssize j
    if weight == NULL:
        for j in range(n):
            out[j] = (grad[j] - shared - (x[j] - mean) * slope) * rstd
    else:
        for j in range(n):
            out[j] = (grad[j] * weight[j] - shared - (x[j] - mean) * slope) * rstd

cdef void layer_norm_backward_loop(Rows* rows, ssize begin, ssize end, real* means) noexcept nogil:
    cdef ssize i, n = rows.n
    for i in range(begin, end):
        backward_row(<real*>rows.out + i * n, <real*>rows.grad + i * n, <real*>rows.x + i * n, <real*>rows.weight, means[i],
                     (<real*>rows.rstd)[i], n)

cdef Op LAYER_NORM_BACKWARD = Op("layer_norm_backward(Tensor grad, Tensor x, int[] normalized_shape, Tensor? weight, float eps, "
                                 "Tensor mean, Tensor rstd) -> Tensor")

@LAYER_NORM_BACKWARD.infer
def layer_norm_backward_infer(TensorBase grad, TensorBase x, normalized_shape, TensorBase weight, eps,
                              TensorBase mean, TensorBase rstd):
    cdef Rows rows
    cdef int count = check_backward(grad, x, normalized_shape, mean, rstd, &rows, "layer_norm_backward")
    check_parameter(weight, "weight", x, count, "layer_norm_backward")
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@LAYER_NORM_BACKWARD.kernel
def layer_norm_backward_kernel(TensorBase out, TensorBase grad, TensorBase x, normalized_shape,
                               TensorBase weight, eps, TensorBase mean, TensorBase rstd):
    """The gradient of layer_norm by its input, in two passes over each row."""
    cdef Rows rows
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef TensorBase plain_grad = plain_as(grad, kernel), plain_x = plain_as(x, kernel), plain_weight = plain_as(weight, kernel)
    cdef TensorBase plain_mean = plain_as(mean, kernel), plain_rstd = plain_as(rstd, kernel)
    cdef TensorBase slopes = plain_result(out)
    check_backward(grad, x, normalized_shape, mean, rstd, &rows, "layer_norm_backward")
    rows.grad, rows.x, rows.weight = memory_of(plain_grad), memory_of(plain_x), data_of(plain_weight)
    rows.mean, rows.rstd, rows.out = memory_of(plain_mean), memory_of(plain_rstd), memory_of(slopes)
    run_rows(&rows, <void*>layer_norm_backward_loop[double] if is_double(kernel) else <void*>layer_norm_backward_loop[float])
    put_back(out, slopes)


# The gradient by x is a symmetric matrix times grad * weight, so `grad` and `weight` get that matrix times h, the
# gradient that arrives. Formulas below that depend on x compute mean and rstd from it anew: so they can be
# differentiated further.
@LAYER_NORM_BACKWARD.derivative("grad")
def layer_norm_backward_derivative_grad(grad, x, normalized_shape, weight, eps, mean, rstd):
    projected = run_tuple(LAYER_NORM_BACKWARD, (grad, x, normalized_shape, None, eps, mean, rstd))
    return projected if weight is None else projected * weight

@LAYER_NORM_BACKWARD.derivative("weight")
def layer_norm_backward_derivative_weight(grad, grad_, x, normalized_shape, eps, mean, rstd):
    return grad_ * run_tuple(LAYER_NORM_BACKWARD, (grad, x, normalized_shape, None, eps, mean, rstd))

@LAYER_NORM_BACKWARD.derivative("x")
def layer_norm_backward_derivative_x(grad, grad_, TensorBase x, normalized_shape, weight, eps):
    dims = last_dims(normalized_shape)
    xhat, rstd = standardize(x, dims, eps)
    a, b = grad, grad_ if weight is None else grad_ * weight
    a, b = a - a.mean(dims, True), b - b.mean(dims, True)
    a_along, b_along = (a * xhat).mean(dims, True), (b * xhat).mean(dims, True)
    rest = (a * b).mean(dims, True) - a_along * b_along
    slope = -rstd * rstd * (xhat * (rest - 2 * a_along * b_along) + b_along * a + a_along * b)
    return slope.view(make_size(x.ndim_, x.sizes))      # a view, as PyTorch's, which nothing is added to in place

def standardize(x, dims, eps):
    """((x - mean) * rstd, rstd) in tensor operations."""
    centred = x - x.mean(dims, True)
    rstd = ((centred * centred).mean(dims, True) + eps).rsqrt()
    return centred * rstd, rstd

cdef tuple last_dims(object normalized_shape):
    return tuple(range(-len(normalized_shape), 0))


# ---------------------------------------------------------------- layer_norm_backward_weight
cdef void backward_weight_loop(Rows* rows, ssize begin, ssize end, real* means) noexcept nogil:
    """Columns `begin` to `end`, in strips; two rows at a time, so that the totals are read and written half as
    often."""
    cdef real* total = <real*>rows.out
    cdef real* rstds = <real*>rows.rstd
    cdef real* x
    cdef real* grad
    cdef real mean, rstd, next_mean, next_rstd
    cdef ssize i, j, at = begin, stop, n = rows.n
    while at < end:
        stop = min(end, at + STRIP)
        i = 0
        while i + 2 <= rows.m:
            x, grad = <real*>rows.x + i * n, <real*>rows.grad + i * n
            mean, rstd, next_mean, next_rstd = means[i], rstds[i], means[i + 1], rstds[i + 1]
            for j in range(at, stop):
                total[j] += grad[j] * ((x[j] - mean) * rstd) + grad[j + n] * ((x[j + n] - next_mean) * next_rstd)
            i += 2
        if i < rows.m:
            x, grad = <real*>rows.x + i * n, <real*>rows.grad + i * n
            for j in range(at, stop):
                total[j] += grad[j] * ((x[j] - means[i]) * rstds[i])
        at = stop

cdef Op LAYER_NORM_BACKWARD_WEIGHT = Op("layer_norm_backward_weight(Tensor grad, Tensor x, int[] normalized_shape, float eps, "
                                        "Tensor mean, Tensor rstd) -> Tensor")

@LAYER_NORM_BACKWARD_WEIGHT.infer
def layer_norm_backward_weight_infer(TensorBase grad, TensorBase x, normalized_shape, eps, TensorBase mean,
                                     TensorBase rstd):
    cdef Rows rows
    cdef int count = check_backward(grad, x, normalized_shape, mean, rstd, &rows, "layer_norm_backward_weight")
    return result_beside(x, x.dtype_, count, &x.sizes[x.ndim_ - count])

@LAYER_NORM_BACKWARD_WEIGHT.kernel
def layer_norm_backward_weight_kernel(TensorBase out, TensorBase grad, TensorBase x, normalized_shape, eps,
                                      TensorBase mean, TensorBase rstd):
    """The gradient of layer_norm by its weight: the sum over rows of grad * (x - mean) * rstd."""
    cdef Rows rows
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef TensorBase plain_mean = plain_as(mean, kernel), plain_rstd = plain_as(rstd, kernel)
    cdef TensorBase plain_grad = plain_as(grad, kernel), plain_x = plain_as(x, kernel)
    cdef TensorBase sums = plain_result(out)
    check_backward(grad, x, normalized_shape, mean, rstd, &rows, "layer_norm_backward_weight")
    rows.grad, rows.x = memory_of(plain_grad), memory_of(plain_x)
    rows.mean, rows.rstd, rows.out = memory_of(plain_mean), memory_of(plain_rstd), memory_of(sums)
    memset(memory_of(sums), 0, sums.numel_ * item_size[kernel])
    rows.loop = <void*>backward_weight_loop[double] if is_double(kernel) else <void*>backward_weight_loop[float]
    with nogil:                             # columns, which are read row by row: a single wide piece for each thread
        parallel_for(run_share, &rows, rows.n, max(64, rows.n // thread_count(x.numel_, GRAIN)))
    put_back(out, sums)


@LAYER_NORM_BACKWARD_WEIGHT.derivative("grad")
def layer_norm_backward_weight_derivative_grad(grad, x, normalized_shape, eps):
    return grad * standardize(x, last_dims(normalized_shape), eps)[0]

@LAYER_NORM_BACKWARD_WEIGHT.derivative("x")
def layer_norm_backward_weight_derivative_x(grad, grad_, x, normalized_shape, eps, mean, rstd):
    return run_tuple(LAYER_NORM_BACKWARD, (grad_, x, normalized_shape, grad, eps, mean, rstd))


# ---------------------------------------------------------------- layer_norm_gradients
# All gradients in one pass over grad and x, which memory limits: 3.0 ms instead of 4.1 for 4096 rows of 1024 floats.
cdef void gradients_loop(Rows* rows, ssize begin, ssize end, real* means) noexcept nogil:
    """Pieces `begin` to `end` of the rows, each with totals of its own: so threads don't change in which order is added."""
    cdef real* of_weight
    cdef real* of_bias
    cdef real* x
    cdef real* grad
    cdef real mean, rstd
    cdef ssize i, j, piece, n = rows.n
    for piece in range(begin, end):
        of_weight, of_bias = <real*>rows.totals + piece * 2 * n, <real*>rows.totals + (piece * 2 + 1) * n
        memset(of_weight, 0, 2 * n * sizeof(real))
        for i in range(rows.m * piece // rows.pieces, rows.m * (piece + 1) // rows.pieces):
            x, grad, mean, rstd = <real*>rows.x + i * n, <real*>rows.grad + i * n, means[i], (<real*>rows.rstd)[i]
            backward_row(<real*>rows.out + i * n, grad, x, <real*>rows.weight, mean, rstd, n)
            for j in range(n):                          # the row is still in the L1 cache
                of_weight[j] += grad[j] * ((x[j] - mean) * rstd)
                of_bias[j] += grad[j]

cdef Op LAYER_NORM_GRADIENTS = Op("layer_norm_gradients(Tensor grad, Tensor x, int[] normalized_shape, Tensor? weight, "
                                  "float eps, Tensor mean, Tensor rstd) "
                                  "-> (Tensor grad_x, Tensor grad_weight, Tensor grad_bias)", aten=None)

@LAYER_NORM_GRADIENTS.infer
def layer_norm_gradients_infer(TensorBase grad, TensorBase x, normalized_shape, TensorBase weight, eps, TensorBase mean,
                               TensorBase rstd):
    cdef Rows rows
    cdef int count = check_backward(grad, x, normalized_shape, mean, rstd, &rows, "layer_norm_gradients")
    cdef ssize* shape = &x.sizes[x.ndim_ - count]
    check_parameter(weight, "weight", x, count, "layer_norm_gradients")
    return (result_beside(x, x.dtype_, x.ndim_, x.sizes), result_beside(x, x.dtype_, count, shape),
            result_beside(x, x.dtype_, count, shape))

@LAYER_NORM_GRADIENTS.kernel
def layer_norm_gradients_kernel(TensorBase grad_x, TensorBase grad_weight, TensorBase grad_bias, TensorBase grad, TensorBase x,
                                normalized_shape, TensorBase weight, eps, TensorBase mean, TensorBase rstd):
    cdef Rows rows
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef TensorBase plain_grad = plain_as(grad, kernel), plain_x = plain_as(x, kernel), plain_weight = plain_as(weight, kernel)
    cdef TensorBase plain_mean = plain_as(mean, kernel), plain_rstd = plain_as(rstd, kernel)
    cdef TensorBase slopes = plain_result(grad_x), totals
    cdef ssize[3] sizes
    check_backward(grad, x, normalized_shape, mean, rstd, &rows, "layer_norm_gradients")
    rows.pieces = max(<ssize>1, min(<ssize>32, rows.m // 32))
    sizes[0], sizes[1], sizes[2] = rows.pieces, 2, rows.n
    totals = empty_beside(x, kernel, 3, sizes)
    rows.grad, rows.x, rows.weight = memory_of(plain_grad), memory_of(plain_x), data_of(plain_weight)
    rows.mean, rows.rstd, rows.out, rows.totals = (memory_of(plain_mean), memory_of(plain_rstd), memory_of(slopes),
                                                   memory_of(totals))
    rows.loop = <void*>gradients_loop[double] if is_double(kernel) else <void*>gradients_loop[float]
    share_work(run_share, &rows, rows.pieces, rows.m * rows.n, GRAIN)
    put_back(grad_x, slopes)
    sums = totals.sum(0)
    copy_into(grad_weight, sums.select(0, 0).view_as(grad_weight))
    copy_into(grad_bias, sums.select(0, 1).view_as(grad_bias))


# ---------------------------------------------------------------- rms_norm: from other ops
def rms_norm(TensorBase input not None, normalized_shape, TensorBase weight=None, eps=None):
    """Divide the last dimensions by their root mean square, then scale by weight.

    Parameters
    ----------
    input : Tensor, shape (*, *normalized_shape), floating
    normalized_shape : tuple of int
    weight : Tensor, shape normalized_shape, optional
    eps : float, added to the mean square; the type's epsilon if not given

    Notes
    -----
    Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.rms_norm(tensorlab.tensor([3.0, 4.0]), (2,))
    tensor([0.8485, 1.1314])
    """
    from tensorlab._core.dtypes import finfo
    cdef Rows rows
    cdef int count = split(input, normalized_shape, &rows, "rms_norm", INEXACT)
    check_parameter(weight, "weight", input, count, "rms_norm")
    x = input.contiguous().to(dtype_object(kernel_dtype(input.dtype_)))         # the result alone is rounded to half
    mean_square = (x * x).mean(tuple(range(-count, 0)), True)
    out = x * (mean_square + (finfo(x.dtype).eps if eps is None else eps)).rsqrt()
    return (out if weight is None else out * weight).to(input.dtype)


# ---------------------------------------------------------------- group_norm: from other ops
cdef int check_channels(TensorBase parameter, str name, TensorBase x) except -1:
    """Weight and bias have one number for each channel, in the input's type (float32 beside half types)."""
    check_same_place(x, parameter, "group_norm")
    if parameter.ndim_ != 1 or parameter.numel_ != x.sizes[1]:
        raise ShapeError(f"group_norm: {name} has shape {shape_text(parameter.ndim_, parameter.sizes)}; expected "
                         f"({x.sizes[1]},), one number for each channel of the input, {shape_text(x.ndim_, x.sizes)}")
    if parameter.dtype_ != x.dtype_ and parameter.dtype_ != kernel_dtype(x.dtype_):
        raise DTypeError(f"group_norm: {name} has type {parameter.dtype} and the input {x.dtype}; convert one of them "
                         "with .to()")
    return 0

def group_norm(TensorBase input not None, num_groups, TensorBase weight=None, TensorBase bias=None, eps=1e-5):
    """Normalise each sample within groups of channels, then scale and shift each channel.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, *), floating
    num_groups : int, a divisor of channels
    weight, bias : Tensor, shape (channels,), optional
    eps : float, added to the variance

    Notes
    -----
    Source: Wu and He 2018, "Group Normalization", section 3.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.group_norm(tensorlab.tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    if input.ndim_ < 2 or num_groups < 1 or input.sizes[1] % num_groups:
        raise ShapeError(f"group_norm: the input has shape {shape_text(input.ndim_, input.sizes)} and num_groups is "
                         f"{num_groups}; expected (batch, channels, ...) and a divisor of channels")
    size = input.sizes[1] // num_groups
    for d in range(2, input.ndim_):
        size *= input.sizes[d]
    groups = input.reshape(input.sizes[0], num_groups, size).to(dtype_object(kernel_dtype(input.dtype_)))
    out = layer_norm(groups, (size,), None, None, eps).reshape(make_size(input.ndim_, input.sizes))
    channels = [1, input.sizes[1]] + [1] * (input.ndim_ - 2)
    if weight is not None:
        check_channels(weight, "weight", input)
        out = out * weight.reshape(channels)
    if bias is not None:
        check_channels(bias, "bias", input)
        out = out + bias.reshape(channels)
    return out.to(input.dtype)
