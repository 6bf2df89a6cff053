"""Batch normalisation: each channel is brought to mean 0 and variance 1 over the batch.

The result, a * x + c, and its gradient by x, a * grad + b * x + c, are straight lines whose coefficients belong to a
channel. So both are the same loop (`affine_planes`), and what differs between channels is a handful of numbers: the mean,
the variance and, for the gradient, sum(grad) and sum(grad * (x - mean)). The gradient is that of layer_norm (see
normalization.pyx), along the other dimensions.

The running averages are written by an op of their own, so that batch_norm itself makes new tensors only.
"""
from libc.string cimport memset

cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.dispatch.dispatch cimport run_3, run_4, run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport (
    check_dtype, check_same_place, refuse_internal_overlap, same_numbers
)
from tensorlab._core.dtypes cimport FLOATING, dtype_object, is_double, is_in, item_size, kernel_dtype, real
from tensorlab._core.graph.graph cimport bump_version, ndim_of, should_record
from tensorlab._core.layout cimport shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_into, moved, plain, plain_as, plain_result, put_back
from tensorlab._core.loops.parallel cimport grain_of, parallel_for
from tensorlab._core.state.devices cimport ON_CPU
from tensorlab._core.tensor cimport (
    TensorBase, alias, check_writable, empty_beside, empty_tensor, is_meta, memory_of,
    result_beside
)
from tensorlab.ops.inner_loops cimport pairwise_sum

from tensorlab._pitfalls import pointed
from tensorlab.errors import DimensionError, ShapeError
from tensorlab.ops.statistics import var_mean

cdef enum:
    LANES = 32
    GRAIN = 16384               # elements that make a thread worth starting

cdef struct Planes:             # x as (batch, channels, spread), row-major, in the type of computing
    ssize batch
    ssize channels
    ssize spread                # elements of a channel in one sample
    bint is_double
    void* x
    void* grad                  # NULL in the forward pass
    void* out
    void* a                     # coefficients, one for each channel
    void* b
    void* c


# ---------------------------------------------------------------- loops
cdef void affine_planes(Planes* planes, ssize begin, ssize end, real* a) noexcept nogil:
    """out = a * grad + b * x + c, or without grad a * x + c, for the planes (sample, channel) from `begin` to `end`."""
    cdef real* b = <real*>planes.b
    cdef real* c = <real*>planes.c
    cdef real* x
    cdef real* grad
    cdef real* out
    cdef ssize i, j, k, n = planes.spread
    for i in range(begin, end):
        k = i % planes.channels
        x, out = <real*>planes.x + i * n, <real*>planes.out + i * n
        if planes.grad == NULL:
            for j in range(n):
                out[j] = a[k] * x[j] + c[k]
        else:
            grad = <real*>planes.grad + i * n
            for j in range(n):
                out[j] = a[k] * grad[j] + (b[k] * x[j] + c[k])

cdef void affine_samples(Planes* planes, ssize begin, ssize end, real* a) noexcept nogil:
    """out = a * grad + b * x + c, or a * x + c, for samples of one element per channel."""
    cdef real* b = <real*>planes.b
    cdef real* c = <real*>planes.c
    cdef real* x
    cdef real* grad
    cdef real* out
    cdef ssize i, k
    for i in range(begin, end):
        x, out = <real*>planes.x + i * planes.channels, <real*>planes.out + i * planes.channels
        if planes.grad == NULL:
            for k in range(planes.channels):
                out[k] = a[k] * x[k] + c[k]
        else:
            grad = <real*>planes.grad + i * planes.channels
            for k in range(planes.channels):
                out[k] = a[k] * grad[k] + (b[k] * x[k] + c[k])

cdef void run_affine(Planes* planes) noexcept:
    """All planes, or all samples, split over threads."""
    with nogil:
        if planes.spread == 1:
            parallel_for(run_share, planes, planes.batch, grain_of(GRAIN, planes.channels))
        else:
            parallel_for(run_share, planes, planes.batch * planes.channels, grain_of(GRAIN, planes.spread))

cdef void run_share(void* context, ssize begin, ssize end) noexcept nogil:
    cdef Planes* planes = <Planes*>context
    cdef bint by_rows = planes.spread == 1
    if planes.is_double and by_rows:
        affine_samples(planes, begin, end, <double*>planes.a)
    elif planes.is_double:
        affine_planes(planes, begin, end, <double*>planes.a)
    elif by_rows:
        affine_samples(planes, begin, end, <float*>planes.a)
    else:
        affine_planes(planes, begin, end, <float*>planes.a)

cdef void sums_of(Planes* planes, real* sums, real* sums_with_x, real* means) noexcept nogil:
    """For each channel sum(grad) and sum(grad * (x - mean))."""
    cdef real[LANES] lane
    cdef real[LANES] lane_with_x
    cdef real* x
    cdef real* grad
    cdef ssize i, j, k, n = planes.spread
    cdef int slot
    for i in range(planes.batch * planes.channels):
        k = i % planes.channels
        x, grad = <real*>planes.x + i * n, <real*>planes.grad + i * n
        j = 0
        if n >= LANES:
            for slot in range(LANES):
                lane[slot] = 0
                lane_with_x[slot] = 0
            while j + LANES <= n:
                for slot in range(LANES):
                    lane[slot] += grad[j + slot]
                    lane_with_x[slot] += grad[j + slot] * (x[j + slot] - means[k])
                j += LANES
            sums[k] += pairwise_sum(lane, LANES)
            sums_with_x[k] += pairwise_sum(lane_with_x, LANES)
        while j < n:
            sums[k] += grad[j]
            sums_with_x[k] += grad[j] * (x[j] - means[k])
            j += 1


cdef void forward_coefficients(Planes* planes, real* mean, real* variance, real* weight, real* bias, real eps,
                               real* rstd) noexcept nogil:
    """rstd, and the slope a and the offset c of each channel."""
    cdef real* a = <real*>planes.a
    cdef real* c = <real*>planes.c
    cdef ssize k
    for k in range(planes.channels):
        rstd[k] = 1 / c_math.sqrt(variance[k] + eps)
        a[k] = rstd[k] if weight == NULL else rstd[k] * weight[k]
        c[k] = (<real>0 if bias == NULL else bias[k]) - mean[k] * a[k]

cdef void backward_coefficients(Planes* planes, real* mean, real* rstd, real* weight, real* sums, real* sums_with_x,
                                real share) noexcept nogil:
    """a, b and c of the gradient; `share` is 1 over the elements of a channel."""
    cdef real* a = <real*>planes.a
    cdef real* b = <real*>planes.b
    cdef real* c = <real*>planes.c
    cdef ssize k
    for k in range(planes.channels):
        a[k] = rstd[k] if weight == NULL else rstd[k] * weight[k]
        b[k] = a[k] * rstd[k] * rstd[k] * sums_with_x[k] * -share
        c[k] = a[k] * sums[k] * -share - b[k] * mean[k]


# ---------------------------------------------------------------- arguments
cdef inline void* data_of(TensorBase x) except? NULL:
    return NULL if x is None else memory_of(x)

cdef int describe(Planes* planes, TensorBase x) except -1:
    planes.batch = x.sizes[0]
    planes.channels = x.sizes[1]
    planes.spread = x.numel_ // (x.sizes[0] * x.sizes[1]) if x.sizes[0] * x.sizes[1] else 0
    planes.is_double = is_double(x.dtype_)
    planes.x = memory_of(x)
    planes.grad = NULL
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
    cdef TensorBase computed = alias(plain(x)), v, m            # without its history
    v, m = var_mean(computed, other_dims(x.ndim_), correction=0)
    copy_into(variance, v)
    copy_into(mean, m)
    normalize(out, rstd, computed, weight, bias, mean, variance, eps)

cdef int normalize(TensorBase out, TensorBase rstd, TensorBase computed, TensorBase weight, TensorBase bias, TensorBase mean,
                   TensorBase variance, double eps) except -1:
    """Write the result and rstd of these numbers of channels; `computed` is x, plain."""
    cdef int kernel = computed.dtype_
    cdef TensorBase a = channel_numbers(computed, kernel), c = channel_numbers(computed, kernel), y = plain_result(out)
    cdef TensorBase w = plain_as(weight, kernel), b = plain_as(bias, kernel)
    cdef TensorBase m = plain_as(mean, kernel), v = plain_as(variance, kernel)
    cdef Planes planes
    describe(&planes, computed)
    planes.out, planes.a, planes.b, planes.c = memory_of(y), memory_of(a), memory_of(a), memory_of(c)
    if planes.is_double:
        forward_coefficients(&planes, <double*>memory_of(m), <double*>memory_of(v), <double*>data_of(w), <double*>data_of(b),
                             eps, <double*>memory_of(rstd))
    else:
        forward_coefficients(&planes, <float*>memory_of(m), <float*>memory_of(v), <float*>data_of(w), <float*>data_of(b),
                             <float>eps, <float*>memory_of(rstd))
    run_affine(&planes)
    return put_back(out, y)


# Each formula names x and weight, needed or not: PyTorch has one formula for all three gradients, and so refuses any of
# them that was written to.
@BATCH_NORM.derivative("x")
def batch_norm_derivative_x(grad, x, weight, eps, mean, rstd):
    return run_tuple(BATCH_NORM_BACKWARD, (grad, x, weight, eps, mean, rstd))

@BATCH_NORM.derivative("weight")
def batch_norm_derivative_weight(grad, x, weight, eps, mean, rstd):
    return run_tuple(BATCH_NORM_BACKWARD_WEIGHT, (grad, x, eps, mean, rstd))

@BATCH_NORM.derivative("bias")
def batch_norm_derivative_bias(TensorBase grad, x, weight):
    return grad.sum(other_dims(grad.ndim_))

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
    normalize(out, channel_numbers(computed, computed.dtype_), computed, weight, bias, mean, variance, eps)


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
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef TensorBase plain_grad = plain_as(grad, kernel), plain_x = plain_as(x, kernel)
    cdef TensorBase m = plain_as(mean, kernel), r = plain_as(rstd, kernel)
    cdef TensorBase a = channel_numbers(x, kernel), b = channel_numbers(x, kernel), c = channel_numbers(x, kernel), w, slopes
    cdef TensorBase sums, sums_with_x
    cdef double share
    cdef Planes planes
    w, slopes = plain_as(weight, kernel), plain_result(out)
    sums, sums_with_x = channel_sums(&planes, plain_grad, plain_x, m)
    share = <double>planes.channels / x.numel_ if x.numel_ else 0
    planes.out, planes.a, planes.b, planes.c = memory_of(slopes), memory_of(a), memory_of(b), memory_of(c)
    if planes.is_double:
        backward_coefficients(&planes, <double*>memory_of(m), <double*>memory_of(r), <double*>data_of(w),
                              <double*>memory_of(sums), <double*>memory_of(sums_with_x), share)
    else:
        backward_coefficients(&planes, <float*>memory_of(m), <float*>memory_of(r), <float*>data_of(w),
                              <float*>memory_of(sums), <float*>memory_of(sums_with_x), <float>share)
    run_affine(&planes)
    put_back(out, slopes)


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

cdef tuple channel_sums(Planes* planes, TensorBase grad, TensorBase x, TensorBase mean):
    """Of each channel (sum(grad), sum(grad * (x - mean))), all of them plain; both are described in `planes`."""
    cdef TensorBase sums = channel_numbers(x, x.dtype_), sums_with_x = channel_numbers(x, x.dtype_)
    describe(planes, x)
    planes.grad = memory_of(grad)
    memset(memory_of(sums), 0, sums.numel_ * item_size[x.dtype_])
    memset(memory_of(sums_with_x), 0, sums.numel_ * item_size[x.dtype_])
    with nogil:
        if planes.is_double:
            sums_of(planes, <double*>memory_of(sums), <double*>memory_of(sums_with_x), <double*>memory_of(mean))
        else:
            sums_of(planes, <float*>memory_of(sums), <float*>memory_of(sums_with_x), <float*>memory_of(mean))
    return sums, sums_with_x


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
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef TensorBase sums, r
    cdef Planes planes
    cdef ssize k
    r = plain_as(rstd, kernel)
    sums = channel_sums(&planes, plain_as(grad, kernel), plain_as(x, kernel), plain_as(mean, kernel))[1]
    for k in range(planes.channels):
        if planes.is_double:
            (<double*>memory_of(sums))[k] *= (<double*>memory_of(r))[k]
        else:
            (<float*>memory_of(sums))[k] *= (<float*>memory_of(r))[k]
    copy_into(out, sums)


@BATCH_NORM_BACKWARD_WEIGHT.derivative("grad")
def batch_norm_backward_weight_derivative_grad(grad, TensorBase x, eps):
    return by_channel(grad, x.ndim_) * standardize(x, eps)[0]

@BATCH_NORM_BACKWARD_WEIGHT.derivative("x")
def batch_norm_backward_weight_derivative_x(grad, grad_, x, eps, mean, rstd):
    return run_tuple(BATCH_NORM_BACKWARD, (grad_, x, grad, eps, mean, rstd))
