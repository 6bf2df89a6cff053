"""The rules of views: where each dimension of the operand is in the result."""

import math

from tensorlab.distributed.tensor.placement_types import Shard
from tensorlab.distributed.tensor.strategies import (
    SUM,
    Candidate,
    as_it_is,
    on_parts,
    replicated,
    rule,
)


def moved(call, places):
    """List the candidates of a view.

    Parameters
    ----------
    places : dict of a dimension of the operand to one of the result, for those that stay whole
    """
    n = len(call.operands)
    found = [replicated(call)]
    found += [Candidate((Shard(to),), (Shard(dim),) * n) for dim, to in places.items()]
    return found + [one for one in as_it_is(call) if one.inputs[0].is_partial() and n == 1]


@rule("transpose", "t")
def transpose(call):
    ndim = call.operands[0].ndim
    order = list(range(ndim))
    if call.name == "t":
        order.reverse()
    else:
        first, second = (call.argument(name) % ndim for name in ("dim0", "dim1"))
        order[first], order[second] = order[second], order[first]
    return moved(call, {dim: place for place, dim in enumerate(order)})


@rule("permute")
def permute(call):
    ndim = call.operands[0].ndim
    return moved(call, {dim % ndim: place for place, dim in enumerate(call.argument("dims"))})


@rule("unsqueeze")
def unsqueeze(call):
    ndim = call.operands[0].ndim
    new = call.argument("dim") % (ndim + 1)
    return moved(call, {dim: dim + (dim >= new) for dim in range(ndim)})


@rule("squeeze")
def squeeze(call):
    shape, dims = call.operands[0].shape, call.argument("dim")
    chosen = range(len(shape)) if dims is None else [dims] if isinstance(dims, int) else dims
    gone = {dim % len(shape) for dim in chosen if shape and shape[dim] == 1}
    return moved(call, places_without(len(shape), gone))


def places_without(ndim, gone):
    """Return where the dimensions are that are left."""
    left = [dim for dim in range(ndim) if dim not in gone]
    return {dim: place for place, dim in enumerate(left)}


@rule("expand")
def expand(call):
    shape, size = call.operands[0].shape, call.argument("size")
    extra = len(size) - len(shape)
    return moved(call, {dim: dim + extra for dim, n in enumerate(shape) if n > 1})


@rule("select")
def select(call):
    ndim = call.operands[0].ndim
    return moved(call, places_without(ndim, {call.argument("dim", 0) % ndim}))


@rule("unbind")
def unbind(call):
    return select(call)


@rule("slice", "split", "split_with_sizes", "flip", "roll")
def along_others(call):
    """What changes some dimensions, and leaves the others as they are."""
    ndim = call.operands[0].ndim
    dims = call.argument("dims", ()) if call.name in ("flip", "roll") else call.argument("dim", 0)
    dims = (dims,) if isinstance(dims, int) else dims
    changed = {dim % ndim for dim in dims} if dims else set(range(ndim))
    return moved(call, {dim: dim for dim in range(ndim) if dim not in changed})


@rule("getitem_alias", "getitem_select", "getitem_slice", "getitem_unsqueeze")
def getitem(call):
    """An index of integers, slices, None and one Ellipsis: dimensions taken whole stay cut."""
    spec, index = call.operands[0], call.argument("index")
    index = index if isinstance(index, tuple) else (index,)
    places, to, dim = {}, 0, 0
    taken = sum(one is not None and one is not Ellipsis for one in index)
    if Ellipsis not in index:
        index = (*index, Ellipsis)
    for one in index:
        if one is None:
            to += 1
        elif one is Ellipsis:
            for _ in range(spec.ndim - taken):
                places[dim] = to
                dim, to = dim + 1, to + 1
        elif isinstance(one, slice):
            if one == slice(None):
                places[dim] = to
            dim, to = dim + 1, to + 1
        elif isinstance(one, int):
            dim += 1
        else:
            return [replicated(call)]
    return moved(call, places)


@rule("view", "_reshape_copy")
def view(call):
    """A shape over the same elements. Where dimensions are joined, or one is cut in two, the
    ranks may hold parts of the first of them."""
    shape, size = tuple(call.operands[0].shape), call.argument("size")
    if not isinstance(size, tuple):  # another dtype
        return [replicated(call)]
    found = moved(call, {})
    for old, new in groups_of(shape, full_size(shape, size)):
        if len(old) == len(new) == 1:
            found.append(Candidate((Shard(new[0]),), (Shard(old[0]),)))
        elif old and new:
            first_old, first_new = shape[old[0]], full_size(shape, size)[new[0]]
            even = math.gcd(first_old, first_new)
            found.append(Candidate((Shard(new[0]),), (Shard(old[0]),), even=even))
    return found


@on_parts("view")
def reshape(func, x, size):
    """A part may be laid out otherwise than the whole, so that it has no view of that shape."""
    return x.reshape(size) if isinstance(size, (list, tuple)) else func(x, size)


def full_size(shape, size):
    """Return a size without -1."""
    if -1 not in size:
        return tuple(size)
    total, known = 1, 1
    for n in shape:
        total *= n
    for n in size:
        known *= n if n != -1 else 1
    return tuple(n if n != -1 else total // max(known, 1) for n in size)


def groups_of(shape, size):
    """Pair the dimensions of two shapes that hold the same elements.

    >>> list(groups_of((2, 3, 4), (6, 2, 2)))
    [([0, 1], [0]), ([2], [1, 2])]
    """
    i = j = 0
    while i < len(shape) and j < len(size):
        old, new = [i], [j]
        left, right = shape[i], size[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right and i < len(shape):
                old.append(i)
                left, i = left * shape[i], i + 1
            elif left > right and j < len(size):
                new.append(j)
                right, j = right * size[j], j + 1
            else:
                return
        # A size of 1 beside belongs to no other dimension.
        old, new = strip_ones(old, shape), strip_ones(new, size)
        yield old, new


def strip_ones(dims, shape):
    """Return the dimensions of a group without leading ones of size 1, unless all are."""
    return next((dims[k:] for k, dim in enumerate(dims) if shape[dim] != 1), dims[:1])


@rule("sum_to_size")
def sum_to_size(call):
    """The sum over the dimensions that broadcasting has added or repeated; they stay, with size 1."""
    shape, size = call.operands[0].shape, call.argument("size")
    size = (1,) * (len(shape) - len(size)) + tuple(size)
    found = moved(call, {dim: dim for dim, n in enumerate(shape) if size[dim] == n})
    found += [Candidate((SUM,), (Shard(dim),)) for dim, n in enumerate(shape) if size[dim] != n]
    return [one for one in found if not one.inputs[0].is_partial() or one.inputs[0].is_linear()]
