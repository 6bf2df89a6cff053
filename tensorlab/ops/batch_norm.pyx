"""Batch normalisation: each channel is brought to mean 0 and variance 1 over the batch.

The result, a * x + c, and its gradient by x, a * grad + b * x + c, are straight lines whose coefficients belong to a
channel. So both are the same loop (`write_lines`), and what differs between channels is a handful of numbers: the mean,
the variance and, for the gradient, sum(grad) and sum(grad * (x - mean)). The gradient is that of layer_norm (see
normalization.pyx), along the other dimensions.

Mean and variance take one pass over memory: the mean and the squares around it are those of a plane, one channel of one
sample, which stays in the L1 cache from one to the other, and are then merged with those of the planes before it.

The running averages are written by an op of their own, so that batch_norm itself makes new tensors only.
"""
cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.dispatch.dispatch cimport run_3, run_4, run_tuple
from tensorlab._core.dispatch.levels cimport will_differentiate_again
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport (
    check_dtype, check_same_place, refuse_internal_overlap, same_numbers
)
from tensorlab._core.dtypes cimport FLOAT64, FLOATING, dtype_object, is_double, is_in, kernel_dtype, real
from tensorlab._core.graph.graph cimport bump_version, ndim_of, should_record
from tensorlab._core.layout cimport shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_into, moved, plain, plain_as, plain_result, put_back
from tensorlab._core.loops.parallel cimport share_work
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.tensor cimport (
    TensorBase, check_writable, empty_beside, empty_tensor, is_meta, memory_of,
    result_beside
)
from tensorlab.ops.moments cimport sum_of_blocks, weighted_sums

from tensorlab._pitfalls import pointed
from tensorlab.errors import DimensionError, ShapeError

cdef enum:
    GRAIN = 16384               # elements that make a thread worth starting

cdef struct Planes:             # x as (batch, channels, spread), row-major, in the type of computing
    ssize batch
    ssize channels
    ssize spread                # elements of a channel in one sample
    bint is_double
    bint finds_moments          # mean and variance are results
    void* x
    void* grad                  # NULL in the forward pass
    void* out                   # NULL: not wanted
    void* weight                # numbers of channels, as all below; NULL if there are none
    void* bias
    void* mean
    void* variance              # of the forward pass
    void* rstd
    double* sums                # the mean so far, counted from the first element, or in the backward pass sum(grad)
    double* other_sums          # the squares around it, or sum(grad * (x - mean))
    void* a                     # coefficients
    void* b
    void* c
    double eps
    void* loop                  # a channels_loop, of that type

ctypedef void (*channels_loop)(Planes* planes, ssize begin, ssize end, void* means) noexcept nogil


# ---------------------------------------------------------------- loops
# Each is for the channels from `begin` to `end`. With one element in a sample, channels lie next to each other.
cdef void write_lines(Planes* planes, ssize begin, ssize end, real* a) noexcept nogil:
    """out = a * grad + b * x + c, or without grad a * x + c."""
    cdef real* b = <real*>planes.b
    cdef real* c = <real*>planes.c
    cdef real* grad = NULL
    cdef ssize i, k, at, n = planes.spread
    for i in range(planes.batch):
        at = (i * planes.channels + begin) * n
        if planes.grad != NULL:
            grad = <real*>planes.grad + at
        if n == 1:
            write_sample(<real*>planes.out + at, grad, <real*>planes.x + at, a + begin, b + begin, c + begin, end - begin)
            continue
        for k in range(begin, end):
            at = (i * planes.channels + k) * n
            if planes.grad != NULL:
                grad = <real*>planes.grad + at
            write_line(<real*>planes.out + at, grad, <real*>planes.x + at, a[k], b[k], c[k], n)

cdef inline void write_line(real* out, real* grad, real* x, real a, real b, real c, ssize n) noexcept nogil:
    cdef ssize j
    if grad == NULL:
        for j in range(n):
            out[j] = a * x[j] + c
    else:
        for j in range(n):
            out[j] = a * grad[j] + (b * x[j] + c)

cdef inline void write_sample(real* out, real* grad, real* x, real* a, real* b, real* c, ssize channels) noexcept nogil:
    cdef ssize k
    if grad == NULL:
        for k in range(channels):
            out[k] = a[k] * x[k] + c[k]
    else:
        for k in range(channels):
            out[k] = a[k] * grad[k] + (b[k] * x[k] + c[k])

cdef void find_moments(Planes* planes, ssize begin, ssize end, real* means) noexcept nogil:
    """Mean and variance, merged from those of samples (Chan et al. 1983). Means are counted from the first
    element, so that little is rounded off."""
    cdef real* variances = <real*>planes.variance
    cdef real* firsts = <real*>planes.a
    cdef real* x = <real*>planes.x
    cdef real centre, mean
    cdef double share
    cdef ssize i, k, n = planes.spread
    for k in range(begin, end):
        firsts[k] = x[k * n] if planes.batch * n > 0 else <real>0
        planes.sums[k] = planes.other_sums[k] = 0
    for i in range(planes.batch):
        share = <double>1 / (i + 1)
        if n == 1:
            for k in range(begin, end):
                merge_moments(&planes.sums[k], &planes.other_sums[k], <double>x[k] - firsts[k], 0, share, i)
        else:
            for k in range(begin, end):
                centre = firsts[k] + <real>planes.sums[k]
                mean = sum_of_blocks(x + k * n, centre, n, False) / n
                merge_moments(&planes.sums[k], &planes.other_sums[k], (<double>centre - firsts[k]) + mean,
                              sum_of_blocks(x + k * n, centre + mean, n, True), share, i * n)
        x += planes.channels * n
    for k in range(begin, end):
        means[k] = <real>(firsts[k] + planes.sums[k])
        variances[k] = <real>(planes.other_sums[k] / (planes.batch * n))

cdef inline void merge_moments(double* mean, double* squares, double new_mean, double new_squares, double share,
                               double others) noexcept nogil:
    """`share` is that of the new elements among all, and `others` how many there are besides."""
    cdef double distance = new_mean - mean[0]
    mean[0] += distance * share
    squares[0] += new_squares + distance * distance * share * others

cdef void forward_loop(Planes* planes, ssize begin, ssize end, real* means) noexcept nogil:
    if planes.finds_moments:
        find_moments(planes, begin, end, means)
    forward_coefficients(planes, begin, end, means)
    write_lines(planes, begin, end, <real*>planes.a)

cdef void forward_coefficients(Planes* planes, ssize begin, ssize end, real* means) noexcept nogil:
    """rstd, and the slope a and the offset c of each channel."""
    cdef real* variances = <real*>planes.variance
    cdef real* rstds = <real*>planes.rstd
    cdef real* weight = <real*>planes.weight
    cdef real* bias = <real*>planes.bias
    cdef real* a = <real*>planes.a
    cdef real* c = <real*>planes.c
    cdef ssize k
    for k in range(begin, end):
        rstds[k] = 1 / c_math.sqrt(variances[k] + <real>planes.eps)
        a[k] = rstds[k] if weight == NULL else rstds[k] * weight[k]
        c[k] = (<real>0 if bias == NULL else bias[k]) - means[k] * a[k]

cdef void backward_loop(Planes* planes, ssize begin, ssize end, real* means) noexcept nogil:
    add_products(planes, begin, end, means)
    if planes.out != NULL:
        backward_coefficients(planes, begin, end, means)
        write_lines(planes, begin, end, <real*>planes.a)

cdef void add_products(Planes* planes, ssize begin, ssize end, real* means) noexcept nogil:
    """sum(grad) and sum(grad * (x - mean))"""
    cdef double* sums = planes.sums
    cdef double* sums_with_x = planes.other_sums
    cdef real* x = <real*>planes.x
    cdef real* grad = <real*>planes.grad
    cdef real with_x
    cdef ssize _i, k, n = planes.spread
    for k in range(begin, end):
        sums[k] = sums_with_x[k] = 0
    for _i in range(planes.batch):
        if n == 1:
            for k in range(begin, end):
                sums[k] += grad[k]
                sums_with_x[k] += grad[k] * (x[k] - means[k])
        else:
            for k in range(begin, end):
                sums[k] += weighted_sums(grad + k * n, <real*>NULL, x + k * n, means[k], n, &with_x)
                sums_with_x[k] += with_x
        x += planes.channels * n
        grad += planes.channels * n

cdef void backward_coefficients(Planes* planes, ssize begin, ssize end, real* means) noexcept nogil:
    """a, b and c of the gradient"""
    cdef real* rstds = <real*>planes.rstd
    cdef real* weight = <real*>planes.weight
    cdef real* a = <real*>planes.a
    cdef real* b = <real*>planes.b
    cdef real* c = <real*>planes.c
    cdef real share = <real>-1 / (planes.batch * planes.spread)
    cdef ssize k
    for k in range(begin, end):
        a[k] = rstds[k] if weight == NULL else rstds[k] * weight[k]
        b[k] = a[k] * rstds[k] * rstds[k] * <real>planes.other_sums[k] * share
        c[k] = a[k] * <real>planes.sums[k] * share - b[k] * means[k]

cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Planes* planes = <Planes*>context
    (<channels_loop>planes.loop)(planes, begin, end, planes.mean)

cdef void run_channels(Planes* planes, void* float_loop, void* double_loop) noexcept:
    """All channels, shared out among threads."""
    planes.loop = double_loop if planes.is_double else float_loop
    share_work(run_share, planes, planes.channels, planes.batch * planes.channels * planes.spread, GRAIN)


# ---------------------------------------------------------------- arguments
cdef inline void* data_of(TensorBase x) except? NULL:
    return NULL if x is None else memory_of(x)

cdef int describe(Planes* planes, TensorBase x, TensorBase sums, TensorBase other_sums) except -1:
    planes.batch = x.sizes[0]
    planes.channels = x.sizes[1]
    planes.spread = x.numel_ // (x.sizes[0] * x.sizes[1]) if x.sizes[0] * x.sizes[1] else 0
    planes.is_double = is_double(x.dtype_)
    planes.finds_moments = False
    planes.x, planes.grad = memory_of(x), NULL
    planes.sums, planes.other_sums = <double*>memory_of(sums), <double*>memory_of(other_sums)
    return 0

cdef TensorBase channel_result(TensorBase x, int dtype):
    """A result with one number of each channel."""
    return result_beside(x, dtype, 1, &x.sizes[1])


cdef TensorBase channel_numbers(TensorBase x, int dtype):
    """A new tensor for one number of each channel."""
    return empty_beside(x, dtype, 1, &x.sizes[1])

cdef object by_channel(object x, int ndim):
    """Numbers of channels, shaped to broadcast over (batch, channels, ...)."""
    return None if x is None else x.reshape([1, -1] + [1] * (ndim - 2))

cdef tuple other_dims(int ndim):
    return (0, *range(2, ndim))

cdef int check_input(TensorBase x, str where) except -1:
    if ndim_of(x) < 2:
        raise DimensionError(f"{where}: the input has shape {shape_text(x.ndim_, x.sizes)}; expected (batch, channels, ...)")
    return check_dtype(where, x, FLOATING)

cdef int check_channels(TensorBase x, TensorBase numbers, str name, str where) except -1:
    """One number for each channel of x, where x is."""
    if numbers is None:
        return 0
    check_same_place(x, numbers, where)
    if numbers.ndim_ != 1 or numbers.sizes[0] != x.sizes[1]:
        raise ShapeError(f"{where}: {name} has shape {shape_text(numbers.ndim_, numbers.sizes)}, but the input "
                         f"{shape_text(x.ndim_, x.sizes)} has {x.sizes[1]} channels; it needs one number for each")
    return 0

cdef int check_backward(TensorBase grad, TensorBase x, TensorBase mean, TensorBase rstd, str where) except -1:
    check_input(x, where)
    check_same_place(x, grad, where)
    check_channels(x, mean, "mean", where)
    check_channels(x, rstd, "rstd", where)
    if grad.ndim_ != x.ndim_ or not same_numbers(x.ndim_, grad.sizes, x.sizes):
        raise ShapeError(f"{where}: the gradient has shape {shape_text(grad.ndim_, grad.sizes)} and the input "
                         f"{shape_text(x.ndim_, x.sizes)}; they must be equal")
    return 0


# ---------------------------------------------------------------- batch_norm
cdef Op BATCH_NORM = Op("batch_norm(Tensor x, Tensor? weight, Tensor? bias, float eps) -> (Tensor out, Tensor mean, Tensor rstd, "
                        "Tensor variance)",
                        aten=None, node="NativeBatchNormBackward0", differentiable=1)

cdef ssize check_batch_norm(TensorBase x, TensorBase weight, TensorBase bias) except -1:
    """Returns how many values a channel has."""
    cdef ssize count
    check_input(x, "batch_norm")
    check_channels(x, weight, "weight", "batch_norm")
    check_channels(x, bias, "bias", "batch_norm")
    count = x.numel_ // x.sizes[1] if x.sizes[1] else 0
    if count == 1:
        raise pointed(ValueError(f"batch_norm: the input has shape {shape_text(x.ndim_, x.sizes)}: one value for each channel, "
                                 f"which has no variance; expected more than one in training"))
    return count

@BATCH_NORM.infer
def batch_norm_infer(TensorBase x, TensorBase weight, TensorBase bias, eps):
    """New tensors for the results."""
    cdef int kernel = kernel_dtype(x.dtype_)
    check_batch_norm(x, weight, bias)
    return (result_beside(x, x.dtype_, x.ndim_, x.sizes), channel_result(x, kernel), channel_result(x, kernel),
            channel_result(x, kernel))

@BATCH_NORM.kernel
def batch_norm_kernel(TensorBase out, TensorBase mean, TensorBase rstd, TensorBase variance, TensorBase x, TensorBase weight,
                      TensorBase bias, double eps):
    normalize(out, rstd, plain(x), weight, bias, mean, variance, eps, True)

cdef int normalize(TensorBase out, TensorBase rstd, TensorBase x, TensorBase weight, TensorBase bias, TensorBase mean,
                   TensorBase variance, double eps, bint finds_moments) except -1:
    """Write the result and rstd of x, which is plain, and of these numbers of channels, which may be found first."""
    cdef int kernel = x.dtype_
    cdef TensorBase a = channel_numbers(x, kernel), c = channel_numbers(x, kernel), y = plain_result(out)
    cdef TensorBase w = plain_as(weight, kernel), b = plain_as(bias, kernel)
    cdef TensorBase m = plain_as(mean, kernel), v = plain_as(variance, kernel)
    cdef TensorBase sums = channel_numbers(x, FLOAT64), other_sums = channel_numbers(x, FLOAT64)
    cdef Planes planes
    describe(&planes, x, sums, other_sums)
    planes.finds_moments, planes.eps = finds_moments, eps
    planes.out, planes.a, planes.b, planes.c = memory_of(y), memory_of(a), memory_of(a), memory_of(c)
    planes.weight, planes.bias, planes.mean, planes.variance = data_of(w), data_of(b), memory_of(m), memory_of(v)
    planes.rstd = memory_of(rstd)
    run_channels(&planes, <void*>forward_loop[float], <void*>forward_loop[double])
    return put_back(out, y)


# The formula names x and weight, needed or not: PyTorch has one formula for all three gradients, too, and so refuses any of
# them that was written to.
@BATCH_NORM.derivative("x", "weight", "bias")
def batch_norm_derivative(TensorBase grad, x, weight, eps, mean, rstd, wanted):
    cdef tuple grads
    if False not in wanted and not will_differentiate_again():
        grads = run_tuple(BATCH_NORM_GRADIENTS, (grad, x, weight, eps, mean, rstd))
        return grads[0], grads[1], grads[2]             # in a new tuple: the pass empties it
    return (run_tuple(BATCH_NORM_BACKWARD, (grad, x, weight, eps, mean, rstd)) if wanted[0] else None,
            run_tuple(BATCH_NORM_BACKWARD_WEIGHT, (grad, x, eps, mean, rstd)) if wanted[1] else None,
            grad.sum(other_dims(grad.ndim_)) if wanted[2] else None)

def batch_norm(TensorBase input not None, TensorBase running_mean, TensorBase running_var, TensorBase weight=None,
               TensorBase bias=None, bint training=False, momentum=0.1, double eps=1e-5):
    """Bring each channel to mean 0 and variance 1 over the batch, then scale by weight and add bias.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, *), floating
    running_mean, running_var : Tensor, shape (channels,), or None: averages over batches. In training they are updated;
        otherwise they are used instead of the batch's own
    weight, bias : Tensor, shape (channels,), optional
    training : bool, use the mean and variance of this batch
    momentum : float, the share of this batch in the running averages
    eps : float, added to the variance

    Returns
    -------
    Tensor of the input's shape

    Raises
    ------
    ShapeError
        If something has not one number for each channel, or a running average is missing where it is used.
    ValueError
        If a channel has only one value in training: it has no variance.

    Notes
    -----
    The running variance is the unbiased one.  Source: Ioffe and Szegedy 2015, "Batch Normalization", algorithms 1 and
    2.

    >>> import tensorlab
    >>> tensorlab.nn.functional.batch_norm(tensorlab.tensor([[1., 0.], [3., 8.]]), None, None, training=True)
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """
    cdef ssize count
    if input.ndim_ == 1 and input.numel_ == 0 and is_in(input.dtype_, FLOATING):
        return input * 1                                        # no values, of no channels
    check_input(input, "batch_norm")
    check_channels(input, running_mean, "running_mean", "batch_norm")
    check_channels(input, running_var, "running_var", "batch_norm")
    if not training:
        if running_mean is None or running_var is None:
            raise ShapeError("batch_norm: running_mean and running_var are needed where training is False; give both")
        mean, variance = running_mean, running_var
        if should_record(input) or weight is not None and should_record(weight):
            mean, variance = mean.clone(), variance.clone()     # which may be updated before backward reads them
        return run_tuple(BATCH_NORM_WITH, (input, weight, bias, mean, variance, eps))
    if (running_mean is None) != (running_var is None):
        raise ValueError("batch_norm: one of running_mean and running_var is None; give both or neither")
    count = check_batch_norm(input, weight, bias)
    if input.numel_ == 0:
        return input * 1
    out, mean, _, variance = run_4(BATCH_NORM, input, weight, bias, eps)
    if running_mean is not None:
        run_3(UPDATE_AVERAGE_, running_mean, mean, momentum)
    if running_var is not None:
        run_3(UPDATE_AVERAGE_, running_var, variance * (<double>count / (count - 1)), momentum)
    return out


# ---------------------------------------------------------------- update_average_
# It leaves no trace in the graph: an average of batches is no function of this batch that a gradient could go through.
cdef Op UPDATE_AVERAGE_ = Op("update_average_(Tensor(a!) x, Tensor value, float share) -> Tensor(a!)",
                             aten=None, records_itself=True)

cdef void average_loop(real* x, real* value, real share, ssize n) noexcept nogil:
    cdef ssize k
    for k in range(n):
        x[k] = x[k] * (1 - share) + value[k] * share

@UPDATE_AVERAGE_.compose
def update_average_in_place(TensorBase x, TensorBase value, double share):
    """x = (1 - share) * x + share * value"""
    cdef int kernel = max(kernel_dtype(x.dtype_), kernel_dtype(value.dtype_))       # rounded once if it is half
    cdef TensorBase computed, other
    check_same_place(x, value, "update_average_")
    check_writable(x, "batch_norm")
    refuse_internal_overlap(x, "batch_norm")
    if x.ndim_ != value.ndim_ or not same_numbers(x.ndim_, x.sizes, value.sizes) or not is_in(x.dtype_, FLOATING):
        raise ShapeError(f"update_average_: the average is {x.dtype} of shape {shape_text(x.ndim_, x.sizes)} and the value has "
                         f"shape {shape_text(value.ndim_, value.sizes)}; expected floating numbers, as many as in the value")
    bump_version(x)
    if is_meta(x):
        return x
    computed, other = empty_tensor(kernel, x.ndim_, x.sizes), plain_as(moved(value, ON_CPU), kernel)
    copy_into(computed, x)
    if is_double(kernel):
        average_loop(<double*>memory_of(computed), <double*>memory_of(other), share, x.numel_)
    else:
        average_loop(<float*>memory_of(computed), <float*>memory_of(other), <float>share, x.numel_)
    copy_into(x, computed)
    return x


# ---------------------------------------------------------------- batch_norm_with: numbers that are given, as in evaluation
cdef Op BATCH_NORM_WITH = Op("batch_norm_with(Tensor x, Tensor? weight, Tensor? bias, Tensor mean, Tensor variance, float eps) "
                             "-> Tensor", aten=None, node="NativeBatchNormBackward0")

cdef int check_batch_norm_with(TensorBase x, TensorBase weight, TensorBase bias, TensorBase mean,
                               TensorBase variance) except -1:
    check_input(x, "batch_norm")
    check_channels(x, weight, "weight", "batch_norm")
    check_channels(x, bias, "bias", "batch_norm")
    check_channels(x, mean, "mean", "batch_norm")
    check_channels(x, variance, "variance", "batch_norm")
    return 0

@BATCH_NORM_WITH.infer
def batch_norm_with_infer(TensorBase x, TensorBase weight, TensorBase bias, TensorBase mean,
                          TensorBase variance, eps):
    check_batch_norm_with(x, weight, bias, mean, variance)
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@BATCH_NORM_WITH.kernel
def batch_norm_with_kernel(TensorBase out, TensorBase x, TensorBase weight, TensorBase bias, TensorBase mean,
                           TensorBase variance, double eps):
    cdef TensorBase computed = plain(x)
    normalize(out, channel_numbers(computed, computed.dtype_), computed, weight, bias, mean, variance, eps, False)


@BATCH_NORM_WITH.derivative("x")
def batch_norm_with_derivative_x(TensorBase grad, x, weight, mean, variance, eps):
    slope = reciprocal_deviation(variance, eps)
    if weight is not None:
        slope = slope * weight
    return (grad * by_channel(slope, grad.ndim_)).to(grad.dtype)

@BATCH_NORM_WITH.derivative("weight")
def batch_norm_with_derivative_weight(TensorBase grad, TensorBase x, weight, mean, variance, eps):
    centred = x - by_channel(mean, x.ndim_)
    out = (grad * centred).sum(other_dims(x.ndim_)) * reciprocal_deviation(variance, eps)
    return out

@BATCH_NORM_WITH.derivative("bias")
def batch_norm_with_derivative_bias(TensorBase grad, x, weight):
    return grad.sum(other_dims(grad.ndim_))

cdef object reciprocal_deviation(TensorBase variance, object eps):
    return (variance.to(dtype_object(kernel_dtype(variance.dtype_))) + eps).rsqrt()


# ---------------------------------------------------------------- batch_norm_backward
cdef Op BATCH_NORM_BACKWARD = Op("batch_norm_backward(Tensor grad, Tensor x, Tensor? weight, float eps, "
                                 "Tensor mean, Tensor rstd) -> Tensor")

@BATCH_NORM_BACKWARD.infer
def batch_norm_backward_infer(TensorBase grad, TensorBase x, TensorBase weight, eps, TensorBase mean,
                              TensorBase rstd):
    check_backward(grad, x, mean, rstd, "batch_norm_backward")
    check_channels(x, weight, "weight", "batch_norm_backward")
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@BATCH_NORM_BACKWARD.kernel
def batch_norm_backward_kernel(TensorBase out, TensorBase grad, TensorBase x, TensorBase weight, eps,
                               TensorBase mean, TensorBase rstd):
    """The gradient of batch_norm by its input: a * grad + b * x + c, with numbers a, b, c for each channel."""
    gradients_to(out, None, None, grad, x, weight, mean, rstd)

cdef int gradients_to(TensorBase out, TensorBase of_weight, TensorBase of_bias, TensorBase grad, TensorBase x,
                      TensorBase weight, TensorBase mean, TensorBase rstd) except -1:
    """Write the gradients by x, weight and bias, as far as they are wanted."""
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef TensorBase plain_grad = plain_as(grad, kernel), plain_x = plain_as(x, kernel), w = plain_as(weight, kernel)
    cdef TensorBase m = plain_as(mean, kernel), r = plain_as(rstd, kernel)
    cdef TensorBase a = channel_numbers(x, kernel), b = channel_numbers(x, kernel), c = channel_numbers(x, kernel)
    cdef TensorBase sums = channel_numbers(x, FLOAT64), sums_with_x = channel_numbers(x, FLOAT64)
    cdef TensorBase slopes = None if out is None else plain_result(out)
    cdef Planes planes
    describe(&planes, plain_x, sums, sums_with_x)
    planes.grad, planes.out, planes.weight = memory_of(plain_grad), data_of(slopes), data_of(w)
    planes.mean, planes.rstd = memory_of(m), memory_of(r)
    planes.a, planes.b, planes.c = memory_of(a), memory_of(b), memory_of(c)
    run_channels(&planes, <void*>backward_loop[float], <void*>backward_loop[double])
    if out is not None:
        put_back(out, slopes)
    if of_weight is not None:
        copy_into(of_weight, sums_with_x * r)
    if of_bias is not None:
        copy_into(of_bias, sums)
    return 0


@BATCH_NORM_BACKWARD.derivative("grad")
def batch_norm_backward_derivative_grad(grad, TensorBase x, weight, eps, mean, rstd):
    projected = run_tuple(BATCH_NORM_BACKWARD, (grad, x, None, eps, mean, rstd))
    return projected if weight is None else projected * by_channel(weight, x.ndim_)

@BATCH_NORM_BACKWARD.derivative("weight")
def batch_norm_backward_derivative_weight(grad, grad_, TensorBase x, eps, mean, rstd):
    return (grad_ * run_tuple(BATCH_NORM_BACKWARD, (grad, x, None, eps, mean, rstd))).sum(other_dims(x.ndim_))

@BATCH_NORM_BACKWARD.derivative("x")
def batch_norm_backward_derivative_x(grad, grad_, TensorBase x, weight, eps):
    dims = other_dims(x.ndim_)
    xhat, rstd = standardize(x, eps)
    a, b = grad, grad_ if weight is None else grad_ * by_channel(weight, x.ndim_)
    a, b = a - a.mean(dims, True), b - b.mean(dims, True)
    a_along, b_along = (a * xhat).mean(dims, True), (b * xhat).mean(dims, True)
    rest = (a * b).mean(dims, True) - a_along * b_along
    return -rstd * rstd * (xhat * (rest - 2 * a_along * b_along) + b_along * a + a_along * b)

def standardize(TensorBase x not None, eps):
    """((x - mean) * rstd, rstd) in tensor operations, which can be differentiated further."""
    dims = other_dims(x.ndim_)
    centred = x - x.mean(dims, True)
    rstd = ((centred * centred).mean(dims, True) + eps).rsqrt()
    return centred * rstd, rstd


# ---------------------------------------------------------------- batch_norm_backward_weight
cdef Op BATCH_NORM_BACKWARD_WEIGHT = Op("batch_norm_backward_weight(Tensor grad, Tensor x, float eps, Tensor mean, "
                                        "Tensor rstd) -> Tensor")

@BATCH_NORM_BACKWARD_WEIGHT.infer
def batch_norm_backward_weight_infer(TensorBase grad, TensorBase x, eps, TensorBase mean, TensorBase rstd):
    check_backward(grad, x, mean, rstd, "batch_norm_backward_weight")
    return channel_result(x, x.dtype_)

@BATCH_NORM_BACKWARD_WEIGHT.kernel
def batch_norm_backward_weight_kernel(TensorBase out, TensorBase grad, TensorBase x, eps, TensorBase mean,
                                      TensorBase rstd):
    """The gradient of batch_norm by its weight: the sum over a channel of grad * (x - mean) * rstd."""
    gradients_to(None, out, None, grad, x, None, mean, rstd)


@BATCH_NORM_BACKWARD_WEIGHT.derivative("grad")
def batch_norm_backward_weight_derivative_grad(grad, TensorBase x, eps):
    return by_channel(grad, x.ndim_) * standardize(x, eps)[0]

@BATCH_NORM_BACKWARD_WEIGHT.derivative("x")
def batch_norm_backward_weight_derivative_x(grad, grad_, x, eps, mean, rstd):
    return run_tuple(BATCH_NORM_BACKWARD, (grad_, x, grad, eps, mean, rstd))


# ---------------------------------------------------------------- batch_norm_gradients: all of them in one pass
cdef Op BATCH_NORM_GRADIENTS = Op("batch_norm_gradients(Tensor grad, Tensor x, Tensor? weight, float eps, Tensor mean, "
                                  "Tensor rstd) -> (Tensor grad_x, Tensor grad_weight, Tensor grad_bias)", aten=None)

@BATCH_NORM_GRADIENTS.infer
def batch_norm_gradients_infer(TensorBase grad, TensorBase x, TensorBase weight, eps, TensorBase mean,
                               TensorBase rstd):
    check_backward(grad, x, mean, rstd, "batch_norm_gradients")
    check_channels(x, weight, "weight", "batch_norm_gradients")
    return result_beside(x, x.dtype_, x.ndim_, x.sizes), channel_result(x, x.dtype_), channel_result(x, x.dtype_)

@BATCH_NORM_GRADIENTS.kernel
def batch_norm_gradients_kernel(TensorBase grad_x, TensorBase grad_weight, TensorBase grad_bias, TensorBase grad, TensorBase x,
                                TensorBase weight, eps, TensorBase mean, TensorBase rstd):
    gradients_to(grad_x, grad_weight, grad_bias, grad, x, weight, mean, rstd)
