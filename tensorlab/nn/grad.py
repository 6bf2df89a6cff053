"""Gradients of convolutions as functions of their own: by the input, and by the weight."""

from ..autograd import enable_grad, grad
from ..ops.creation import zeros
from .functional import conv1d, conv2d, conv3d

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]


def gradient(convolve, shape, other, grad_output, by_input, settings):
    """Differentiate a convolution, linear in both of its tensors, by a tensor of zeros of this shape."""
    unknown = zeros(tuple(shape), dtype=other.dtype, device=other.device, requires_grad=True)
    with enable_grad():
        out = (
            convolve(unknown, other, None, *settings)
            if by_input
            else convolve(other, unknown, None, *settings)
        )
    return grad(
        out, unknown, grad_output, create_graph=grad_output.requires_grad or other.requires_grad
    )[0]


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv1d` by its input, a Tensor of shape `input_size`:
    (batch, channels, length).

    `weight` is the convolution's, `grad_output` the gradient of its result;
    the rest is as for `conv1d`.
    """
    settings = stride, padding, dilation, groups
    return gradient(conv1d, input_size, weight, grad_output, True, settings)


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv1d` by its weight, a Tensor of shape `weight_size`.

    `input` is the convolution's, a batch of signals, `grad_output` the gradient of its result;
    the rest is as for `conv1d`.
    """
    settings = stride, padding, dilation, groups
    return gradient(conv1d, weight_size, input, grad_output, False, settings)


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv2d` by its input, a Tensor of shape `input_size`:
    (batch, channels, height, width).

    `weight` is the convolution's, `grad_output` the gradient of its result;
    the rest is as for `conv2d`.
    """
    settings = stride, padding, dilation, groups
    return gradient(conv2d, input_size, weight, grad_output, True, settings)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv2d` by its weight, a Tensor of shape `weight_size`.

    `input` is the convolution's, a batch of images, `grad_output` the gradient of its result;
    the rest is as for `conv2d`.
    """
    settings = stride, padding, dilation, groups
    return gradient(conv2d, weight_size, input, grad_output, False, settings)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv3d` by its input, a Tensor of shape `input_size`:
    (batch, channels, depth, height, width).

    `weight` is the convolution's, `grad_output` the gradient of its result;
    the rest is as for `conv3d`.
    """
    settings = stride, padding, dilation, groups
    return gradient(conv3d, input_size, weight, grad_output, True, settings)


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Return the gradient of `conv3d` by its weight, a Tensor of shape `weight_size`.

    `input` is the convolution's, a batch of volumes, `grad_output` the gradient of its result;
    the rest is as for `conv3d`.
    """
    settings = stride, padding, dilation, groups
    return gradient(conv3d, weight_size, input, grad_output, False, settings)
