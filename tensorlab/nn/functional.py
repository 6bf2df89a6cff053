"""Layers and losses as functions: the same operations as the modules, without state.

Most are operations of `tensorlab.ops` under the name that PyTorch gives them here.
"""

import warnings

from .. import _missing
from ..ops import dropout as dropout_ops
from ..ops import random_activations
from ..ops import softmax as softmax_ops
from ..ops.batch_norm import batch_norm
from ..ops.composed_losses import gaussian_nll_loss, linear_cross_entropy
from ..ops.composite import (
    bilinear,
    conv_tbc,
    cosine_similarity,
    instance_norm,
    local_response_norm,
    normalize,
    pairwise_distance,
    pdist,
)
from ..ops.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from ..ops.ctc import ctc_loss
from ..ops.folding import fold, unfold
from ..ops.grids import affine_grid, grid_sample
from ..ops.indexing.embedding import embedding, one_hot
from ..ops.indexing.embedding_bag import embedding_bag
from ..ops.linalg.affine import linear
from ..ops.losses import cross_entropy, nll_loss
from ..ops.margin_losses import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from ..ops.multi_head_attention import multi_head_attention_forward
from ..ops.normalization import group_norm, layer_norm, rms_norm
from ..ops.padding import pad
from ..ops.pointwise import rectifiers
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
from ..ops.pointwise.rectifiers import (
    celu,
    celu_,
    elu,
    elu_,
    leaky_relu,
    leaky_relu_,
    prelu,
    relu_,
    selu,
    selu_,
)
from ..ops.pointwise.smooth import gelu, logsigmoid, mish, silu, softplus
from ..ops.pointwise_losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)
from ..ops.pooling.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
)
from ..ops.pooling.average import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
)
from ..ops.pooling.composed import (
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from ..ops.pooling.fractional import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from ..ops.pooling.maximum import (
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
)
from ..ops.random_activations import gumbel_softmax, rrelu_
from ..ops.resampling import interpolate, upsample, upsample_bilinear, upsample_nearest
from ..ops.scaled_dot_product import scaled_dot_product_attention
from ..ops.shuffles import channel_shuffle, pixel_shuffle, pixel_unshuffle

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "linear_cross_entropy",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]


# ---------------------------------------------------------------- activations
def relu(input, inplace=False):
    """max(x, 0) of each element, with `inplace` written over the input.

    Examples
    --------
    >>> import tensorlab
    >>> relu(tensorlab.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return rectifiers.relu_(input) if inplace else rectifiers.relu(input)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slopes are drawn between two bounds in training, and else their mean.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.rrelu(tensorlab.tensor([-1.0, 2.0]), 0.5, 0.5)
    tensor([-0.5000,  2.0000])
    """
    function = random_activations.rrelu_ if inplace else random_activations.rrelu
    return function(input, lower, upper, training)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) / sum(exp(x)) along dimension `dim`; `dtype` converts the input first.

    Examples
    --------
    >>> import tensorlab
    >>> softmax(tensorlab.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return softmax_ops.softmax(input, _given_dim("softmax", input, dim, _stacklevel), dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """exp(-x) / sum(exp(-x)) along dimension `dim`; `dtype` converts the input first.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.softmin(tensorlab.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return softmax_ops.softmin(input, _given_dim("softmin", input, dim, _stacklevel), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log of the softmax along dimension `dim`; `dtype` converts the input first.

    Examples
    --------
    >>> import tensorlab
    >>> log_softmax(tensorlab.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return softmax_ops.log_softmax(input, _given_dim("log_softmax", input, dim, _stacklevel), dtype)


def _given_dim(name, input, dim, stacklevel):
    """Return `dim`, or with a warning the dimension that old PyTorch programs relied on."""
    if dim is not None:
        return dim
    warnings.warn(
        f"{name}: implicit dimension choice is deprecated; give dim, such as dim=-1",
        stacklevel=stacklevel,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


# ---------------------------------------------------------------- dropout
def dropout(input, p=0.5, training=True, inplace=False):
    """In training, set elements to 0 with probability `p` and scale the others by 1 / (1 - p).

    Raises
    ------
    ValueError
        If `p` is not within 0 and 1.

    Examples
    --------
    >>> import tensorlab
    >>> dropout(tensorlab.ones(3), training=False)
    tensor([1., 1., 1.])
    >>> sorted(set(dropout(tensorlab.ones(100), p=0.5).tolist()))
    [0.0, 2.0]
    """
    check_probability("dropout", p)
    function = dropout_ops.dropout_ if inplace else dropout_ops.dropout
    return function(input, p, training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean 0 and variance 1 of its input; made for `selu`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.alpha_dropout(tensorlab.ones(2), training=False)
    tensor([1., 1.])
    """
    return _drop("alpha_dropout", input, p, training, inplace)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """In training, set whole channels of (batch, channels, length), or without batch, to 0.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.dropout1d(tensorlab.ones(1, 2, 3), training=False).shape
    tensorlab.Size([1, 2, 3])
    """
    _check_dims("dropout1d", input, (2, 3))
    return _drop_channels(input, p, training, inplace, is_batch=input.dim() == 3)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """In training, set whole channels of (batch, channels, height, width) to 0 and scale the others.

    Neighbouring pixels are alike, so that dropping single ones would take little away.
    Source: Tompson et al. 2015, "Efficient Object Localization Using Convolutional Networks",
    section 3.2.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.dropout2d(tensorlab.ones(1, 2, 3, 3), training=False).shape
    tensorlab.Size([1, 2, 3, 3])
    """
    if input.dim() not in (3, 4):
        _warn_of_dimensions("dropout2d", input, "(batch, channels, height, width)")
    elif input.dim() == 3:
        warnings.warn(
            "dropout2d: a 3-d input is taken as (batch, channels, length); write dropout1d for that, "
            "or x.unsqueeze(0) for one image",
            stacklevel=2,
        )
    return _drop("feature_dropout", input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """In training, set whole channels of (batch, channels, depth, height, width) to 0.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.dropout3d(tensorlab.ones(1, 2, 3, 3, 3), training=False).shape
    tensorlab.Size([1, 2, 3, 3, 3])
    """
    if input.dim() not in (4, 5):
        _warn_of_dimensions("dropout3d", input, "(batch, channels, depth, height, width)")
    return _drop_channels(input, p, training, inplace, is_batch=input.dim() != 4)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn import functional as F
    >>> F.feature_alpha_dropout(tensorlab.ones(1, 2, 2), training=False).shape
    tensorlab.Size([1, 2, 2])
    """
    return _drop("feature_alpha_dropout", input, p, training, inplace)


def _warn_of_dimensions(name, input, axes):
    warnings.warn(
        f"{name}: the input has {input.dim()} dimensions; expected {axes}, or without batch. This is "
        "deprecated and will be an error in PyTorch",
        stacklevel=3,
    )


def _drop_channels(input, p, training, inplace, is_batch):
    if is_batch:
        return _drop("feature_dropout", input, p, training, inplace)
    out = _drop("feature_dropout", input.unsqueeze(0), p, training, inplace)
    return input if inplace else out.squeeze(0)


def _drop(name, input, p, training, inplace):
    check_probability(name, p)
    return getattr(dropout_ops, name + "_" if inplace else name)(input, p, training)


def _check_dims(name, input, allowed):
    if input.dim() not in allowed:
        raise RuntimeError(
            f"{name}: the input has shape {tuple(input.shape)}; expected {allowed[0]} or "
            f"{allowed[1]} dimensions"
        )


def check_probability(name, p):
    """Raise ValueError unless 0 <= p <= 1."""
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: the probability p is {p}; expected a number from 0 to 1")


def __getattr__(name):
    raise _missing.refuse(__name__, name)
