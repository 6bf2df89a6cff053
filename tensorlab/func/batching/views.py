"""Batching rules of ops that change shapes: sizes get the batch as their first."""

from tensorlab.func.batching.dims import every, moved
from tensorlab.func.batching.rules import batching


@batching("permute")
def permute(op, size, batched, x, dims):
    return op(x, [0, *[moved(one, x.ndim - 1, op.name) for one in dims]])


@batching("t")
def t(op, size, batched, x):
    return x if x.ndim < 3 else x.transpose(1, 2)


@batching("squeeze")
def squeeze(op, size, batched, x, dim):
    ndim = x.ndim - 1
    if dim is None:
        return op(x, [i for i in every(ndim) if x.shape[i] == 1])
    if ndim == 0:
        return op(x, [])
    return op(x, [moved(one, ndim, op.name) for one in dim])


@batching("expand")
def expand(op, size, batched, x, sizes):
    for _ in range(len(sizes) - (x.ndim - 1)):
        x = x.unsqueeze(1)
    return op(x, [size, *sizes])


@batching("view", "reshape")
def reshape(op, size, batched, x, sizes):
    sizes = list(sizes)
    if -1 in sizes and size != 0:
        count = x.numel() // size
        known = 1
        for one in sizes:
            known *= 1 if one == -1 else one
        if known and count % known == 0:
            sizes[sizes.index(-1)] = count // known
    return op(x, [size, *sizes])


@batching("clone", "to_copy", "to_integers", "lazy_clone", "detach", "data", "zero", "fill")
def elementwise(op, size, batched, x, *arguments):
    return op(x, *arguments)


@batching("zeros_like", "ones_like", "full_like", "empty_like")
def like(op, size, batched, x, *arguments):
    return op(x, *arguments)


@batching("new_empty", "new_zeros", "new_ones", "new_full")
def new(op, size, batched, x, sizes, *arguments):
    return op(x, [size, *sizes], *arguments)


@batching("cat", "stack")
def join(op, size, batched, tensors, dim):
    whole = [
        x if has_batch else x.expand(size, *x.shape)
        for x, has_batch in zip(tensors, batched[0], strict=True)
    ]
    ndim = max(x.ndim for x in whole) - 1 + (op.name == "stack")
    return op(whole, moved(dim, ndim, op.name))


@batching("sum_to_size")
def sum_to_size(op, size, batched, x, sizes):
    extra = x.ndim - 1 - len(sizes)
    if extra:
        x = x.sum(list(range(1, 1 + extra)))
    return op(x, [size, *sizes])
