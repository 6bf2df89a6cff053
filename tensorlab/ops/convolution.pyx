"""Convolution: conv1d, conv2d, conv3d and their transposes.

Three ops, each linear in both of its tensors, are each other's derivatives:

    conv             out = x * weight
    conv_input       grad_x, from grad_out and weight       (this is the transposed convolution)
    conv_weight      grad_weight, from x and grad_out

                     by its first tensor        by its second tensor
    conv             conv_input                 conv_weight
    conv_input       conv                       conv_weight
    conv_weight      conv_input                 conv

All are products of matrices with patches of the image, in convolution_loops.pyx, but for depthwise convolution, in
direct_convolution.pyx. As usual in deep learning, the kernel is not flipped.
"""
from cpython.number cimport PyIndex_Check

from tensorlab._core.op cimport Op
from tensorlab._core.dtypes cimport BOOL, dtype_object, kernel_dtype
from tensorlab._core.layout cimport shape_text, ssize
from tensorlab._core.iterator cimport copy_into
from tensorlab._core.recording cimport record
from tensorlab._core.tensor cimport TensorBase, empty_beside, empty_strided_beside
from tensorlab.ops.convolution_loops cimport run_conv
from tensorlab.ops.filling cimport zeros_beside
from tensorlab.ops.im2col cimport BY_INPUT, BY_WEIGHT, FORWARD, Geometry

from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType


# ---------------------------------------------------------------- geometry
cdef int set_geometry(Geometry* geometry, object x_shape, object weight_shape, object out_shape, tuple numbers) except -1:
    """`numbers` is (stride, padding, dilation, groups), the first three tuples with one int for each spatial dimension."""
    cdef int d, n = len(x_shape) - 2
    geometry.batch = x_shape[0]
    geometry.groups = numbers[3]
    geometry.in_channels = weight_shape[1]
    geometry.out_channels = weight_shape[0] // numbers[3]
    for d in range(3):
        geometry.sizes[d] = geometry.kernel[d] = geometry.out[d] = geometry.stride[d] = geometry.dilation[d] = 1
        geometry.padding[d] = 0
    for d in range(n):
        geometry.sizes[3 - n + d] = x_shape[2 + d]
        geometry.kernel[3 - n + d] = weight_shape[2 + d]
        geometry.out[3 - n + d] = out_shape[2 + d]
        geometry.stride[3 - n + d] = numbers[0][d]
        geometry.padding[3 - n + d] = numbers[1][d]
        geometry.dilation[3 - n + d] = numbers[2][d]
    return 0


cdef TensorBase tensor_of_shape(TensorBase x, int dtype, object shape, bint is_zero):
    cdef ssize[5] sizes
    cdef int d, n = len(shape)
    for d in range(n):
        sizes[d] = shape[d]
    return zeros_beside(x, dtype, n, sizes) if is_zero else empty_beside(x, dtype, n, sizes)


cdef TensorBase plain(TensorBase x):
    """Contiguous, and in the type that is computed in."""
    cdef TensorBase out
    if x.is_contiguous_ and kernel_dtype(x.dtype_) == x.dtype_:
        return x
    out = empty_beside(x, kernel_dtype(x.dtype_), x.ndim_, x.sizes)
    copy_into(out, x)
    return out


cdef TensorBase in_dtype(TensorBase x, int dtype):
    cdef TensorBase out
    if x.dtype_ == dtype:
        return x
    out = empty_beside(x, dtype, x.ndim_, x.sizes)
    copy_into(out, x)
    return out


# ---------------------------------------------------------------- channels last
cdef bint image_channels_lie_last(TensorBase x) noexcept:
    """The same of what is convolved: a signal is made contiguous first."""
    return (x.ndim_ != 3 or x.is_contiguous_) and channels_lie_last(x)


cdef bint channels_lie_last(TensorBase x) noexcept:
    """Do the strides say that the channels of an image lie next to each other? Then PyTorch's result is laid out so too.

    A signal counts as an image of height 1. Sizes of 1 make this ambiguous; PyTorch's way to decide is followed to the letter.
    """
    cdef ssize[4] sizes, strides
    cdef ssize least = 0
    cdef int d, i
    if x.ndim_ < 3 or x.ndim_ > 4:
        return False
    for d in range(2):
        sizes[d] = x.sizes[d]
        strides[d] = x.strides[d]
    sizes[3] = x.sizes[x.ndim_ - 1]
    strides[3] = x.strides[x.ndim_ - 1]
    sizes[2] = x.sizes[2] if x.ndim_ == 4 else 1
    strides[2] = x.strides[2] if x.ndim_ == 4 else sizes[3] * strides[3]
    if strides[1] == 0:
        return False
    for i in range(4):
        d = (1, 3, 2, 0)[i]
        if sizes[d] == 0 or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(sizes[d], 1)
    return True


cdef bint fits_channels_last(TensorBase x) noexcept:
    """Do the elements lie in that order without gaps, whatever the strides of dimensions of size 1?"""
    cdef ssize stride = 1
    cdef int d, i
    for i in range(x.ndim_):
        d = 1 if i == 0 else 0 if i == x.ndim_ - 1 else x.ndim_ - i
        if x.sizes[d] != 1:
            if x.strides[d] != stride:
                return False
            stride *= x.sizes[d]
    return True


cdef TensorBase with_channels_last(TensorBase x, int dtype):
    """A copy (batch, channels, ...) whose channels lie next to each other."""
    cdef ssize[4] strides
    cdef TensorBase out
    cdef int d
    strides[1] = 1
    strides[x.ndim_ - 1] = max(x.sizes[1], 1)
    for d in range(x.ndim_ - 2, 1, -1):
        strides[d] = strides[d + 1] * max(x.sizes[d + 1], 1)
    strides[0] = strides[2] * max(x.sizes[2], 1)
    out = empty_strided_beside(x, dtype, x.ndim_, x.sizes, strides)
    copy_into(out, x)
    return out


# ---------------------------------------------------------------- conv
cdef Op CONV = Op("conv(Tensor x, Tensor weight, Tensor? bias, int[] out_shape, Any numbers) -> Tensor",
                  node="ConvolutionBackward0", public={"x": "input"})

@CONV.derivative("x")
def conv_derivative_x(grad, TensorBase x, TensorBase weight, numbers):       # saves both, as PyTorch does
    return run_conv_input(grad, weight, x.shape, numbers, image_channels_lie_last(x) or channels_lie_last(weight))

@CONV.derivative("weight")
def conv_derivative_weight(grad, TensorBase x, TensorBase weight, numbers):  # saves both, as PyTorch does
    return run_conv_weight(x, grad, weight.shape, numbers, channels_lie_last(weight) or (
        image_channels_lie_last(x) and not fits_channels_last(weight)))

@CONV.derivative("bias")
def conv_derivative_bias(grad):
    return grad.sum([0] + list(range(2, grad.ndim)))

cdef object run_conv_forward(TensorBase x, TensorBase weight, TensorBase bias, object out_shape, tuple numbers):
    cdef Geometry geometry
    cdef TensorBase out
    set_geometry(&geometry, x.shape, weight.shape, out_shape, numbers)
    out = tensor_of_shape(x, kernel_dtype(x.dtype_), out_shape, bias is None)
    if bias is not None and out.numel_ > 0:
        copy_into(out, bias.detach().reshape([-1] + [1] * (x.ndim_ - 2)))
    run_conv(plain(x), plain(weight), out, &geometry, FORWARD)
    if image_channels_lie_last(x) or channels_lie_last(weight):
        out = with_channels_last(out, x.dtype_)
    return record(CONV, in_dtype(out, x.dtype_), (x, weight, bias, out_shape, numbers))


# ---------------------------------------------------------------- conv_input
cdef Op CONV_INPUT = Op("conv_input(Tensor grad, Tensor weight, int[] x_shape, Any numbers) -> Tensor",
                        node="ConvolutionBackward0")

@CONV_INPUT.derivative("grad")
def conv_input_derivative_grad(grad, weight, numbers, grad_shape):
    return run_conv_forward(grad, weight, None, grad_shape, numbers)

@CONV_INPUT.derivative("weight")
def conv_input_derivative_weight(grad, grad_, numbers, weight_shape):
    return run_conv_weight(grad, grad_, weight_shape, numbers, False)

cdef object run_conv_input(TensorBase grad, TensorBase weight, object x_shape, tuple numbers, bint channels_last):
    cdef Geometry geometry
    cdef TensorBase out
    set_geometry(&geometry, x_shape, weight.shape, grad.shape, numbers)
    out = tensor_of_shape(grad, kernel_dtype(grad.dtype_), x_shape, True)
    run_conv(out, plain(weight), plain(grad), &geometry, BY_INPUT)
    if channels_last:
        out = with_channels_last(out, grad.dtype_)
    return record(CONV_INPUT, in_dtype(out, grad.dtype_), (grad, weight, x_shape, numbers))


# ---------------------------------------------------------------- conv_weight
cdef Op CONV_WEIGHT = Op("conv_weight(Tensor x, Tensor grad, int[] weight_shape, Any numbers) -> Tensor",
                         node="ConvolutionBackward0")

@CONV_WEIGHT.derivative("x")
def conv_weight_derivative_x(grad, grad_, numbers, x_shape):
    return run_conv_input(grad_, grad, x_shape, numbers, False)

@CONV_WEIGHT.derivative("grad")
def conv_weight_derivative_grad(grad, x, numbers, grad_shape):
    return run_conv_forward(x, grad, None, grad_shape, numbers)

cdef object run_conv_weight(TensorBase x, TensorBase grad, object weight_shape, tuple numbers, bint channels_last):
    cdef Geometry geometry
    cdef TensorBase out
    set_geometry(&geometry, x.shape, weight_shape, grad.shape, numbers)
    out = tensor_of_shape(x, kernel_dtype(x.dtype_), weight_shape, True)
    run_conv(plain(x), out, plain(grad), &geometry, BY_WEIGHT)
    if channels_last:
        out = with_channels_last(out, x.dtype_)
    return record(CONV_WEIGHT, in_dtype(out, x.dtype_), (x, grad, weight_shape, numbers))


# ---------------------------------------------------------------- reading arguments
cdef tuple read_numbers(object given, int n, ssize least, str where, str name):
    """An int, or one for each spatial dimension."""
    cdef tuple numbers
    if PyIndex_Check(given):
        numbers = (given,) * n
    elif isinstance(given, (tuple, list)) and all([PyIndex_Check(one) for one in given]):
        numbers = tuple(given) * n if len(given) == 1 else tuple(given)
    else:
        raise TypeError(f"{where}: {name} must be an int or {n} ints, not {given!r}")
    if len(numbers) != n:
        raise ShapeError(f"{where}: {name} {numbers} has {len(numbers)} ints; one or {n} are needed")
    if min(numbers) < least:
        raise ShapeError(f"{where}: {name} {numbers} must be at least {least}")
    return numbers


cdef int check_tensors(TensorBase x, TensorBase weight, TensorBase bias, int n, str where) except -1:
    cdef int d
    if weight.ndim_ != n + 2:
        raise ShapeError(f"{where}: weight must have {n + 2} dimensions, not {weight.ndim_}")
    if x.ndim_ != n + 1 and x.ndim_ != n + 2:
        raise ShapeError(f"{where}: input must have {n + 2} dimensions, or {n + 1} for a single image, not {x.ndim_}")
    for d in range(2, n + 2):
        if weight.sizes[d] == 0:
            raise ShapeError(f"{where}: weight {shape_text(weight.ndim_, weight.sizes)} has size 0 in dimension {d}")
    if x.dtype_ == BOOL:
        raise UnsupportedDType(f"{where}: not implemented for {x.dtype}; convert with .to() first")
    if x.dtype_ != weight.dtype_ or (bias is not None and bias.dtype_ != x.dtype_):
        raise DTypeError(f"{where}: input has type {x.dtype}, weight {weight.dtype}"
                         f"{'' if bias is None else f', bias {bias.dtype}'}; all must be equal")
    return 0


cdef object convolve(TensorBase x, TensorBase weight, TensorBase bias, object stride, object padding, object dilation,
                     object groups, int n, str where):
    """What conv1d, conv2d and conv3d share; n is the number of spatial dimensions."""
    cdef tuple strides = read_numbers(stride, n, 1, where, "stride"), dilations, before, after
    cdef list out_shape, reach
    cdef ssize in_channels
    dilations = read_numbers(dilation, n, 1, where, "dilation")
    check_tensors(x, weight, bias, n, where)
    groups = read_numbers(groups, 1, 1, where, "groups")[0]
    in_channels = x.sizes[x.ndim_ - n - 1]
    if in_channels != weight.sizes[1] * groups:
        raise ShapeError(f"{where}: input {shape_text(x.ndim_, x.sizes)} has {in_channels} channels, but weight "
                         f"{shape_text(weight.ndim_, weight.sizes)} with {groups} group(s) takes {weight.sizes[1] * groups}")
    if weight.sizes[0] == 0 or weight.sizes[0] % groups != 0:
        raise ShapeError(f"{where}: {weight.sizes[0]} output channels cannot be split into {groups} group(s)")
    if bias is not None and (bias.ndim_ != 1 or bias.sizes[0] != weight.sizes[0]):
        raise ShapeError(f"{where}: bias must have shape ({weight.sizes[0]},), not {shape_text(bias.ndim_, bias.sizes)}")
    reach = [dilations[d] * (weight.sizes[2 + d] - 1) for d in range(n)]        # a kernel's first to its last element
    if isinstance(padding, str):
        if padding == "same" and max(strides) > 1:
            raise ShapeError(f"{where}: padding 'same' needs stride 1, not {strides}")
        if padding != "same" and padding != "valid":
            raise ShapeError(f"{where}: padding must be 'same', 'valid' or ints, not {padding!r}")
        before = tuple([size // 2 if padding == "same" else 0 for size in reach])
        after = tuple([size - size // 2 if padding == "same" else 0 for size in reach])
    else:
        before = after = read_numbers(padding, n, 0, where, "padding")
    if x.ndim_ == n + 1:
        return convolve(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups, n, where).squeeze(0)
    out_shape = [x.sizes[0], weight.sizes[0]]
    for d in range(n):
        size = x.sizes[2 + d] + before[d] + after[d]
        if x.sizes[2 + d] == 0:
            raise ShapeError(f"{where}: input {shape_text(x.ndim_, x.sizes)} has size 0 in dimension {2 + d}")
        if size <= reach[d]:
            raise ShapeError(f"{where}: a kernel that reaches over {reach[d] + 1} elements is larger than the padded input of "
                             f"size {size}")
        out_shape.append((size - reach[d] - 1) // strides[d] + 1)
    return run_conv_forward(x, weight, bias, tuple(out_shape), (strides, before, dilations, groups))


# ---------------------------------------------------------------- conv1d, conv2d, conv3d
def conv1d(TensorBase input not None, TensorBase weight not None, TensorBase bias=None, stride=1, padding=0, dilation=1,
           groups=1):
    """Correlate a batch of signals with a bank of filters.

    Parameters
    ----------
    input : Tensor, shape (batch, in_channels, length), or without batch
    weight : Tensor, shape (out_channels, in_channels / groups, kernel)
    bias : Tensor, shape (out_channels,)
    stride : int, elements from one place of the kernel to the next
    padding : int, zeros put before and behind; "valid" for none; "same" for as many as keep the length
    dilation : int, elements from one weight of the kernel to the next
    groups : int; the channels are split into so many groups that do not see each other

    Returns
    -------
    Tensor, shape (batch, out_channels, (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1)

    Raises
    ------
    ShapeError
        If the sizes do not fit, or the kernel is larger than the padded input.

    >>> import tensorlab
    >>> x, weight = tensorlab.tensor([[1., 2., 3., 4.]]), tensorlab.tensor([[[1., -1.]]])
    >>> tensorlab.nn.functional.conv1d(x, weight)
    tensor([[-1., -1., -1.]])
    """
    return convolve(input, weight, bias, stride, padding, dilation, groups, 1, "conv1d")


def conv2d(TensorBase input not None, TensorBase weight not None, TensorBase bias=None, stride=1, padding=0, dilation=1,
           groups=1):
    """Correlate a batch of images with a bank of filters.

    Parameters
    ----------
    input : Tensor, shape (batch, in_channels, height, width), or without batch
    weight : Tensor, shape (out_channels, in_channels / groups, kernel_height, kernel_width)
    bias : Tensor, shape (out_channels,)
    stride, padding, dilation : int or pair of int, as for conv1d; padding may be "same" or "valid"
    groups : int

    Returns
    -------
    Tensor, shape (batch, out_channels, out_height, out_width)

    Notes
    -----
    Deep-learning "convolution" does not flip the kernel. Source: Goodfellow et al. 2016, section 9.1.

    >>> import tensorlab
    >>> tensorlab.nn.functional.conv2d(tensorlab.ones(1, 3, 5, 5), tensorlab.ones(2, 3, 3, 3)).shape
    tensorlab.Size([1, 2, 3, 3])
    """
    return convolve(input, weight, bias, stride, padding, dilation, groups, 2, "conv2d")


def conv3d(TensorBase input not None, TensorBase weight not None, TensorBase bias=None, stride=1, padding=0, dilation=1,
           groups=1):
    """Correlate a batch of volumes with a bank of filters; `conv2d` with one more dimension.

    Parameters
    ----------
    input : Tensor, shape (batch, in_channels, depth, height, width), or without batch
    weight : Tensor, shape (out_channels, in_channels / groups, kernel_depth, kernel_height, kernel_width)
    """
    return convolve(input, weight, bias, stride, padding, dilation, groups, 3, "conv3d")


# ---------------------------------------------------------------- transposed
cdef object convolve_transposed(TensorBase x, TensorBase weight, TensorBase bias, object stride, object padding,
                                object output_padding, object groups, object dilation, int n, str where):
    """The gradient of a convolution by its input, as an operation of its own."""
    cdef tuple strides = read_numbers(stride, n, 1, where, "stride"), dilations, paddings, extras
    cdef list out_shape
    cdef ssize in_channels, size
    paddings = read_numbers(padding, n, 0, where, "padding")
    extras = read_numbers(output_padding, n, 0, where, "output_padding")
    dilations = read_numbers(dilation, n, 1, where, "dilation")
    check_tensors(x, weight, bias, n, where)
    groups = read_numbers(groups, 1, 1, where, "groups")[0]
    in_channels = x.sizes[x.ndim_ - n - 1]
    if in_channels != weight.sizes[0] or in_channels % groups != 0:
        raise ShapeError(f"{where}: input {shape_text(x.ndim_, x.sizes)} has {in_channels} channels, but weight "
                         f"{shape_text(weight.ndim_, weight.sizes)} takes {weight.sizes[0]} in {groups} group(s)")
    if bias is not None and (bias.ndim_ != 1 or bias.sizes[0] != weight.sizes[1] * groups):
        raise ShapeError(f"{where}: bias must have shape ({weight.sizes[1] * groups},), not "
                         f"{shape_text(bias.ndim_, bias.sizes)}")
    if x.ndim_ == n + 1:
        return convolve_transposed(x.unsqueeze(0), weight, bias, stride, padding, output_padding, groups, dilation, n,
                                   where).squeeze(0)
    out_shape = [x.sizes[0], weight.sizes[1] * groups]
    for d in range(n):
        if extras[d] >= max(strides[d], dilations[d]):
            raise ShapeError(f"{where}: output_padding {extras} must be smaller than stride {strides} or dilation {dilations}")
        size = ((x.sizes[2 + d] - 1) * strides[d] - 2 * paddings[d] + dilations[d] * (weight.sizes[2 + d] - 1) + extras[d] + 1)
        if size < 1:
            raise ShapeError(f"{where}: the result would have size {size} in dimension {2 + d}")
        out_shape.append(size)
    settings = (strides, paddings, dilations, groups)
    if bias is None:
        return run_conv_input(x, weight, tuple(out_shape), settings, False)
    kernel = dtype_object(kernel_dtype(x.dtype_))               # the sum with the bias alone is rounded to half
    out = run_conv_input(x.to(kernel), weight.to(kernel), tuple(out_shape), settings, False)
    return (out + bias.reshape([-1] + [1] * n)).to(x.dtype)


def conv_transpose1d(TensorBase input not None, TensorBase weight not None, TensorBase bias=None, stride=1, padding=0,
                     output_padding=0, groups=1, dilation=1):
    """Spread a batch of signals by a bank of filters: the gradient of `conv1d` by its input.

    Parameters
    ----------
    input : Tensor, shape (batch, in_channels, length), or without batch
    weight : Tensor, shape (in_channels, out_channels / groups, kernel)
    bias : Tensor, shape (out_channels,)
    stride, padding, dilation : int, those of the convolution whose gradient this is
    output_padding : int, elements more at the end; which of several lengths the convolution had started from

    Returns
    -------
    Tensor, shape (batch, out_channels, (length - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1)
    """
    return convolve_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 1, "conv_transpose1d")


def conv_transpose2d(TensorBase input not None, TensorBase weight not None, TensorBase bias=None, stride=1, padding=0,
                     output_padding=0, groups=1, dilation=1):
    """Spread a batch of images by a bank of filters: the gradient of `conv2d` by its input; see `conv_transpose1d`."""
    return convolve_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 2, "conv_transpose2d")


def conv_transpose3d(TensorBase input not None, TensorBase weight not None, TensorBase bias=None, stride=1, padding=0,
                     output_padding=0, groups=1, dilation=1):
    """Spread a batch of volumes by a bank of filters: the gradient of `conv3d` by its input; see `conv_transpose1d`."""
    return convolve_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 3, "conv_transpose3d")
