"""loss_parallel: cross entropy of scores that are cut by classes, without gathering them.

    loss of a row = log(sum over classes of exp(score - largest)) + largest - score of the
    target

The largest, the sum and the target's score are each reduced over the ranks: three numbers for
each row, instead of a row of all classes.
"""

import contextlib
import threading

from tensorlab.distributed.collectives import all_reduce
from tensorlab.distributed.reduce_ops import ReduceOp
from tensorlab.distributed.tensor.dispatching import dispatch
from tensorlab.distributed.tensor.layouts import Spec, contiguous_strides, local_range
from tensorlab.distributed.tensor.placement_types import Replicate, Shard
from tensorlab.distributed.tensor.redistribution import redistribute_local
from tensorlab.distributed.tensor.strategies import handler
from tensorlab.distributed.tensor.tensors import DTensor

__all__ = ["loss_parallel"]

ENTERED = threading.local()


@contextlib.contextmanager
def loss_parallel():
    """A block in which cross_entropy of scores that are sharded by classes stays sharded.

    The scores have shape (rows, classes) and are placed as Shard(1) on a mesh of one dimension,
    the targets are class numbers. `backward` belongs in the block, too.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Replicate, distribute_tensor
    >>> def loss(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     scores = distribute_tensor(tensorlab.eye(3, 4), mesh, [Shard(1)])
    ...     target = distribute_tensor(tensorlab.tensor([0, 1, 2]), mesh, [Replicate()])
    ...     with loss_parallel():
    ...         return tensorlab.nn.functional.cross_entropy(scores, target).to_local().item()
    >>> round(dist.threads.spawn(loss, nprocs=2)[0], 4)
    0.7437
    """
    ENTERED.depth = getattr(ENTERED, "depth", 0) + 1
    try:
        yield
    finally:
        ENTERED.depth -= 1


def is_by_classes(x):
    """Return whether scores are cut by classes, on a mesh of one dimension."""
    return getattr(ENTERED, "depth", 0) > 0 and x.dim() == 2 and x._spec.placements == (Shard(1),)


def by_rule(func, args, kwargs):
    """Run an op by its rule, as outside of the block."""
    return dispatch(DTensor, func, args, kwargs, by_handler=False)


@handler("cross_entropy")
def cross_entropy(func, args, kwargs, around):
    """Return the loss, and the probabilities, cut as the scores are."""
    x, target, *rest = args
    weight = rest[0] if rest else kwargs.get("weight")
    if not isinstance(x, DTensor) or not is_by_classes(x):
        return by_rule(func, args, kwargs)
    if weight is not None:
        raise NotImplementedError(
            "loss_parallel: cross_entropy with weights of classes isn't there; leave them out, "
            "or leave the block"
        )
    mesh, group = x._spec.mesh, x._spec.mesh.get_group(0)
    scores, ignored = x._local_tensor, kwargs.get("ignore_index", -100)
    own, is_here, counts = own_targets(x, target, ignored)
    largest = scores.amax(1) if scores.shape[1] else scores.new_full((len(scores),), float("-inf"))
    all_reduce(largest, ReduceOp.MAX, group)
    shifted = scores - largest.unsqueeze(1)
    total = shifted.exp().sum(1)
    picked = (
        shifted.gather(1, own.unsqueeze(1)).squeeze(1) * is_here if scores.shape[1] else total * 0
    )
    all_reduce(total, group=group)
    all_reduce(picked, group=group)
    losses = (total.log() - picked) * counts
    kind = kwargs.get("reduction", "mean")
    loss = losses if kind == "none" else losses.sum()
    loss = loss / counts.sum() if kind == "mean" else loss
    probabilities = shifted.exp() / total.unsqueeze(1)
    whole = Spec(mesh, (Replicate(),), loss.shape, contiguous_strides(loss.shape), loss.dtype)
    return around(loss, whole), around(probabilities, x._spec)


@handler("cross_entropy_backward")
def cross_entropy_backward(func, args, kwargs, around):
    """probability - 1 at the target, by row, times the gradient of the row's loss."""
    grad, probabilities, target = args[:3]
    if not isinstance(probabilities, DTensor) or not is_by_classes(probabilities):
        return by_rule(func, args, kwargs)
    named = dict(zip(("weight", "ignore_index", "reduction"), args[3:], strict=False)) | kwargs
    own, is_here, counts = own_targets(probabilities, target, named["ignore_index"])
    spec = probabilities._spec
    scale = redistribute_local(grad._local_tensor, grad._spec, (Replicate(),)) * counts
    if named["reduction"] == "mean":
        scale = scale / counts.sum()
    result = probabilities._local_tensor * scale.unsqueeze(1)
    if result.shape[1]:
        result.scatter_add_(1, own.unsqueeze(1), -(scale * is_here).unsqueeze(1))
    return around(result, spec)


def own_targets(x, target, ignored):
    """Return for each row the target's place among this rank's classes, and as numbers whether it
    is one of them, and whether the row counts."""
    if isinstance(target, DTensor):
        target = redistribute_local(target._local_tensor, target._spec, (Replicate(),))
    spec = x._spec
    first, n = local_range(spec.shape[1], 1, spec.mesh, spec.placements, spec.mesh.get_coordinate())
    counts = target != ignored
    own = target - first
    is_here = (own >= 0).logical_and(own < n).logical_and(counts)
    return own.clamp(0, max(n - 1, 0)), is_here.to(x.dtype), counts.to(x.dtype)
