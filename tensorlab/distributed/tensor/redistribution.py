"""Redistribution: bring a tensor from one set of placements to another.

    from \\ to     Replicate     Shard            Partial
    Replicate     -             cut, locally     rank 0 keeps it, the others have zeros
    Shard         all_gather    all_to_all       -
    Partial       all_reduce    reduce_scatter   -

Where several dimensions of the mesh change, or cut one dimension of the tensor together, the
cuts are undone from the last to the first, and made again from the first to the last.
"""

from tensorlab.autograd.grad_mode import no_grad
from tensorlab.distributed.collectives import all_gather, all_reduce, all_to_all, reduce_scatter
from tensorlab.distributed.tensor.layouts import chunk_sizes, local_range, order_of_cuts
from tensorlab.distributed.tensor.placement_types import Replicate
from tensorlab.ops.joining import cat


def redistribute_local(local, spec, placements):
    """Return this rank's part of a tensor under other placements.

    Parameters
    ----------
    local : Tensor, this rank's part
    spec : Spec, whose it is
    placements : tuple of Placement

    Raises
    ------
    RuntimeError
        If a shard or a reduction of another kind is to become a Partial.
    """
    if spec.placements == placements or spec.mesh.get_coordinate() is None:
        return local
    with no_grad():
        for dim, current, wanted in steps(spec.placements, placements):
            local = change(local, spec, dim, current, wanted)
    return local


def steps(source, target):
    """List the changes that lead from placements to others.

    Returns
    -------
    list of (dimension of the mesh, placements before, placement after)
    """
    found, now = [], list(source)

    def change_to(i, wanted):
        found.append((i, tuple(now), wanted))
        now[i] = wanted

    for i in reversed(order_of_cuts(source)):
        if now[i] == target[i] and not cuts_on_a_change(now, target, i):
            continue
        if now[i].is_replicate():
            continue
        change_to(i, target[i] if is_direct(now, target, i) else Replicate())
    for i in order_of_cuts(target):
        if now[i] != target[i]:
            change_to(i, target[i])
    return found


def cuts_on_a_change(now, target, i):
    """Return whether a dimension of the mesh cuts what an earlier one has cut that changes."""
    if not now[i].is_shard():
        return False
    order = order_of_cuts(now)
    earlier = order[: order.index(i)]
    if any(now[k] != target[k] and one.is_shard(now[i].dim)
           for k in earlier for one in (now[k], target[k])):  # fmt: skip
        return True
    return order != order_of_cuts(target)


def is_direct(now, target, i):
    """Return whether a rank can get its shard at once, from others' shards or partial values."""
    if not target[i].is_shard() or now[i].is_replicate():
        return False
    dims = {target[i].dim} | ({now[i].dim} if now[i].is_shard() else set())
    return not any(
        k != i and one.is_shard(dim)
        for dim in dims
        for k in range(len(now))
        for one in (now[k], target[k])
    )


def change(local, spec, i, placements, wanted):
    """Make one of the steps: the placement of dimension `i` of the mesh becomes `wanted`."""
    current, mesh = placements[i], spec.mesh
    if wanted.is_partial():
        if not current.is_replicate():
            raise RuntimeError(f"Can not redistribute from {current} to {wanted}")
        return wanted.part_of(local, mesh.get_local_rank(i))
    if current.is_partial():
        group = mesh.get_group(i)
        if wanted.is_shard():
            sizes = chunk_sizes(local.shape[wanted.dim], mesh.size(i))
            return current.reduce(lambda x, op: scattered(x, op, wanted.dim, sizes, group), local)
        return current.reduce(lambda x, op: reduced(x, op, group), local)
    if current.is_shard():
        if wanted.is_shard(current.dim):
            return local  # with no other cut of the dimension, it doesn't matter when this one was
        before = local_range(
            spec.shape[current.dim], current.dim, mesh, placements, mesh.get_coordinate(), stop=i
        )[1]
        sizes = chunk_sizes(before, mesh.size(i))
        if wanted.is_shard():
            return exchanged(local, current.dim, sizes, wanted.dim, mesh.get_group(i))
        return gathered(local, current.dim, sizes, mesh.get_group(i))
    sizes = chunk_sizes(local.shape[wanted.dim], mesh.size(i))
    return part(local, wanted.dim, sizes, mesh.get_local_rank(i))


def part(x, dim, sizes, place):
    """Return a copy of one of the parts that a dimension is cut into."""
    return x.narrow(dim, sum(sizes[:place]), sizes[place]).clone().contiguous()


def reduced(x, op, group):
    """Return the reduction over a group."""
    result = x.clone().contiguous()
    all_reduce(result, op, group)
    return result


def gathered(x, dim, sizes, group):
    """Return the parts of all ranks of a group, joined."""
    parts = [x.new_empty((*x.shape[:dim], n, *x.shape[dim + 1 :])) for n in sizes]
    all_gather(parts, x.contiguous(), group)
    return cat(parts, dim)


def scattered(x, op, dim, sizes, group):
    """Return this rank's part of the reduction over a group."""
    parts = [part(x, dim, sizes, place) for place in range(len(sizes))]
    result = parts[group.rank()].new_empty(parts[group.rank()].shape)
    reduce_scatter(result, parts, op, group)
    return result


def exchanged(x, dim, sizes, wanted_dim, group):
    """Return this rank's part of another dimension than the one that is cut."""
    wanted = chunk_sizes(x.shape[wanted_dim], len(sizes))
    sent = [part(x, wanted_dim, wanted, place) for place in range(len(wanted))]
    shape = list(sent[group.rank()].shape)
    got = [x.new_empty((*shape[:dim], n, *shape[dim + 1 :])) for n in sizes]
    all_to_all(got, sent, group)
    return cat(got, dim)
