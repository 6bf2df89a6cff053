"""Layers and losses as functions: the same operations as the modules, without state.

Most are operations of `tensorlab.ops` under the name that PyTorch gives them here; the others are
written in terms of operations, so their derivatives follow.
"""

import warnings

from ..errors import TargetError
from ..ops import dropout as dropout_ops
from ..ops import softmax as softmax_ops
from ..ops.indexing.embedding import embedding, one_hot
from ..ops.linalg.affine import linear
from ..ops.losses import cross_entropy, nll_loss
from ..ops.normalization import layer_norm
from ..ops.pointwise import activation
from ..ops.pointwise.activation import (
    celu,
    elu,
    gelu,
    leaky_relu,
    logsigmoid,
    mish,
    prelu,
    selu,
    silu,
    softplus,
)
from ..ops.pointwise.elementary import sigmoid, tanh

__all__ = [
    "binary_cross_entropy_with_logits",
    "celu",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mish",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "prelu",
    "relu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]


# ---------------------------------------------------------------- activations
def relu(input, inplace=False):
    """max(x, 0) of each element, with `inplace` written over the input."""
    return activation.relu_(input) if inplace else activation.relu(input)


def softmax(input, dim=None, dtype=None):
    """exp(x) / sum(exp(x)) along dimension `dim`; `dtype` converts the input first."""
    return softmax_ops.softmax(input, _given_dim("softmax", input, dim), dtype)


def log_softmax(input, dim=None, dtype=None):
    """log of the softmax along dimension `dim`; `dtype` converts the input first."""
    return softmax_ops.log_softmax(input, _given_dim("log_softmax", input, dim), dtype)


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
    function = dropout_ops.dropout_ if inplace else dropout_ops.dropout
    return function(input, p, training)


def check_probability(name, p):
    """Raise ValueError unless 0 <= p <= 1."""
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: the probability p is {p}; expected a number from 0 to 1")


# ---------------------------------------------------------------- losses
def mse_loss(input, target, *, reduction="mean"):
    """Squared difference of input and target, of one shape; their mean, their sum, or all."""
    _warn_of_broadcast("mse_loss", input, target)
    difference = input - target
    return _reduced("mse_loss", difference * difference, reduction)


def l1_loss(input, target, *, reduction="mean"):
    """Absolute difference of input and target, of one shape; their mean, their sum, or all."""
    _warn_of_broadcast("l1_loss", input, target)
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
    if input.shape != target.shape:
        raise TargetError(
            f"binary_cross_entropy_with_logits: the target has shape {tuple(target.shape)}; "
            f"expected that of the input, {tuple(input.shape)}"
        )
    minus_log_sigmoid = (-input.abs()).exp().log1p() + activation.relu(-input)
    factor = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * input + factor * minus_log_sigmoid
    if weight is not None:
        loss = loss * weight
    return _reduced("binary_cross_entropy_with_logits", loss, reduction)


def _warn_of_broadcast(name, input, target):
    if input.shape != target.shape:
        warnings.warn(
            f"{name}: input has shape {tuple(input.shape)} and target {tuple(target.shape)}; they "
            "will be broadcast, which is rarely meant: (n,) and (n, 1) give all n * n differences",
            stacklevel=3,
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
