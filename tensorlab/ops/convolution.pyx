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

from tensorlab._core.dispatch.autocast cimport in_lower
from tensorlab._core.dispatch.dispatch cimport run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype, check_same_place
from tensorlab._core.dtypes cimport COMPLEX, COMPLEX32, NUMBER, dtype_object, is_in, kernel_dtype
from tensorlab._core.layout cimport MAX_NDIM, plain_ints, read_sizes, shape_text, ssize
from tensorlab._core.loops.iterator cimport copy_into, plain, plain_result, put_back
from tensorlab._core.tensor cimport TensorBase, alias_as, make_size, result_beside
from tensorlab.ops.convolution_loops cimport run_conv
from tensorlab.ops.filling cimport fill_zero
from tensorlab.ops.im2col cimport BY_INPUT, BY_WEIGHT, FORWARD, Geometry, multiplications

from tensorlab.errors import DTypeError, ShapeError


cdef enum:
    LARGEST_NUMBER = 0x7fffffff     # of stride, padding and dilation, so that products of them fit in 64 bits


# ---------------------------------------------------------------- geometry
cdef struct Shapes:                 # of the three tensors of a convolution: (batch, channels, ...)
    ssize[MAX_NDIM] x
    ssize[MAX_NDIM] weight
    ssize[MAX_NDIM] out


cdef int take_sizes(ssize* sizes, TensorBase x, int ndim, str where) except -1:
    cdef int d
    if x.ndim_ != ndim:
        raise ShapeError(f"{where}: the tensors and sizes must have equally many dimensions, not {x.ndim_} and {ndim}")
    for d in range(ndim):
        sizes[d] = x.sizes[d]
    return 0


cdef int take_numbers(ssize* numbers, object given, int n, ssize least, str where, str name) except -1:
    """An op's argument with one int for each spatial dimension."""
    cdef int d
    if len(given) != n:
        raise ShapeError(f"{where}: {name} {given} must be {n} ints")
    for d in range(n):
        numbers[d] = given[d]
        if numbers[d] < least or numbers[d] > LARGEST_NUMBER:
            raise ShapeError(f"{where}: {name} {given} must be at least {least} and below 2**31")
    return 0


cdef int set_geometry(Geometry* geometry, Shapes* shapes, int ndim, object stride, object padding, object dilation, object groups,
                      str where) except -1:
    cdef ssize[MAX_NDIM] strides, paddings, dilations
    cdef ssize parts = groups
    cdef int d, n = ndim - 2
    if n < 1 or n > 3:
        raise ShapeError(f"{where}: the tensors must have 3 to 5 dimensions, not {ndim}")
    take_numbers(strides, stride, n, 1, where, "stride")
    take_numbers(paddings, padding, n, 0, where, "padding")
    take_numbers(dilations, dilation, n, 1, where, "dilation")
    if (parts < 1 or shapes.weight[0] % parts != 0 or shapes.x[0] != shapes.out[0] or shapes.out[1] != shapes.weight[0]
            or shapes.x[1] != shapes.weight[1] * parts):
        raise ShapeError(f"{where}: an input of shape {shape_text(ndim, shapes.x)}, a weight of shape "
                         f"{shape_text(ndim, shapes.weight)} and a result of shape {shape_text(ndim, shapes.out)} with {parts} "
                         f"group(s) do not belong together")
    geometry.bias = NULL
    geometry.batch = shapes.x[0]
    geometry.groups = parts
    geometry.in_channels = shapes.weight[1]
    geometry.out_channels = shapes.weight[0] // parts
    for d in range(3 - n):
        geometry.sizes[d] = geometry.kernel[d] = geometry.out[d] = geometry.stride[d] = geometry.dilation[d] = 1
        geometry.padding[d] = 0
    for d in range(n):
        geometry.sizes[3 - n + d] = shapes.x[2 + d]
        geometry.kernel[3 - n + d] = shapes.weight[2 + d]
        geometry.out[3 - n + d] = shapes.out[2 + d]
        geometry.stride[3 - n + d] = strides[d]
        geometry.padding[3 - n + d] = paddings[d]
        geometry.dilation[3 - n + d] = dilations[d]
    return 0


cdef int check_operands(TensorBase x, TensorBase y, str where) except -1:
    """Both on one device, and of one type that can be computed in."""
    check_same_place(x, y, where)
    if x.dtype_ != y.dtype_:
        raise DTypeError(f"{where}: the tensors have types {x.dtype} and {y.dtype}; they must be equal")
    check_dtype(where, x, NUMBER | 1 << COMPLEX32)
    return 0


cdef TensorBase image_result(TensorBase x, int ndim, const ssize* sizes, bint channels_last):
    """A result of x's type."""
    cdef ssize[4] strides
    cdef int d
    if not channels_last:
        return result_beside(x, x.dtype_, ndim, sizes)
    strides[1] = 1
    strides[ndim - 1] = max(sizes[1], 1)
    for d in range(ndim - 2, 1, -1):
        strides[d] = strides[d + 1] * max(sizes[d + 1], 1)
    strides[0] = strides[2] * max(sizes[2], 1)
    return result_beside(x, x.dtype_, ndim, sizes, strides)


# ---------------------------------------------------------------- channels last
cdef bint image_channels_lie_last(TensorBase x) noexcept:
    """Do channels lie next to each other in x? A signal (3-d) must be contiguous besides."""
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


# ---------------------------------------------------------------- conv
cdef Op CONV = Op("conv(Tensor x, Tensor weight, Tensor? bias, int[] out_shape, int[] stride, int[] padding, int[] dilation, "
                  "int groups) -> Tensor",
                  aten=None, node="ConvolutionBackward0", public={"x": "input"})

cdef bint prepare_conv(Geometry* geometry, Shapes* shapes, TensorBase x, TensorBase weight, TensorBase bias, object out_shape,
                       object stride, object padding, object dilation, object groups) except -1:
    """Check the arguments; are the channels of the result to lie next to each other?"""
    cdef int ndim = read_sizes(out_shape, shapes.out, "conv")
    take_sizes(shapes.x, x, ndim, "conv")
    take_sizes(shapes.weight, weight, ndim, "conv")
    check_operands(x, weight, "conv")
    set_geometry(geometry, shapes, ndim, stride, padding, dilation, groups, "conv")
    if bias is not None:
        check_operands(x, bias, "conv")
        if bias.ndim_ != 1 or bias.sizes[0] != shapes.out[1]:
            raise ShapeError(f"conv: bias must have shape ({shapes.out[1]},), not {shape_text(bias.ndim_, bias.sizes)}")
    return image_channels_lie_last(x) or channels_lie_last(weight)

@CONV.infer
def conv_infer(TensorBase x, TensorBase weight, TensorBase bias, out_shape, stride, padding, dilation, groups):
    cdef Geometry geometry
    cdef Shapes shapes
    cdef bint channels_last = prepare_conv(&geometry, &shapes, x, weight, bias, out_shape, stride, padding, dilation, groups)
    return image_result(x, x.ndim_, shapes.out, channels_last)

cdef int multiply_parts(TensorBase out, Op op, object x, object y, object bias, tuple rest) except -1:
    """Fill `out` with an op of two complex factors, by that op of their real and imaginary parts."""
    cdef object a = x.real.contiguous(), b = x.imag.contiguous(), c = y.real.contiguous(), d = y.imag.contiguous()
    cdef object real = run_tuple(op, (a, c, *rest)) - run_tuple(op, (b, d, *rest))
    cdef object imag = run_tuple(op, (a, d, *rest)) + run_tuple(op, (b, c, *rest))
    copy_into(out, <TensorBase?>(real + imag * 1j))
    if bias is not None:
        (<object>out).add_(along_channels(bias, out.ndim_))
    return 0

@CONV.kernel
def conv_kernel(TensorBase out, TensorBase x, TensorBase weight, TensorBase bias, out_shape, stride, padding, dilation, groups):
    cdef Geometry geometry
    cdef Shapes shapes
    cdef TensorBase sums
    if is_in(out.dtype_, COMPLEX):
        multiply_parts(out, CONV, x, weight, bias, (None, out_shape, stride, padding, dilation, groups))
        return
    sums = plain_result(out)
    prepare_conv(&geometry, &shapes, x, weight, bias, out_shape, stride, padding, dilation, groups)
    if bias is not None:
        bias = plain(bias)
        geometry.bias = bias.data_
    if multiplications(&geometry) > 0:
        run_conv(plain(x), plain(weight), sums, &geometry, FORWARD)
    elif bias is None:
        fill_zero(sums)
    elif out.numel_ > 0:
        copy_into(sums, along_channels(bias, x.ndim_))
    put_back(out, sums)

cdef TensorBase along_channels(TensorBase bias, int ndim):
    """An alias that is broadcast over everything but channels."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int d
    for d in range(ndim - 1):
        sizes[d], strides[d] = 1, 0
    sizes[0], strides[0] = bias.sizes[0], bias.strides[0]
    return alias_as(bias, ndim - 1, sizes, strides, bias.data_)

@CONV.derivative("x")
def conv_derivative_x(grad, TensorBase x, TensorBase weight, stride, padding, dilation, groups):
    channels_last = bool(image_channels_lie_last(x) or channels_lie_last(weight))
    x_shape = make_size(x.ndim_, x.sizes)
    return run_tuple(CONV_INPUT, (grad, weight, x_shape, stride, padding, dilation, groups,
                                  channels_last))

@CONV.derivative("weight")
def conv_derivative_weight(grad, TensorBase x, TensorBase weight, stride, padding, dilation, groups):      # the same
    channels_last = channels_lie_last(weight) or image_channels_lie_last(x)
    return run_tuple(CONV_WEIGHT, (x, grad, make_size(weight.ndim_, weight.sizes), stride, padding, dilation, groups,
                                   bool(channels_last)))

@CONV.derivative("bias")
def conv_derivative_bias(TensorBase grad):
    return grad.sum([0] + list(range(2, grad.ndim_)))


# ---------------------------------------------------------------- conv_input and conv_weight
cdef int prepare_gradient(Geometry* geometry, Shapes* shapes, bint by_input, TensorBase given, TensorBase grad, object shape,
                          object stride, object padding, object dilation, object groups, str where) except -1:
    """Check the arguments of the gradient of the input or of the weight, `given` being the other one. Returns the dimensions."""
    cdef ssize* sizes = &shapes.x[0] if by_input else &shapes.weight[0]
    cdef int ndim = read_sizes(shape, sizes, where)
    take_sizes(&shapes.weight[0] if by_input else &shapes.x[0], given, ndim, where)
    take_sizes(shapes.out, grad, ndim, where)
    check_operands(given, grad, where)
    set_geometry(geometry, shapes, ndim, stride, padding, dilation, groups, where)
    return ndim

cdef Op CONV_INPUT = Op("conv_input(Tensor grad, Tensor weight, int[] x_shape, int[] stride, int[] padding, int[] dilation, "
                        "int groups, bool channels_last=False) -> Tensor",
                        aten=None, node="ConvolutionBackward0")

@CONV_INPUT.infer
def conv_input_infer(TensorBase grad, TensorBase weight, x_shape, stride, padding, dilation, groups, bint channels_last):
    cdef Geometry geometry
    cdef Shapes shapes
    cdef int ndim = prepare_gradient(&geometry, &shapes, True, weight, grad, x_shape, stride, padding, dilation, groups,
                                     "conv_input")
    return image_result(grad, ndim, shapes.x, channels_last and ndim < 5)

@CONV_INPUT.kernel
def conv_input_kernel(TensorBase out, TensorBase grad, TensorBase weight, x_shape, stride, padding, dilation, groups,
                      channels_last):
    cdef Geometry geometry
    cdef Shapes shapes
    cdef TensorBase sums
    if is_in(out.dtype_, COMPLEX):
        multiply_parts(out, CONV_INPUT, grad, weight, None, (x_shape, stride, padding, dilation, groups, channels_last))
        return
    sums = plain_result(out)
    prepare_gradient(&geometry, &shapes, True, weight, grad, x_shape, stride, padding, dilation, groups, "conv_input")
    if multiplications(&geometry) > 0:
        run_conv(sums, plain(weight), plain(grad), &geometry, BY_INPUT)
    else:
        fill_zero(sums)
    put_back(out, sums)

@CONV_INPUT.derivative("grad")
def conv_input_derivative_grad(grad, weight, stride, padding, dilation, groups, grad_shape):
    return run_tuple(CONV, (grad, weight, None, grad_shape, stride, padding, dilation, groups))

@CONV_INPUT.derivative("weight")
def conv_input_derivative_weight(grad, grad_, stride, padding, dilation, groups, weight_shape):
    return run_tuple(CONV_WEIGHT, (grad, grad_, weight_shape, stride, padding, dilation, groups, False))

cdef Op CONV_WEIGHT = Op("conv_weight(Tensor x, Tensor grad, int[] weight_shape, int[] stride, int[] padding, int[] dilation, "
                         "int groups, bool channels_last=False) -> Tensor",
                         aten=None, node="ConvolutionBackward0")

@CONV_WEIGHT.infer
def conv_weight_infer(TensorBase x, TensorBase grad, weight_shape, stride, padding, dilation, groups, bint channels_last):
    cdef Geometry geometry
    cdef Shapes shapes
    cdef int ndim = prepare_gradient(&geometry, &shapes, False, x, grad, weight_shape, stride, padding, dilation, groups,
                                     "conv_weight")
    return image_result(grad, ndim, shapes.weight, channels_last and ndim < 5)

@CONV_WEIGHT.kernel
def conv_weight_kernel(TensorBase out, TensorBase x, TensorBase grad, weight_shape, stride, padding, dilation, groups,
                       channels_last):
    cdef Geometry geometry
    cdef Shapes shapes
    cdef TensorBase sums
    if is_in(out.dtype_, COMPLEX):
        multiply_parts(out, CONV_WEIGHT, x, grad, None, (weight_shape, stride, padding, dilation, groups, channels_last))
        return
    sums = plain_result(out)
    prepare_gradient(&geometry, &shapes, False, x, grad, weight_shape, stride, padding, dilation, groups, "conv_weight")
    fill_zero(sums)
    if multiplications(&geometry) > 0:
        run_conv(plain(x), sums, plain(grad), &geometry, BY_WEIGHT)
    put_back(out, sums)

@CONV_WEIGHT.derivative("x")
def conv_weight_derivative_x(grad, grad_, stride, padding, dilation, groups, x_shape):
    return run_tuple(CONV_INPUT, (grad_, grad, x_shape, stride, padding, dilation, groups, False))

@CONV_WEIGHT.derivative("grad")
def conv_weight_derivative_grad(grad, x, stride, padding, dilation, groups, grad_shape):
    return run_tuple(CONV, (x, grad, None, grad_shape, stride, padding, dilation, groups))


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
    return plain_ints(numbers)


cdef int check_tensors(TensorBase x, TensorBase weight, TensorBase bias, int n, str where) except -1:
    cdef int d
    if weight.ndim_ != n + 2:
        raise ShapeError(f"{where}: weight must have {n + 2} dimensions, not {weight.ndim_}")
    if x.ndim_ != n + 1 and x.ndim_ != n + 2:
        raise ShapeError(f"{where}: input must have {n + 2} dimensions, or {n + 1} for a single image, not {x.ndim_}")
    for d in range(2, n + 2):
        if weight.sizes[d] == 0:
            raise ShapeError(f"{where}: weight {shape_text(weight.ndim_, weight.sizes)} has size 0 in dimension {d}")
    check_dtype(where, x, NUMBER | 1 << COMPLEX32)
    if x.dtype_ != weight.dtype_ or (bias is not None and bias.dtype_ != x.dtype_):
        raise DTypeError(f"{where}: input has type {x.dtype}, weight {weight.dtype}"
                         f"{'' if bias is None else f', bias {bias.dtype}'}; all must be equal")
    return 0


cdef int refuse_empty_images(TensorBase x, int d, str where) except -1:
    """There may be no images, or no channels, but images without pixels are a mistake; d is a spatial dimension."""
    if x.sizes[2 + d] == 0 and x.sizes[0] > 0 and x.sizes[1] > 0:
        raise ShapeError(f"{where}: input {shape_text(x.ndim_, x.sizes)} has size 0 in dimension {2 + d}")
    return 0


cdef tuple read_settings(TensorBase x, TensorBase weight, TensorBase bias, object stride, object padding, object dilation,
                         object groups, int n, str where):
    """The op's arguments out_shape, stride, padding, dilation and groups for a batch x. No element is looked at."""
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
    out_shape = [x.sizes[0], weight.sizes[0]]
    for d in range(n):
        size = x.sizes[2 + d] + before[d] + after[d]
        refuse_empty_images(x, d, where)
        if size <= reach[d]:
            raise ShapeError(f"{where}: a kernel that reaches over {reach[d] + 1} elements is larger than the padded input of "
                             f"size {size}")
        out_shape.append((size - reach[d] - 1) // strides[d] + 1)
    return tuple(out_shape), strides, before, dilations, groups


cdef object convolve(TensorBase x, TensorBase weight, TensorBase bias, object stride, object padding, object dilation,
                     object groups, int n, str where):
    """What conv1d, conv2d and conv3d share; n is the number of spatial dimensions."""
    if x.ndim_ == n + 1:
        return convolve(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups, n, where).squeeze(0)
    settings = read_settings(x, weight, bias, stride, padding, dilation, groups, n, where)
    out = run_tuple(CONV, (x, weight, bias, *settings))
    return out.narrow(1, 0, 0) if x.sizes[1] == 0 else out          # PyTorch's answer to nothing has no channels


def conv_gradient(bint by_input, shape, TensorBase other not None, TensorBase grad not None, stride, padding, dilation, groups,
                  int n, str where):
    """The gradient of conv1d, conv2d or conv3d by its input or by its weight, which has this shape; `other` is the other one.

    Raises
    ------
    ShapeError
        If the sizes do not fit, or `grad` is not of the shape of the convolution's result.
    """
    cdef ssize[MAX_NDIM] sizes
    cdef int ndim = read_sizes(shape, sizes, where), d
    cdef TensorBase unknown, x, weight
    for d in range(ndim):
        if sizes[d] < 0:
            raise ShapeError(f"{where}: size {sizes[d]} in {shape_text(ndim, sizes)} is negative; sizes must be at least 0")
    unknown = result_beside(other, other.dtype_, ndim, sizes)
    x, weight = (unknown, other) if by_input else (other, unknown)
    if x.ndim_ == n + 1:                                            # a single image
        shape, other = ((1, *shape), other) if by_input else (shape, other.unsqueeze(0))
        found = conv_gradient(by_input, shape, other, grad.unsqueeze(0), stride, padding, dilation, groups, n, where)
        return found.squeeze(0) if by_input else found
    out_shape, *settings = read_settings(x, weight, None, stride, padding, dilation, groups, n, where)
    if grad.shape != out_shape:
        raise ShapeError(f"{where}: grad_output has shape {shape_text(grad.ndim_, grad.sizes)}, but the convolution's result has "
                         f"{out_shape}")
    return (conv_derivative_x if by_input else conv_derivative_weight)(grad, x, weight, *settings)


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

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.conv3d(tensorlab.ones(1, 1, 3, 3, 3), tensorlab.ones(2, 1, 2, 2, 2)).shape
    tensorlab.Size([1, 2, 2, 2, 2])
    """
    return convolve(input, weight, bias, stride, padding, dilation, groups, 3, "conv3d")


# ---------------------------------------------------------------- transposed
cdef object convolve_transposed(TensorBase x, TensorBase weight, TensorBase bias, object stride, object padding,
                                object output_padding, object groups, object dilation, int n, str where):
    """The gradient of a convolution by its input, as an operation of its own."""
    cdef tuple strides = read_numbers(stride, n, 1, where, "stride"), dilations, paddings, extras
    cdef list out_shape
    cdef ssize in_channels, size
    x, weight, bias = in_lower((x, weight, bias))
    paddings = read_numbers(padding, n, 0, where, "padding")
    extras = read_numbers(output_padding, n, 0, where, "output_padding")
    dilations = read_numbers(dilation, n, 1, where, "dilation")
    check_tensors(x, weight, bias, n, where)
    groups = read_numbers(groups, 1, 1, where, "groups")[0]
    in_channels = x.sizes[x.ndim_ - n - 1]
    if in_channels != weight.sizes[0] or in_channels % groups != 0:
        raise ShapeError(f"{where}: input {shape_text(x.ndim_, x.sizes)} has {in_channels} channels, but weight "
                         f"{shape_text(weight.ndim_, weight.sizes)} takes {weight.sizes[0]} in {groups} group(s)")
    if weight.sizes[0] < groups or weight.sizes[1] == 0:
        raise ShapeError(f"{where}: weight {shape_text(weight.ndim_, weight.sizes)} needs at least {groups} input channel(s) and "
                         "one output channel")
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
        refuse_empty_images(x, d, where)
        size = ((x.sizes[2 + d] - 1) * strides[d] - 2 * paddings[d] + dilations[d] * (weight.sizes[2 + d] - 1) + extras[d] + 1)
        if size < (x.sizes[0] > 0):                               # nothing of nothing is a result
            raise ShapeError(f"{where}: the result would have size {size} in dimension {2 + d}")
        out_shape.append(size)
    settings = (tuple(out_shape), strides, paddings, dilations, groups, False)
    if bias is None:
        return run_tuple(CONV_INPUT, (x, weight, *settings))
    kernel = dtype_object(kernel_dtype(x.dtype_))               # the sum with the bias alone is rounded to half
    out = run_tuple(CONV_INPUT, (x.to(kernel), weight.to(kernel), *settings))
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

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.conv_transpose1d(tensorlab.ones(1, 1, 2), tensorlab.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return convolve_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 1, "conv_transpose1d")


def conv_transpose2d(TensorBase input not None, TensorBase weight not None, TensorBase bias=None, stride=1, padding=0,
                     output_padding=0, groups=1, dilation=1):
    """Spread a batch of images by a bank of filters: the gradient of `conv2d` by its input; see `conv_transpose1d`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.conv_transpose2d(tensorlab.ones(1, 1, 2, 2), tensorlab.ones(1, 1, 2, 2)).shape
    tensorlab.Size([1, 1, 3, 3])
    """
    return convolve_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 2, "conv_transpose2d")


def conv_transpose3d(TensorBase input not None, TensorBase weight not None, TensorBase bias=None, stride=1, padding=0,
                     output_padding=0, groups=1, dilation=1):
    """Spread a batch of volumes by a bank of filters: the gradient of `conv3d` by its input; see `conv_transpose1d`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.conv_transpose3d(tensorlab.ones(1, 1, 2, 2, 2), tensorlab.ones(1, 1, 2, 2, 2)).shape
    tensorlab.Size([1, 1, 3, 3, 3])
    """
    return convolve_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation, 3, "conv_transpose3d")
