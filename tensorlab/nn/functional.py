"""Layers and losses as functions: the same operations as the modules, without state.

Most are operations of `tensorlab.ops` under the name that PyTorch gives them here; the others are
written in terms of operations, so their derivatives follow.
"""

import warnings

from .. import ops
from ..autograd import no_grad
from ..errors import ShapeError

__all__ = [
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "l1_loss",
    "layer_norm",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "softmax",
    "tanh",
]

linear = ops.linear
tanh = ops.tanh
sigmoid = ops.sigmoid
gelu = ops.gelu
nll_loss = ops.nll_loss
cross_entropy = ops.cross_entropy
mse_loss = ops.mse_loss


# ---------------------------------------------------------------- activations
def relu(input, inplace=False):
    """max(x, 0) of each element, with `inplace` written over the input."""
    return ops.relu_(input) if inplace else ops.relu(input)


def softmax(input, dim=None, dtype=None):
    """exp(x) / sum(exp(x)) along dimension `dim`; `dtype` converts the input first."""
    return ops.softmax(input, _given_dim("softmax", input, dim), dtype=dtype)


def log_softmax(input, dim=None, dtype=None):
    """log of the softmax along dimension `dim`; `dtype` converts the input first."""
    return ops.log_softmax(input, _given_dim("log_softmax", input, dim), dtype=dtype)


def _given_dim(name, input, dim):
    """Return `dim`, or with a warning the dimension that old PyTorch programs relied on."""
    if dim is not None:
        return dim
    warnings.warn(
        f"{name}: implicit dimension choice is deprecated; give dim, such as dim=-1", stacklevel=3
    )
    return 0 if input.dim() in (0, 1, 3) else 1


# ---------------------------------------------------------------- dropout
def dropout(input, p=0.5, training=True, inplace=False):
    """In training, set elements to 0 with probability `p` and scale the others by 1 / (1 - p).

    Raises
    ------
    ValueError
        If `p` is not within 0 and 1.
    """
    check_probability("dropout", p)
    if not training or p == 0:
        return input
    with no_grad():
        scale = ops.empty_like(input).bernoulli_(1 - p)
        if p < 1:
            scale.div_(1 - p)
    return input.mul_(scale) if inplace else input * scale


def check_probability(name, p):
    """Raise ValueError unless 0 <= p <= 1."""
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: the probability p is {p}; expected a number from 0 to 1")


# ---------------------------------------------------------------- tables and normalisation
def embedding(input, weight, padding_idx=None):
    """Look up row `input[...]` of a table for each index.

    Parameters
    ----------
    input : Tensor of int32 or int64, any shape
    weight : Tensor, shape (rows, width)
    padding_idx : int or None, a row that gets no gradient

    Returns
    -------
    Tensor, shape (*input.shape, width)
    """
    rows = weight[input]
    if padding_idx is None or not weight.requires_grad:
        return rows
    is_padding = (input == padding_idx % weight.shape[0]).unsqueeze(-1)
    return ops.where(is_padding, rows.detach(), rows)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Bring the last dimensions to mean 0 and variance 1, then scale by weight and add bias.

    Parameters
    ----------
    input : Tensor, shape (*, *normalized_shape), floating
    normalized_shape : sequence of int
    weight, bias : Tensor, shape normalized_shape, or None
    eps : float, added to the variance

    Raises
    ------
    RuntimeError
        If the last sizes of the input are others.
    """
    normalized_shape = tuple(normalized_shape)
    count = len(normalized_shape)
    if tuple(input.shape[-count:]) != normalized_shape:
        raise ShapeError(
            f"layer_norm: normalized_shape is {normalized_shape}; expected the last sizes of the "
            f"input, whose shape is {tuple(input.shape)}"
        )
    dims = tuple(range(-count, 0))
    centred = input - input.mean(dims, keepdim=True)
    out = centred * ((centred * centred).mean(dims, keepdim=True) + eps).rsqrt()
    if weight is not None:
        out = out * weight
    return out if bias is None else out + bias


# ---------------------------------------------------------------- losses
def l1_loss(input, target, *, reduction="mean"):
    """Absolute difference of input and target, of one shape; their mean, their sum, or all."""
    _check_same_shape("l1_loss", input, target)
    return _reduced("l1_loss", (input - target).abs(), reduction)


def binary_cross_entropy_with_logits(
    input, target, weight=None, *, reduction="mean", pos_weight=None
):
    """-(p * y * log s(x) + (1 - y) * log(1 - s(x))), where s is the sigmoid and p the pos_weight.

    Parameters
    ----------
    input : Tensor of logits x
    target : Tensor of the same shape, y from 0 to 1
    weight : Tensor or None, a factor of each loss; broadcasts
    pos_weight : Tensor or None, p; broadcasts
    reduction : "mean", "sum" or "none"

    Notes
    -----
    -log s(x) is log(1 + exp(-x)) = log(1 + exp(-|x|)) + max(-x, 0), whose exp cannot overflow.
    """
    _check_same_shape("binary_cross_entropy_with_logits", input, target)
    minus_log_sigmoid = (-input.abs()).exp().log1p() + ops.relu(-input)
    factor = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * input + factor * minus_log_sigmoid
    if weight is not None:
        loss = loss * weight
    return _reduced("binary_cross_entropy_with_logits", loss, reduction)


def _check_same_shape(name, input, target):
    if input.shape != target.shape:
        raise ShapeError(
            f"{name}: input has shape {tuple(input.shape)} and target {tuple(target.shape)}; "
            "expected the same, or broadcasting would give a loss that nobody meant"
        )


def _reduced(name, losses, reduction):
    """Return the mean, the sum, or (none) all of the losses."""
    if reduction == "mean":
        return losses.mean()
    if reduction == "sum":
        return losses.sum()
    if reduction == "none":
        return losses
    raise ValueError(f"{name}: reduction is {reduction!r}; expected 'mean', 'sum' or 'none'")
