"""Batching rules of losses by class numbers: nll_loss, cross_entropy and their gradients.

The targets of all examples are one long list, of which the ops return every single loss. Sums
and means over those of one example are made here, and so are products with weights that differ
from example to example.
"""

from tensorlab.func.batching.alignment import fold, whole
from tensorlab.func.batching.rules import Same, batching


def is_single(target):
    """Is the target of an example one class, a 0-d tensor?"""
    return target.ndim == 1


def as_one(x, target):
    """What belongs to the targets of all examples, as that of one: (size * n, ...)."""
    return x if is_single(target) else fold(x)


def sums(x):
    """The sum of each example."""
    return x.flatten(1).sum(1) if x.ndim > 1 else x


def weights_of(target, weight, has_batch, ignore_index):
    """The weight of each target, 0 of those that are ignored; target (size, ...), weight
    (classes,) or (size, classes).
    """
    counted = target != ignore_index
    if weight is None:
        return counted
    chosen = target.where(counted, 0)
    chosen = chosen.flatten(1) if chosen.ndim > 1 else chosen.unsqueeze(1)
    found = weight.gather(1, chosen) if has_batch else weight[chosen]
    return found.reshape(target.shape) * counted


def loss(op, size, batched, x, target, weight, ignore_index, reduction, *options):
    """nll_loss and cross_entropy, which besides returns what its gradient needs."""
    x, target = whole(x, batched[0], size), whole(target, batched[1], size)
    inside = None if batched[2] else weight
    results = op(as_one(x, target), as_one(target, target), inside, ignore_index, "none", *options)
    losses, *probabilities = results if isinstance(results, tuple) else (results,)
    losses = losses.reshape(target.shape)
    if batched[2]:
        losses = losses * weights_of(target, weight, True, ignore_index)
    if reduction != "none":
        losses = sums(losses)
    if reduction == "mean":
        losses = losses / total(target, weight, batched[2], ignore_index, losses)
    if not probabilities:
        return losses
    kept = probabilities[0]
    return losses, Same(kept) if kept.shape == (0,) else kept.reshape(x.shape)


def total(target, weight, has_batch, ignore_index, like):
    """What the mean of each example is divided by."""
    return sums(weights_of(target, weight, has_batch, ignore_index)).to(like.dtype)


batching.give("nll_loss", loss)
batching.give("cross_entropy", loss)


# ---------------------------------------------------------------- gradients
def single_gradients(grad, target, weight, has_batch, ignore_index, reduction):
    """The gradient of each single loss."""
    if reduction == "mean":
        grad = grad / total(target, weight, has_batch, ignore_index, grad)
    if reduction != "none":
        grad = grad.reshape(-1, *[1] * (target.ndim - 1)).expand(target.shape)
    if has_batch:
        grad = grad * weights_of(target, weight, True, ignore_index)
    return grad


@batching("cross_entropy_backward")
def cross_entropy_backward(
    op, size, batched, grad, probabilities, target, weight, ignore_index, reduction
):
    grad, probabilities, target = [
        whole(*one, size) for one in zip((grad, probabilities, target), batched[:3], strict=True)
    ]
    grad = single_gradients(grad, target, weight, batched[3], ignore_index, reduction)
    inside = None if batched[3] else weight
    out = op(
        as_one(grad, target),
        as_one(probabilities, target),
        as_one(target, target),
        inside,
        ignore_index,
        "none",
    )
    return out.reshape(probabilities.shape)


@batching("nll_loss_backward")
def nll_loss_backward(op, size, batched, grad, target, weight, sizes, ignore_index, reduction):
    grad, target = whole(grad, batched[0], size), whole(target, batched[1], size)
    grad = single_gradients(grad, target, weight, batched[2], ignore_index, reduction)
    inside = None if batched[2] else weight
    folded = [size, *sizes] if is_single(target) else [size * sizes[0], *sizes[1:]]
    out = op(as_one(grad, target), as_one(target, target), inside, folded, ignore_index, "none")
    return out.reshape(size, *sizes)
