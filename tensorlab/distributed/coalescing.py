"""Several tensors as one: a collective costs a latency, however small its tensor is."""

from tensorlab.autograd.grad_mode import no_grad
from tensorlab.autograd.graph import increment_version
from tensorlab.distributed import collectives
from tensorlab.ops.joining import cat

MOST_BYTES = 250 * 1024 * 1024


def flat(tensors):
    """Return the elements of several tensors of one dtype as one new tensor, one after the other."""
    return cat([x.detach().reshape(-1) for x in tensors])


def unflatten(buffer, tensors):
    """Return views of a flat buffer with the shapes of the tensors."""
    parts = buffer.split([x.numel() for x in tensors])
    return [part.view(x.shape) for part, x in zip(parts, tensors, strict=True)]


def by_dtype(tensors):
    """Return lists of the tensors that have a dtype in common."""
    groups = {}
    for x in tensors:
        groups.setdefault(x.dtype, []).append(x)
    return list(groups.values())


def broadcast_coalesced(group, tensors, src=0):
    """Copy tensors of one rank to all ranks, in place; few large messages carry them.

    Parameters
    ----------
    group : ProcessGroup
    tensors : list of Tensor
    src : int, a place in the group
    """
    if not tensors or group.size() == 1:
        return
    for alike in by_dtype(tensors):
        buffer = flat(alike)
        collectives.broadcast(buffer, group=group, group_src=src)
        if group.rank() == src:
            continue
        with no_grad():
            for x, part in zip(alike, unflatten(buffer, alike), strict=True):
                x.detach().copy_(part)
                increment_version(x)
