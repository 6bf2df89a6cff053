"""Batch normalisation: each channel is brought to mean 0 and variance 1 over the batch.

The result, a * x + c, and its gradient by x, a * grad + b * x + c, are straight lines whose coefficients belong to a
channel. So both are the same loop (`affine_planes`), and what differs between channels is a handful of numbers: the mean,
the variance and, for the gradient, sum(grad) and sum(grad * (x - mean)). The gradient is that of layer_norm (see
normalization.pyx), along the other dimensions.
"""

from tensorlab._core.dtypes cimport FLOAT64, dtype_object, is_floating, kernel_dtype, real
from tensorlab._core.graph cimport ndim_of
from tensorlab._core.iterator cimport copy_into
from tensorlab._core.layout cimport ssize
from tensorlab._core.op cimport Op
from tensorlab._core.parallel cimport grain_of, parallel_for
from tensorlab._core.recording cimport record
from tensorlab._core.tensor cimport TensorBase, empty_beside, is_meta, memory_of
from tensorlab.ops.inner_loops cimport pairwise_sum

from tensorlab.errors import DimensionError, ShapeError, UnsupportedDType
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
    """The same where a channel has one element in each sample: then channels are neighbours."""
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
    cdef bint is_double = planes.is_double, by_rows = planes.spread == 1
    if is_double and by_rows:
        affine_samples(planes, begin, end, <double*>planes.a)
    elif is_double:
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


# ---------------------------------------------------------------- arguments
cdef TensorBase plain(TensorBase x, int dtype):
    """x, or a copy of it, row-major and of this type."""
    cdef TensorBase copied
    if x.is_contiguous_ and x.dtype_ == dtype:
        return x
    copied = empty_beside(x, dtype, x.ndim_, x.sizes)
    copy_into(copied, x)
    return copied

cdef int describe(Planes* planes, TensorBase x) except -1:
    planes.batch = x.sizes[0]
    planes.channels = x.sizes[1]
    planes.spread = x.numel_ // (x.sizes[0] * x.sizes[1]) if x.sizes[0] * x.sizes[1] else 0
    planes.x = memory_of(x)
    planes.grad = NULL
    return 0

cdef object by_channel(object x, int ndim):
    """Numbers of channels, shaped to broadcast over (batch, channels, ...)."""
    return None if x is None else x.reshape([1, -1] + [1] * (ndim - 2))

cdef tuple other_dims(int ndim):
    return (0, *range(2, ndim))

cdef int check_channels(TensorBase x, object values) except -1:
    for name, numbers in values:
        if numbers is not None and tuple(numbers.shape) != (x.sizes[1],):
            raise ShapeError(f"batch_norm: {name} has shape {tuple(numbers.shape)}, but the input {tuple(x.shape)} has "
                             f"{x.sizes[1]} channels; it needs one number for each")
    return 0


# ---------------------------------------------------------------- batch_norm
cdef Op BATCH_NORM = Op("batch_norm(Tensor x, Tensor? weight, Tensor? bias, float eps, Tensor mean, "
                        "Tensor rstd) -> Tensor", node="NativeBatchNormBackward0")

# Each formula names x and weight, needed or not: PyTorch has one formula for all three gradients, and so refuses any of
# them that was written to.
@BATCH_NORM.derivative("x")
def batch_norm_derivative_x(grad, x, weight, eps, mean, rstd):
    return batch_norm_backward(grad, x, weight, eps, mean, rstd)

@BATCH_NORM.derivative("weight")
def batch_norm_derivative_weight(grad, x, weight, eps, mean, rstd):
    return batch_norm_backward_weight(grad, x, eps, mean, rstd)

@BATCH_NORM.derivative("bias")
def batch_norm_derivative_bias(grad, x, weight):
    return grad.sum(other_dims(grad.dim()))

def batch_norm(TensorBase input not None, TensorBase running_mean, TensorBase running_var, TensorBase weight=None,
               TensorBase bias=None, bint training=False, momentum=0.1, double eps=1e-5):
    """Bring each channel to mean 0 and variance 1 over the batch, then scale by weight and add bias.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, *), floating
    running_mean, running_var : Tensor, shape (channels,), or None: averages over batches. In training they are updated;
        otherwise they are used in place of the batch's own
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
    cdef int ndim = ndim_of(input)
    cdef ssize count
    if ndim < 2:
        raise DimensionError(f"batch_norm: the input has shape {tuple(input.shape)}; expected (batch, channels, ...)")
    if not is_floating(input.dtype_):
        raise UnsupportedDType(f"batch_norm: not implemented for {dtype_object(input.dtype_)}; convert with .float()")
    check_channels(input, (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                           ("bias", bias)))
    if not training:
        if running_mean is None or running_var is None:
            raise ShapeError("batch_norm: running_mean and running_var are needed where training is False; give both")
        return with_running_averages(input, running_mean, running_var, weight, bias, eps)
    count = input.numel_ // input.sizes[1] if input.sizes[1] else 0
    if count == 1:
        raise ValueError(f"batch_norm: the input has shape {tuple(input.shape)}: one value for each channel, which "
                         f"has no variance; expected more than one in training")
    if input.numel_ == 0:
        return input * 1
    x = plain(input, kernel_dtype(input.dtype_)).detach()
    variance, mean = var_mean(x, other_dims(ndim), correction=0)
    update(running_mean, mean, momentum)
    update(running_var, variance * (<double>count / (count - 1)), momentum)
    return run_batch_norm(input, x, weight, bias, eps, mean, (variance + eps).rsqrt())

cdef object run_batch_norm(TensorBase input, TensorBase x, TensorBase weight, TensorBase bias, double eps,
                           TensorBase mean, TensorBase rstd):
    cdef TensorBase out = empty_beside(x, x.dtype_, x.ndim_, x.sizes)
    cdef TensorBase slope = rstd if weight is None else (rstd * weight.detach()).to(x.dtype)
    cdef TensorBase offset = -(mean * slope) if bias is None else (bias.detach() - mean * slope).to(x.dtype)
    cdef Planes planes
    if not is_meta(out):
        describe(&planes, x)
        planes.out, planes.a, planes.b, planes.c = memory_of(out), memory_of(slope), memory_of(slope), memory_of(offset)
        planes.is_double = x.dtype_ == FLOAT64
        run_affine(&planes)
    return record(BATCH_NORM, plain(out, input.dtype_), (input, weight, bias, eps, mean, rstd))

cdef int update(TensorBase running, TensorBase value, object momentum) except -1:
    """running = (1 - momentum) * running + momentum * value"""
    if running is not None:
        average = running.detach()
        average.copy_(average.to(value.dtype) * (1 - momentum) + value * momentum)      # rounded once if it is half
    return 0

cdef object with_running_averages(TensorBase x, TensorBase mean, TensorBase variance, TensorBase weight,
                                  TensorBase bias, double eps):
    kernel = dtype_object(kernel_dtype(x.dtype_))               # the result alone is rounded to half
    slope = (variance.to(kernel) + eps).rsqrt()
    if weight is not None:
        slope = slope * weight
    offset = -(mean * slope) if bias is None else bias - mean * slope
    return (x * by_channel(slope, x.ndim_) + by_channel(offset, x.ndim_)).to(x.dtype)


# ---------------------------------------------------------------- batch_norm_backward
cdef Op BATCH_NORM_BACKWARD = Op("batch_norm_backward(Tensor grad, Tensor x, Tensor? weight, float eps, "
                                 "Tensor mean, Tensor rstd) -> Tensor")

@BATCH_NORM_BACKWARD.derivative("grad")
def batch_norm_backward_derivative_grad(grad, x, weight, eps, mean, rstd):
    projected = batch_norm_backward(grad, x, None, eps, mean, rstd)
    return projected if weight is None else projected * by_channel(weight, x.dim())

@BATCH_NORM_BACKWARD.derivative("weight")
def batch_norm_backward_derivative_weight(grad, grad_, x, eps, mean, rstd):
    return (grad_ * batch_norm_backward(grad, x, None, eps, mean, rstd)).sum(other_dims(x.dim()))

@BATCH_NORM_BACKWARD.derivative("x")
def batch_norm_backward_derivative_x(grad, grad_, x, weight, eps):
    dims = other_dims(x.dim())
    xhat, rstd = standardize(x, eps)
    a, b = grad, grad_ if weight is None else grad_ * by_channel(weight, x.dim())
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

def batch_norm_backward(TensorBase grad not None, TensorBase x not None, TensorBase weight, double eps,
                        TensorBase mean not None, TensorBase rstd not None):
    """The gradient of batch_norm by its input: a * grad + b * x + c, with numbers a, b, c for each channel."""
    cdef int kernel = mean.dtype_
    cdef TensorBase plain_grad = plain(grad, kernel), plain_x = plain(x, kernel)
    cdef TensorBase out = empty_beside(x, kernel, x.ndim_, x.sizes), a, b, c
    cdef double count = x.numel_ // mean.numel_ if mean.numel_ else 0
    cdef Planes planes
    sums, sums_with_x = channel_sums(&planes, plain_grad, plain_x, mean)
    a = rstd if weight is None else (rstd * weight.detach()).to(mean.dtype)
    b = a * rstd * rstd * sums_with_x * (-1 / count)
    c = a * sums * (-1 / count) - b * mean
    a, b, c = plain(a, kernel), plain(b, kernel), plain(c, kernel)
    if not is_meta(out):
        planes.out, planes.a, planes.b, planes.c = memory_of(out), memory_of(a), memory_of(b), memory_of(c)
        planes.is_double = kernel == FLOAT64
        run_affine(&planes)
    return record(BATCH_NORM_BACKWARD, plain(out, x.dtype_), (grad, x, weight, eps, mean, rstd))

cdef tuple channel_sums(Planes* planes, TensorBase grad, TensorBase x, TensorBase saved_mean):
    """Of each channel (sum(grad), sum(grad * (x - mean))); both are row-major, and are described in `planes`."""
    cdef TensorBase mean = plain(saved_mean, saved_mean.dtype_)
    cdef TensorBase sums = mean.new_zeros(mean.shape), sums_with_x = mean.new_zeros(mean.shape)
    if is_meta(x):
        return sums, sums_with_x
    describe(planes, x)
    planes.grad = memory_of(grad)
    with nogil:
        if mean.dtype_ == FLOAT64:
            sums_of(planes, <double*>memory_of(sums), <double*>memory_of(sums_with_x), <double*>memory_of(mean))
        else:
            sums_of(planes, <float*>memory_of(sums), <float*>memory_of(sums_with_x), <float*>memory_of(mean))
    return sums, sums_with_x


# ---------------------------------------------------------------- batch_norm_backward_weight
cdef Op BATCH_NORM_BACKWARD_WEIGHT = Op("batch_norm_backward_weight(Tensor grad, Tensor x, float eps, Tensor mean, "
                                        "Tensor rstd) -> Tensor")

@BATCH_NORM_BACKWARD_WEIGHT.derivative("grad")
def batch_norm_backward_weight_derivative_grad(grad, x, eps):
    return by_channel(grad, x.dim()) * standardize(x, eps)[0]

@BATCH_NORM_BACKWARD_WEIGHT.derivative("x")
def batch_norm_backward_weight_derivative_x(grad, grad_, x, eps, mean, rstd):
    return batch_norm_backward(grad_, x, grad, eps, mean, rstd)

def batch_norm_backward_weight(TensorBase grad not None, TensorBase x not None, double eps, TensorBase mean not None,
                               TensorBase rstd not None):
    """The gradient of batch_norm by its weight: the sum over a channel of grad * (x - mean) * rstd."""
    cdef TensorBase plain_grad = plain(grad, mean.dtype_), plain_x = plain(x, mean.dtype_)
    cdef Planes planes
    out = (channel_sums(&planes, plain_grad, plain_x, mean)[1] * rstd).to(x.dtype)
    return record(BATCH_NORM_BACKWARD_WEIGHT, out, (grad, x, eps, mean, rstd))
