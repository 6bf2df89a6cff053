"""Batching rules of normalisation: over channels, whose number the batch multiplies, or over
rows, of which there are more.

Statistics come as vectors, of all channels or rows. Those of a batch are cut into one vector
for each example.
"""

from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab.func.batching.alignment import (
    all_whole,
    along_channels,
    fold,
    lengthened,
    needs_an_example,
    unfold,
    whole,
)
from tensorlab.func.batching.rules import Same, batching


# ---------------------------------------------------------------- over channels
@needs_an_example
def channels_folded(op, size, batched, *arguments):
    """Each example has channels of its own."""
    tensors = [
        one
        if one is None or isinstance(one, float)
        else _fold_channels(whole(one, is_batched, size))
        for one, is_batched in zip(arguments, batched, strict=True)
    ]
    results = op(*tensors)
    if isinstance(results, tuple):
        return tuple([_unfold_channels(one, size) for one in results])
    return _unfold_channels(results, size)


def _fold_channels(x):
    return fold(x) if x.ndim == 2 else x.movedim(0, 1).flatten(1, 2)


def _unfold_channels(x, size):
    return unfold(x, size) if x.ndim == 1 else x.unflatten(1, (size, -1)).movedim(1, 0)


for _name in ("batch_norm_backward", "batch_norm_backward_weight", "batch_norm_gradients"):
    batching.give(_name, channels_folded)


@batching("batch_norm")
@needs_an_example
def batch_norm(op, size, batched, x, weight, bias, eps):
    """Where the images are the same for all examples, so are their statistics."""
    if batched[0]:
        return channels_folded(op, size, batched, x, weight, bias, eps)
    out, *statistics = op(x, None, None, eps)
    if weight is not None:
        out = out * along_channels(weight, batched[1], x.ndim)
    if bias is not None:
        out = out + along_channels(bias, batched[2], x.ndim)
    return (out, *[Same(one) for one in statistics])


@batching("batch_norm_with")
@needs_an_example
def batch_norm_with(op, size, batched, x, *rest):
    """Where only the images have a batch, it makes more of them."""
    if any(batched[1:]):
        return channels_folded(op, size, batched, x, *rest)
    return unfold(op(fold(x), *rest), size)


# ---------------------------------------------------------------- over rows
@batching("layer_norm")
@needs_an_example
def layer_norm(op, size, batched, x, shape, weight, bias, eps):
    x = whole(x, batched[0], size)
    is_affine_inside = not batched[2] and not batched[3]
    out, *statistics = op(x, shape, *((weight, bias) if is_affine_inside else (None, None)), eps)
    if not is_affine_inside:
        out = out if weight is None else out * lengthened(weight, batched[2], out.ndim - 1)
        out = out if bias is None else out + lengthened(bias, batched[3], out.ndim - 1)
    return (out, *[unfold(one, size) for one in statistics])


@batching("layer_norm_backward")
@needs_an_example
def layer_norm_backward(op, size, batched, grad, x, shape, weight, eps, mean, rstd):
    grad, x, mean, rstd = all_whole((grad, x, mean, rstd), batched[:2] + batched[5:], size)
    if batched[3]:
        grad, weight = grad * lengthened(weight, True, grad.ndim - 1), None
    return op(grad, x, shape, weight, eps, fold(mean), fold(rstd))


@batching("layer_norm_backward_weight")
@needs_an_example
def layer_norm_backward_weight(op, size, batched, grad, x, shape, eps, mean, rstd):
    """The sum over the rows of each example, where the op sums over all.

    Rows are normalized anew, as their mean follows x where this is differentiated once more.
    """
    grad, x = all_whole((grad, x), batched[:2], size)
    normalized = REGISTRY["layer_norm"](x.to(mean.dtype), shape, None, None, eps)[0]
    return (grad * normalized).reshape(size, -1, *shape).sum(1).to(grad.dtype)


@batching("update_average_")
def update_average(op, size, batched, x, value, share):
    """It leaves no trace in the graph."""
    return x.detach().mul_(1 - share).add_(value.detach(), alpha=share)
