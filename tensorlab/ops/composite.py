"""Functions of networks that are made of other operations, and so need no derivative of their own."""

import math

from tensorlab._core.dispatch.numpy_aliases import accepts_numpy_names
from tensorlab._core.dispatch.operands import result_type
from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType
from tensorlab.ops.batch_norm import batch_norm
from tensorlab.ops.convolution import conv1d
from tensorlab.ops.meshgrid import broadcast_tensors
from tensorlab.ops.norms import norm
from tensorlab.ops.padding import pad
from tensorlab.ops.pointwise.division import div
from tensorlab.ops.pooling.average import avg_pool2d
from tensorlab.ops.triangles import triu_indices


# ------------------------------------------------------------------------------ lengths and angles
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divide by the p-norm along `dim`, or by `eps` where that is larger.

    >>> import tensorlab
    >>> tensorlab.nn.functional.normalize(tensorlab.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    length = norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return div(input, length, out=out)


@accepts_numpy_names
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors that lie along `dim` of the two broadcast; each length is at least `eps`.

    >>> import tensorlab
    >>> tensorlab.nn.functional.cosine_similarity(tensorlab.eye(2), tensorlab.ones(2, 2))
    tensor([0.7071, 0.7071])
    """
    for x in (x1, x2):
        if x.is_complex():
            raise UnsupportedDType(
                f"cosine_similarity: not implemented for {x.dtype}; vdot has the products"
            )
    if x1.dtype != x2.dtype:
        dtype = result_type(x1, x2)
        x1, x2 = x1.to(dtype), x2.to(dtype)
    x1, x2 = broadcast_tensors(x1, x2)
    lengths = (norm(x, 2.0, dim, keepdim=True).clamp_min(eps) for x in (x1, x2))
    one, other = (x / length for x, length in zip((x1, x2), lengths, strict=True))
    return (one * other).sum(dim)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension; eps keeps its gradient finite.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.pairwise_distance(tensorlab.zeros(1, 2), tensorlab.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    return norm(x1 - x2 + eps, p, -1, keepdim=keepdim)


def pdist(input, p=2.0):
    """The p-norm of the difference of each pair of rows: (0, 1), (0, 2), ..., (1, 2), ...

    Parameters
    ----------
    input : Tensor, shape (rows, features), floating
    p : float from 0 up

    Returns
    -------
    Tensor, shape (rows * (rows - 1) / 2,)

    Raises
    ------
    ShapeError
        If the input does not have two dimensions, or `p` is negative.
    DTypeError
        If it is not floating.

    >>> import tensorlab
    >>> tensorlab.nn.functional.pdist(tensorlab.tensor([[0., 0.], [3., 4.], [0., 1.]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if input.dim() != 2:
        raise ShapeError(
            f"pdist: the input has shape {tuple(input.shape)}; expected (rows, features)"
        )
    if not input.is_floating_point():
        raise DTypeError(f"pdist: the input is of type {input.dtype}; expected a floating type")
    if p < 0:
        raise ShapeError(f"pdist: p is {p}; expected 0 or a number above")
    first, second = triu_indices(input.size(0), input.size(0), 1, device=input.device)
    return norm(input[first] - input[second], p, -1)


# ------------------------------------------------------------------------------ bilinear
def bilinear(input1, input2, weight, bias=None):
    """Multiply two vectors by each matrix of a stack: out[..., o] = input1[...] @ weight[o] @ input2[...] + bias[o].

    Parameters
    ----------
    input1 : Tensor, shape (*, in1_features)
    input2 : Tensor, shape (*, in2_features), with the same *
    weight : Tensor, shape (out_features, in1_features, in2_features)
    bias : Tensor, shape (out_features,), or None

    Returns
    -------
    Tensor, shape (*, out_features)

    Raises
    ------
    ShapeError
        If these shapes do not fit.
    DTypeError
        If the types differ.

    >>> import tensorlab
    >>> x, y = tensorlab.tensor([1., 2.]), tensorlab.tensor([3., 4.])
    >>> tensorlab.nn.functional.bilinear(x, y, tensorlab.ones(1, 2, 2))
    tensor([21.])
    """
    _check_bilinear(input1, input2, weight, bias)
    outs, ins1, ins2 = weight.shape
    batch = input1.shape[:-1]
    count = math.prod(batch)
    # One matrix product for all o, then a product of a matrix with a vector for each element of the batch.
    rows = input1.reshape(count, ins1) @ weight.movedim(0, 1).reshape(ins1, outs * ins2)
    out = (rows.view(count, outs, ins2) @ input2.reshape(count, ins2, 1)).view(*batch, outs)
    return out if bias is None else out + bias


def _check_bilinear(input1, input2, weight, bias):
    if input1.dim() == 0 or input2.dim() == 0:
        raise ShapeError("bilinear: an input is 0-d; expected two of shape (..., features)")
    if weight.dim() != 3:
        raise ShapeError(
            f"bilinear: the weight has shape {tuple(weight.shape)}; expected (out_features, in1_features, in2_features)"
        )
    outs, *ins = weight.shape
    batch = input1.shape[:-1]
    for name, x, expected in (
        ("input1", input1, (*batch, ins[0])),
        ("input2", input2, (*batch, ins[1])),
        ("the bias", bias, (outs,)),
    ):
        if x is None:
            continue
        if tuple(x.shape) != expected:
            raise ShapeError(
                f"bilinear: {name} has shape {tuple(x.shape)}; expected {expected}, as the weight has shape "
                f"{tuple(weight.shape)} and input1 {tuple(input1.shape)}"
            )
        if x.dtype != weight.dtype:
            raise DTypeError(
                f"bilinear: {name} is of type {x.dtype} and the weight of type {weight.dtype}; expected one type"
            )


# ------------------------------------------------------------------------------ instance_norm
def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """Bring each channel of each sample to mean 0 and variance 1, then scale and shift it.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, *)
    running_mean, running_var : Tensor, shape (channels,), or None: averages over samples
    weight, bias : Tensor, shape (channels,), or None
    use_input_stats : bool; take mean and variance from the input, not from the running averages
    momentum : float, the share of this batch in the running averages
    eps : float, added to the variance

    Notes
    -----
    A batch of samples is, for batch_norm, one sample of batch * channels channels.
    Source: Ulyanov, Vedaldi and Lempitsky 2016, "Instance Normalization", equation 4.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.instance_norm(tensorlab.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if input.dim() < 2:
        raise ShapeError(
            f"instance_norm: the input has shape {tuple(input.shape)}; expected (batch, channels, ...)"
        )
    batch, channels, *sizes = input.shape
    if use_input_stats and math.prod(sizes) == 1:
        raise ValueError(
            f"instance_norm: the input has shape {tuple(input.shape)}: one value for each channel, "
            f"which has no variance; expected more than one"
        )
    repeated = [
        None if numbers is None else numbers.repeat(batch)
        for numbers in (running_mean, running_var, weight, bias)
    ]
    out = batch_norm(
        input.reshape(1, batch * channels, *sizes), *repeated, use_input_stats, momentum, eps
    )
    for running, new in zip((running_mean, running_var), repeated, strict=False):
        if running is not None and use_input_stats:
            running.copy_(new.view(batch, channels).mean(0))
    return out.view(input.shape)


# ------------------------------------------------------------------------------ local_response_norm
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divide each element by a power of the mean square of its neighbours in the other channels.

    With m the mean of x**2 over `size` channels around the element, zeros beyond the first and the last, the result is
    x / (k + alpha * m) ** beta.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, length, ...)
    size : int, channels; of an even number the extra one lies in front
    alpha, beta, k : float

    Returns
    -------
    Tensor, shape of the input

    Raises
    ------
    ValueError
        If the input has fewer than 3 dimensions.
    ShapeError
        If size is not above 0.

    Notes
    -----
    Source: Krizhevsky, Sutskever and Hinton 2012, "ImageNet Classification with Deep Convolutional Neural Networks",
    section 3.3, which sums where this takes the mean.

    >>> import tensorlab
    >>> x = tensorlab.ones(1, 3, 1)
    >>> tensorlab.nn.functional.local_response_norm(x, 2, alpha=1, beta=1).flatten()
    tensor([0.6667, 0.5000, 0.5000])
    """
    if input.dim() < 3:
        raise ValueError(
            f"local_response_norm: the input has shape {tuple(input.shape)}; expected (batch, channels, length, ...)"
        )
    if input.numel() == 0:
        return input
    if size <= 0:
        raise ShapeError(f"local_response_norm: size is {size}; expected a number above 0")
    squares = (input * input).flatten(2).unsqueeze(1)  # (batch, 1, channels, places): an image
    padded = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    means = avg_pool2d(padded, (size, 1), stride=1).reshape(input.shape)
    return input / (means * alpha + k) ** beta


def cross_map_lrn(input, size, alpha=1e-4, beta=0.75, k=1):
    """Do what `nn.CrossMapLRN2d` says."""
    if input.dim() != 4:
        raise ValueError(
            f"CrossMapLRN2d: the input has shape {tuple(input.shape)}; expected 4D, (batch, channels, height, width)"
        )
    channels, reach = input.size(1), (size - 1) // 2
    squares = input * input
    padded = pad(squares, (0, 0, 0, 0, reach, reach))
    total = padded.narrow(1, 0, channels)
    for first in range(1, 2 * reach + 1):
        total = total + padded.narrow(1, first, channels)
    behind = max(channels - reach - 1, 0)  # the channels that do not see the first one anyhow
    first = squares[:, :1].expand(-1, behind, -1, -1)
    total = total + pad(first, (0, 0, 0, 0, channels - behind, 0))
    return input * (total * (alpha / size) + k) ** -beta


# ------------------------------------------------------------------------------ conv_tbc
def conv_tbc(input, weight, bias, pad=0):
    """Correlate signals that lie as (time, batch, channels): `conv1d` with another order of dimensions.

    Parameters
    ----------
    input : Tensor, shape (time, batch, in_channels)
    weight : Tensor, shape (kernel, in_channels, out_channels)
    bias : Tensor, shape (out_channels,)
    pad : int, zeros before and behind each signal

    Returns
    -------
    Tensor, shape (time + 2 * pad - kernel + 1, batch, out_channels)

    Raises
    ------
    ShapeError
        If these shapes do not fit.

    >>> import tensorlab
    >>> x = tensorlab.arange(4.).view(4, 1, 1)
    >>> out = tensorlab.nn.functional.conv_tbc(x, tensorlab.ones(2, 1, 1), tensorlab.zeros(1))
    >>> out.flatten()
    tensor([1., 3., 5.])
    """
    for name, x, expected in (
        ("the input", input, "(time, batch, in_channels)"),
        ("the weight", weight, "(kernel, in_channels, out_channels)"),
        ("the bias", bias, "(out_channels,)"),
    ):
        if x.dim() != expected.count(",") + (x is not bias):
            raise ShapeError(f"conv_tbc: {name} has shape {tuple(x.shape)}; expected {expected}")
    out = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return out.permute(2, 0, 1).contiguous()
