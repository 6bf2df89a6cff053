"""Fusing: a layer and the batch normalization after it as one layer, for evaluation.

Batch normalization in evaluation is a scale and a shift per channel, and so is part of the layer's weight and bias:
(w x + b - mean) * scale + shift = (scale w) x + ((b - mean) scale + shift).
"""

import copy

from ...ops.creation import ones_like, zeros_like
from ..parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """Return a copy of a convolution that does what it and a batch normalization after it do.

    Parameters
    ----------
    conv : convolution module in evaluation
    bn : batch normalization module in evaluation, with running statistics
    transpose : bool, whether `conv` is a transposed convolution, whose outputs are the second dimension

    Raises
    ------
    AssertionError
        If one of them is in training, or has no running statistics.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> conv, norm = nn.Conv2d(3, 8, 3).eval(), nn.BatchNorm2d(8).eval()
    >>> x = tensorlab.randn(1, 3, 5, 5)
    >>> tensorlab.allclose(fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-6)
    True
    """
    check_evaluation("fuse_conv_bn_eval", conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, *statistics(bn), transpose
    )
    return fused


def fuse_linear_bn_eval(linear, bn):
    """Return a copy of a Linear that does what it and a batch normalization after it do.

    Raises
    ------
    AssertionError
        As `fuse_conv_bn_eval` does, and if `bn` has neither one feature nor as many as `linear` has outputs.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> linear, norm = nn.Linear(3, 8).eval(), nn.BatchNorm1d(8).eval()
    >>> x = tensorlab.randn(4, 3)
    >>> tensorlab.allclose(fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-6)
    True
    """
    check_evaluation("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            f"fuse_linear_bn_eval: linear.out_features is {linear.out_features} and bn.num_features "
            f"{bn.num_features}; they must be equal, or bn.num_features == 1"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, *statistics(bn))
    return fused


def check_evaluation(name, layer, bn):
    if layer.training or bn.training:
        raise AssertionError(f"{name}: fusion is only for evaluation; call .eval() on both modules")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError(f"{name}: bn.running_mean and bn.running_var must not be None")


def statistics(bn):
    return bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Return weight and bias, Parameters, of a convolution with batch normalization in it.

    Parameters
    ----------
    conv_w, conv_b : weight and bias of the convolution; the bias may be None
    bn_rm, bn_rv : running mean and variance, shape (channels,)
    bn_eps : float
    bn_w, bn_b : weight and bias of the batch normalization, or None
    transpose : bool, whether the outputs are the second dimension of `conv_w`

    Examples
    --------
    >>> import tensorlab
    >>> weight, two = tensorlab.ones(2, 1, 1, 1), tensorlab.full((2,), 2.0)
    >>> w, b = fuse_conv_bn_weights(weight, None, two, two, 0.0, two, None)
    >>> w.flatten(), b
    (tensor([1.4142, 1.4142]), Parameter containing:
    tensor([-2.8284, -2.8284]))
    """
    outputs = 1 if transpose else 0
    shape = [-1 if d == outputs else 1 for d in range(conv_w.dim())]
    return fused_parameters(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Return weight and bias, Parameters, of a Linear with batch normalization in it.

    Examples
    --------
    >>> import tensorlab
    >>> weight, two = tensorlab.ones(2, 1), tensorlab.full((2,), 2.0)
    >>> w, b = fuse_linear_bn_weights(weight, None, two, two, 0.0, two, None)
    >>> w.flatten(), b
    (tensor([1.4142, 1.4142]), Parameter containing:
    tensor([-2.8284, -2.8284]))
    """
    return fused_parameters(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def fused_parameters(weight, bias, mean, variance, eps, scale, shift, shape):
    bias_before = zeros_like(mean) if bias is None else bias
    scale = ones_like(mean) if scale is None else scale
    shift = zeros_like(mean) if shift is None else shift
    factor = scale * (variance + eps).rsqrt()
    fused_weight = weight * factor.reshape(shape).to(weight.dtype)
    fused_bias = ((bias_before - mean) * factor + shift).to(bias_before.dtype)
    return (
        Parameter(fused_weight.detach(), weight.requires_grad),
        Parameter(fused_bias.detach(), bias_before.requires_grad),
    )
