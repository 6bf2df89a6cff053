"""Mean and variance over the batches of several ranks, for SyncBatchNorm.

Two sums are taken over the ranks, one after the other: the second one is of squared distances
from the mean, which is exact where the usual difference of two large numbers isn't. Both are
collectives that autograd follows, so the derivative needs no formula of its own.
"""

from .._core.interop.exchange import tensor
from ..autograd.grad_mode import no_grad
from ..distributed.nn.functional import all_reduce
from ..ops.joining import cat


def normalize(layer, input, group):
    """Bring the channels of a batch to mean 0 and variance 1 over all ranks of a group.

    Parameters
    ----------
    layer : SyncBatchNorm
    input : Tensor of shape (batch, channels, ...); batches may differ from rank to rank
    group : ProcessGroup
    """
    channels = input.shape[1]
    axes = [0, *range(2, input.dim())]
    shape = [1, channels, *[1] * (input.dim() - 2)]
    x = input.float() if input.element_size() < 4 else input
    count = tensor([x.numel() / channels], dtype=x.dtype)
    sums = all_reduce(cat([x.sum(axes), count]), group=group)
    total, count = sums[:channels], sums[channels].detach()
    if count.item() < 2:
        raise ValueError(
            "SyncBatchNorm: Expected more than 1 value per channel when training, over all "
            f"ranks together; this rank's input has shape {tuple(input.shape)}"
        )
    mean = total / count
    centred = x - mean.view(shape)
    variance = all_reduce((centred * centred).sum(axes), group=group) / count
    if layer.training and layer.track_running_stats:
        keep(layer, mean, variance * (count / (count - 1)))
    result = centred * (variance + layer.eps).rsqrt().view(shape)
    if layer.weight is not None:
        result = result * layer.weight.view(shape)
    if layer.bias is not None:
        result = result + layer.bias.view(shape)
    return result.to(input.dtype)


def keep(layer, mean, variance):
    """Bring this batch into the running averages."""
    with no_grad():
        layer.num_batches_tracked.add_(1)
        momentum = layer.momentum
        if momentum is None:
            momentum = 1 / int(layer.num_batches_tracked)
        layer.running_mean.lerp_(mean.to(layer.running_mean.dtype), momentum)
        layer.running_var.lerp_(variance.to(layer.running_var.dtype), momentum)
