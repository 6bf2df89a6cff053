"""Batching rules of ops that change shapes: sizes get the batch as their first."""

import math

from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab.func.batching.alignment import lengthened, whole
from tensorlab.func.batching.dims import every, moved, moved_list
from tensorlab.func.batching.rules import batching, in_parts


@batching("permute")
def permute(op, size, batched, x, dims):
    return op(x, (0, *moved_list(dims, x.ndim - 1, op.name)))


@batching("t")
def t(op, size, batched, x):
    return x if x.ndim < 3 else x.transpose(1, 2)


@batching("squeeze")
def squeeze(op, size, batched, x, dim):
    ndim = x.ndim - 1
    if dim is None:
        return op(x, [i for i in every(ndim) if x.shape[i] == 1])
    return op(x, moved_list(dim, ndim, op.name) if ndim else ())


@batching("expand")
def expand(op, size, batched, x, sizes):
    return op(lengthened(x, True, len(sizes)), [size, *sizes])


@batching("view", "reshape")
def reshape(op, size, batched, x, sizes):
    sizes = list(sizes)
    if -1 in sizes:
        count, known = math.prod(x.shape[1:]), -math.prod(sizes)
        if known and count % known == 0:
            sizes[sizes.index(-1)] = count // known
    return op(x, [size, *sizes])


@batching("cat", "stack")
def join(op, size, batched, tensors, dim):
    tensors = [whole(x, has_batch, size) for x, has_batch in zip(tensors, batched[0], strict=True)]
    ndim = max(x.ndim for x in tensors) - 1 + (op.name == "stack")
    if op.name == "cat":  # for whose examples an empty vector is nothing, whatever the others are
        tensors = [x for x in tensors if x.ndim == ndim + 1 or x.shape[1:] != (0,)]
    return op(tensors, moved(dim, ndim, op.name))


@batching("sum_to_size")
def sum_to_size(op, size, batched, x, sizes):
    extra = x.ndim - 1 - len(sizes)
    if extra:
        x = x.sum(list(range(1, 1 + extra)))
    return op(x, [size, *sizes])


@batching("repeat")
def repeat(op, size, batched, x, repeats):
    return op(lengthened(x, True, len(repeats)), [1, *repeats])


@in_parts("block_diag")
def block_diag(op, tensors):
    blocks = [x if x.ndim == 2 else x.reshape(1, -1) for x in tensors]
    width, before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        height, n = x.shape
        rows.append(join_columns(x, before, width - before - n, height))
        before += n
    return REGISTRY["cat"](rows, 0)


def join_columns(x, before, behind, height):
    """A block between columns of zeros."""
    return REGISTRY["cat"]([x.new_zeros(height, before), x, x.new_zeros(height, behind)], 1)


# ---------------------------------------------------------------- x[index], a view
@batching("getitem_alias", "getitem_select", "getitem_slice", "getitem_unsqueeze")
def getitem(op, size, batched, x, index):
    return x[(slice(None), *index)]


@batching("getitem_backward")
def getitem_backward(op, size, batched, grad, index, shape):
    return op(grad, (slice(None), *index), [size, *shape])


# ---------------------------------------------------------------- sizes and strides as they are
@batching("as_strided")
def as_strided(op, size, batched, x, sizes, strides, offset):
    """The offset is that of the first example; the others lie where they lay."""
    return op(x, [size, *sizes], [x.stride(0), *strides], offset)


def extent(sizes, strides):
    """How many places from the first element to behind the last."""
    return 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True) if n)


@batching("new_empty_strided")
def new_empty_strided(op, size, batched, x, sizes, strides, *options):
    return op(x, [size, *sizes], [extent(sizes, strides), *strides], *options)


@batching("restride")
def restride(op, size, batched, x, sizes, strides, offset, *target):
    """Each example has its own part of the memory that it is laid into."""
    target_sizes, target_strides, target_offset, divides_by_target = target
    reach = max(
        offset + extent(sizes, strides), target_offset + extent(target_sizes, target_strides)
    )
    return op(
        x,
        [size, *sizes],
        [reach, *strides],
        offset,
        [size, *target_sizes],
        [reach, *target_strides],
        target_offset,
        divides_by_target,
    )
