"""Laying out the weights of convolutions channels last, as their inputs are."""

from ..convolution import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lay out the weights of all 2-d convolutions of a module in a memory format; their values stay.

    Parameters
    ----------
    module : Module
    memory_format : memory_format, such as `channels_last`

    Returns
    -------
    Module, the same

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> net = nn.Conv2d(3, 8, 3)
    >>> _ = convert_conv2d_weight_memory_format(net, tensorlab.channels_last)
    >>> net.weight.stride()
    (27, 1, 9, 3)
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lay out the weights of all 3-d convolutions in a memory format; their values stay.

    The format is `channels_last_3d`, for instance; the module is returned.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> net = nn.Conv3d(3, 8, 3)
    >>> _ = convert_conv3d_weight_memory_format(net, tensorlab.channels_last_3d)
    >>> net.weight.stride()
    (81, 1, 27, 9, 3)
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


def _convert(module, memory_format, kinds):
    for layer in module.modules():
        if isinstance(layer, kinds):
            layer.weight.data = layer.weight.detach().clone(memory_format=memory_format)
    return module
