"""Functions of networks that are made of other operations, and so need no derivative of their own."""

import math

from tensorlab._core.device import contiguous_format
from tensorlab._core.operands import result_type
from tensorlab.errors import DTypeError, ShapeError
from tensorlab.ops.batch_norm import batch_norm
from tensorlab.ops.meshgrid import broadcast_tensors
from tensorlab.ops.norms import norm
from tensorlab.ops.pointwise.division import div


# ------------------------------------------------------------------------------ lengths and angles
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divide by the p-norm along `dim`, or by `eps` where that is larger.

    >>> import tensorlab
    >>> tensorlab.nn.functional.normalize(tensorlab.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
    """
    length = norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return div(input, length, out=out)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors that lie along `dim` of the two broadcast; each length is at least `eps`.

    >>> import tensorlab
    >>> tensorlab.nn.functional.cosine_similarity(tensorlab.eye(2), tensorlab.ones(2, 2))
    tensor([0.7071, 0.7071])
    """
    if x1.dtype != x2.dtype:
        dtype = result_type(x1, x2)
        x1, x2 = x1.to(dtype), x2.to(dtype)
    x1, x2 = broadcast_tensors(x1, x2)
    lengths = (norm(x, 2.0, dim, keepdim=True).clamp_min(eps) for x in (x1, x2))
    one, other = (x / length for x, length in zip((x1, x2), lengths, strict=True))
    return (one * other).sum(dim)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension; eps keeps its gradient finite."""
    return norm(x1 - x2 + eps, p, -1, keepdim=keepdim)


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


# ------------------------------------------------------------------------------ pixel_shuffle
def pixel_shuffle(input, upscale_factor):
    """Make of r**2 channels one whose height and width are r times as large, where r is `upscale_factor`.

    Element (c, r * i + a, r * j + b) of the result is element (r * r * c + r * a + b, i, j) of the input.

    Parameters
    ----------
    input : Tensor, shape (*, channels * r**2, height, width), any dtype
    upscale_factor : int, above 0

    Returns
    -------
    Tensor, shape (*, channels, height * r, width * r), of the same dtype, with memory of its own

    Raises
    ------
    ShapeError
        If the input has fewer than 3 dimensions, or channels that r**2 does not divide, or r is not above 0.

    Notes
    -----
    Source: Shi et al. 2016, "Real-Time Single Image and Video Super-Resolution Using an Efficient
    Sub-Pixel Convolutional Neural Network", equation 4.

    >>> import tensorlab
    >>> x = tensorlab.arange(8).view(4, 1, 2)
    >>> tensorlab.nn.functional.pixel_shuffle(x, 2)
    tensor([[[0, 2, 1, 3],
             [4, 6, 5, 7]]])
    """
    r = upscale_factor
    if input.dim() < 3:
        raise ShapeError(
            f"pixel_shuffle: the input has shape {tuple(input.shape)}; expected (..., channels, height, width)"
        )
    if r <= 0:
        raise ShapeError(f"pixel_shuffle: upscale_factor is {r}; expected a number above 0")
    *batch, channels, height, width = input.shape
    if channels % (r * r) != 0:
        raise ShapeError(
            f"pixel_shuffle: the input has {channels} channels; expected a multiple of {r * r}, the square of "
            f"upscale_factor"
        )
    channels //= r * r
    parts = input.unflatten(-3, (channels, r, r))  # c, a, b, i, j
    moved = parts.movedim((-4, -3), (-3, -1))  # c, i, a, j, b
    copied = moved.clone(memory_format=contiguous_format)
    return copied.view(*batch, channels, height * r, width * r)
