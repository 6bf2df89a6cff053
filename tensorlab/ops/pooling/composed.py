"""Pooling that is made of other operations: means of powers, and the way back from max pooling."""

import math

from tensorlab._core.dispatch.autocast import in_float32
from tensorlab._core.dispatch.levels import without_boxes
from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops.pooling.average import avg_pool1d, avg_pool2d, avg_pool3d
from tensorlab.ops.pooling.maximum import max_pool1d, max_pool2d, max_pool3d


def for_axes(given, axes, where, name):
    """Return a tuple of one number for each axis."""
    numbers = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(numbers) not in (1, axes):
        raise ShapeError(f"{where}: {name} must be an int or {axes} of them, not {given!r}")
    return numbers if len(numbers) == axes else numbers * axes


def check_planes(axes, input, where):
    """Refuse inputs of other dimensions, or without elements in one that is not the batch."""
    if input.ndim not in (axes + 1, axes + 2) or 0 in input.shape[1:]:
        raise ShapeError(
            f"{where}: the input has shape {tuple(input.shape)}; expected {axes + 2} dimensions, or "
            f"{axes + 1} without batch, of which only the batch may be empty"
        )


# ------------------------------------------------------------------------------ lp_pool
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of a signal, (batch, channels, length) or without batch; see `lp_pool2d`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.lp_pool1d(tensorlab.tensor([[[3.0, 4.0]]]), 2, 2)
    tensor([[[5.]]])
    """
    return lp_pool(1, max_pool1d, avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of an image: `(sum of x ** p) ** (1 / p)`, 0 where the sum is negative.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch, floating
    norm_type : float, p; infinity takes the largest magnitude, minus infinity the smallest
    kernel_size : int or pair of int, the window
    stride : int or pair of int, from one window to the next; the kernel size unless given
    ceil_mode : bool; a last window that is not full counts too, as if it were full of its mean

    Returns
    -------
    Tensor, shape (batch, channels, out_height, out_width)

    >>> import tensorlab
    >>> tensorlab.nn.functional.lp_pool2d(tensorlab.tensor([[[3., 4.]]]), 2, (1, 2))
    tensor([[[5.]]])
    """
    return lp_pool(2, max_pool2d, avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of a volume; see `lp_pool2d`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.lp_pool3d(tensorlab.ones(1, 1, 2, 2, 2), 1, 2).flatten()
    tensor([8.])
    """
    return lp_pool(3, max_pool3d, avg_pool3d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool(axes, maximum, average, input, norm_type, kernel_size, stride, ceil_mode):
    """The norm by one of the extremes, or by the mean of powers."""
    where = f"lp_pool{axes}d"
    check_planes(axes, input, where)
    elements = math.prod(for_axes(kernel_size, axes, where, "kernel_size"))
    if math.isinf(norm_type):
        if norm_type > 0:
            return maximum(input.abs(), kernel_size, stride, ceil_mode=ceil_mode)
        return -maximum(-input.abs(), kernel_size, stride, ceil_mode=ceil_mode)
    mean = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (mean.sign() * mean.abs().relu() * elements).pow(1.0 / norm_type)


# ------------------------------------------------------------------------------ max_unpool
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Put the numbers of max pooling of a signal back where they were; see `max_unpool2d`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> values, indices = F.max_pool1d_with_indices(tensorlab.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)
    >>> F.max_unpool1d(values, indices, 2)
    tensor([[[0., 3., 0., 7.]]])
    """
    return max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Put the numbers of max pooling back where they were, among zeros.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, height, width), or without batch, floating
    indices : Tensor, of the input's shape, int64: the second result of `max_pool2d(..., return_indices=True)`
    kernel_size, stride, padding : int or pair of int, those of the pooling
    output_size : sequence of int, the size of what was pooled, where several are pooled to the
        same size

    Returns
    -------
    Tensor, shape (batch, channels, *output_size)

    Raises
    ------
    ValueError
        If output_size is further from `(height - 1) * stride + kernel_size - 2 * padding` than a stride.
    ShapeError
        If the shapes of input and indices differ, or an index points out of its plane.

    >>> import tensorlab
    >>> found = tensorlab.nn.functional.max_pool2d(tensorlab.arange(4.).view(1, 2, 2), 2, return_indices=True)
    >>> tensorlab.nn.functional.max_unpool2d(*found, 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """
    return max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Put the numbers of max pooling of a volume back where they were; see `max_unpool2d`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> values, indices = F.max_pool3d_with_indices(tensorlab.rand(1, 1, 4, 4, 4), 2)
    >>> F.max_unpool3d(values, indices, 2).shape
    tensorlab.Size([1, 1, 4, 4, 4])
    """
    return max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


def max_unpool(axes, input, indices, kernel_size, stride, padding, output_size):
    """Scatter the numbers over planes of zeros."""
    input, indices = in_float32((input, indices))
    where = f"max_unpool{axes}d"
    kernels = for_axes(kernel_size, axes, where, "kernel_size")
    strides = kernels if stride is None else for_axes(stride, axes, where, "stride")
    paddings = for_axes(padding, axes, where, "padding")
    check_unpool(axes, input, indices, where)
    sizes = unpooled_sizes(input.shape[-axes:], kernels, strides, paddings, output_size, where)
    planes, count = input.shape[:-axes], math.prod(sizes)
    if not indices.is_meta and without_boxes(indices).numel():
        least, most = (int(one) for one in without_boxes(indices).aminmax())
        if least < 0 or most >= count:
            raise ShapeError(
                f"{where}: found an invalid max index, {least if least < 0 else most}, for planes of "
                f"{sizes}; the indices must be those that max pooling returned"
            )
    zeros = input.new_zeros((*planes, count))
    flat = zeros.scatter(-1, indices.flatten(-axes), input.flatten(-axes))
    return flat.view(*planes, *sizes)


def check_unpool(axes, input, indices, where):
    """Refuse inputs and indices that do not belong together."""
    check_planes(axes, input, where)
    if not input.is_floating_point():
        raise UnsupportedDType(f"{where}: not implemented for {input.dtype}; convert with .float()")
    if str(indices.dtype).rpartition(".")[2] != "int64":
        raise ShapeError(f"{where}: the indices are {indices.dtype}; convert them with .long()")
    if indices.shape != input.shape:
        raise ShapeError(
            f"{where}: the indices have shape {tuple(indices.shape)} and the input "
            f"{tuple(input.shape)}; they must be the same"
        )


def unpooled_sizes(sizes, kernels, strides, paddings, output_size, where):
    """Return the sizes of the planes that were pooled to these `sizes`: those given, or the ones without a rest."""
    likely = tuple(
        (size - 1) * stride + kernel - 2 * padding
        for size, kernel, stride, padding in zip(sizes, kernels, strides, paddings, strict=True)
    )
    wanted = likely if output_size is None else tuple(output_size)
    if len(wanted) == len(likely) + 2:
        wanted = wanted[2:]
    if len(wanted) != len(likely):
        raise ValueError(
            f"{where}: output_size has {len(wanted)} numbers; expected {len(likely)}, or {len(likely) + 2} "
            f"with batch and channels"
        )
    for size, one, stride in zip(wanted, likely, strides, strict=True):
        if not one - stride < size < one + stride or size < 0:
            raise ValueError(
                f"{where}: output_size {wanted} is out of reach; {size} must be above {one - stride}, below "
                f"{one + stride} and not negative"
            )
    return wanted
