"""Gradients of convolutions as functions of their own: by the input, and by the weight."""

from ..ops.convolution import conv_gradient

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv1d` by its input, a Tensor of shape `input_size`:
    (batch, channels, length).

    `weight` is the convolution's, `grad_output` the gradient of its result;
    the rest is as for `conv1d`.
    """
    settings = stride, padding, dilation, groups
    return conv_gradient(True, input_size, weight, grad_output, *settings, 1, "conv1d_input")


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv1d` by its weight, a Tensor of shape `weight_size`.

    `input` is the convolution's, a batch of signals, `grad_output` the gradient of its result;
    the rest is as for `conv1d`.
    """
    settings = stride, padding, dilation, groups
    return conv_gradient(False, weight_size, input, grad_output, *settings, 1, "conv1d_weight")


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv2d` by its input, a Tensor of shape `input_size`:
    (batch, channels, height, width).

    `weight` is the convolution's, `grad_output` the gradient of its result;
    the rest is as for `conv2d`.
    """
    settings = stride, padding, dilation, groups
    return conv_gradient(True, input_size, weight, grad_output, *settings, 2, "conv2d_input")


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv2d` by its weight, a Tensor of shape `weight_size`.

    `input` is the convolution's, a batch of images, `grad_output` the gradient of its result;
    the rest is as for `conv2d`.
    """
    settings = stride, padding, dilation, groups
    return conv_gradient(False, weight_size, input, grad_output, *settings, 2, "conv2d_weight")


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv3d` by its input, a Tensor of shape `input_size`:
    (batch, channels, depth, height, width).

    `weight` is the convolution's, `grad_output` the gradient of its result;
    the rest is as for `conv3d`.
    """
    settings = stride, padding, dilation, groups
    return conv_gradient(True, input_size, weight, grad_output, *settings, 3, "conv3d_input")


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv3d` by its weight, a Tensor of shape `weight_size`.

    `input` is the convolution's, a batch of volumes, `grad_output` the gradient of its result;
    the rest is as for `conv3d`.
    """
    settings = stride, padding, dilation, groups
    return conv_gradient(False, weight_size, input, grad_output, *settings, 3, "conv3d_weight")
