"""Layers and losses as functions: the same operations as the modules, without state.

Most are operations of `tensorlab.ops` under the name that PyTorch gives them here.
"""

import warnings

from .. import _missing
from ..ops import dropout as dropout_ops
from ..ops import softmax as softmax_ops
from ..ops.batch_norm import batch_norm
from ..ops.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from ..ops.indexing.embedding import embedding, one_hot
from ..ops.linalg.affine import linear
from ..ops.losses import cross_entropy, nll_loss
from ..ops.normalization import group_norm, layer_norm, rms_norm
from ..ops.pointwise import activation
from ..ops.pointwise.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    leaky_relu,
    leaky_relu_,
    logsigmoid,
    mish,
    prelu,
    relu_,
    selu,
    selu_,
    silu,
    softplus,
)
from ..ops.pointwise.elementary import sigmoid, tanh
from ..ops.pointwise.piecewise import (
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    relu6,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
    threshold_,
)
from ..ops.pointwise_losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)

__all__ = [
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "dropout",
    "elu",
    "elu_",
    "embedding",
    "gelu",
    "glu",
    "group_norm",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mish",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]


# ---------------------------------------------------------------- activations
def relu(input, inplace=False):
    """max(x, 0) of each element, with `inplace` written over the input."""
    return activation.relu_(input) if inplace else activation.relu(input)


def softmax(input, dim=None, dtype=None):
    """exp(x) / sum(exp(x)) along dimension `dim`; `dtype` converts the input first."""
    return softmax_ops.softmax(input, _given_dim("softmax", input, dim), dtype)


def softmin(input, dim=None, dtype=None):
    """exp(-x) / sum(exp(-x)) along dimension `dim`; `dtype` converts the input first."""
    return softmax_ops.softmin(input, _given_dim("softmin", input, dim), dtype)


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


def __getattr__(name):
    raise _missing.refuse(__name__, name)
