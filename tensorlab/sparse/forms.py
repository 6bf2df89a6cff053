"""From one form of a tensor to another: dense, sparse_coo, compressed. Below autograd."""

import math

from tensorlab._core.device import sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from tensorlab._core.dispatch.operands import result_type
from tensorlab._core.dtypes import BY_NAME
from tensorlab.ops.creation import empty, zeros
from tensorlab.ops.histograms import bincount
from tensorlab.ops.indexing.nonzero import nonzero
from tensorlab.ops.joining import cat, stack
from tensorlab.ops.ranges import arange
from tensorlab.ops.searching import searchsorted
from tensorlab.ops.sparse.products import group_by
from tensorlab.ops.uniques import unique
from tensorlab.sparse.tensors import (
    BLOCKED,
    COMPRESSED_DIM,
    SparseCompressedTensor,
    SparseCooTensor,
)

BOOL, int64 = BY_NAME["bool"], BY_NAME["int64"]


# ---------------------------------------------------------------- indices as numbers
def flat_indices(indices, sizes):
    """One number for each index: its place in a row-major array of these sizes."""
    if len(sizes) == 1:
        return indices[0]
    flat = zeros(indices.shape[1], dtype=int64)
    for axis, size in zip(indices, sizes, strict=True):
        flat = flat * size + axis
    return flat


def unflat_indices(flat, sizes):
    """The indices of numbers that `flat_indices` has made."""
    rows = []
    for size in reversed(sizes):
        rows.append(flat % size if size else flat)
        flat = flat // size if size else flat
    return stack(rows[::-1]) if rows else empty(0, flat.shape[0], dtype=int64)


def order_of(indices, sizes):
    """What brings indices into rising order, the same ones staying as they are."""
    if max(sizes, default=0) > 1024 + 4 * indices.shape[1]:  # more places to count than elements
        return flat_indices(indices, sizes).argsort(stable=True)
    order = arange(indices.shape[1])
    for axis, size in zip(reversed(indices), reversed(sizes), strict=True):
        _, moves = group_by(axis[order], size)
        order = order if moves is None else order[moves]
    return order


def coalesced(x):
    """A tensor of layout sparse_coo whose indices rise; values of an index are added up."""
    held = x._parts
    if held.is_coalesced:
        return x
    sizes = x.shape[: x.sparse_dim()]
    order = order_of(held.indices, sizes)
    flat = flat_indices(held.indices, sizes)[order]
    is_first = flat.new_ones(flat.shape, dtype=BOOL)
    is_first[1:] = flat[1:] != flat[:-1]
    starts = is_first.nonzero().flatten()
    values = held.values[order]
    if starts.numel() < order.numel():
        values = segment_sums(values, is_first.cumsum(0) - 1, starts.numel())
    return SparseCooTensor(held.indices[:, order[starts]], values, tuple(x.shape), True)


def segment_sums(values, segment, count):
    """The sums of the rows of each segment, and of bool whether one of them is True."""
    if values.dtype == BOOL:
        return segment_sums(values.to(int64), segment, count) != 0
    return values.new_zeros((count, *values.shape[1:])).index_add_(0, segment, values)


def empty_coo(size, sparse_dim, like, dtype=None):
    """A tensor of layout sparse_coo that holds nothing."""
    values = like._parts.values.new_zeros((0, *size[sparse_dim:]), dtype=dtype)
    return SparseCooTensor(empty(sparse_dim, 0, dtype=int64), values, tuple(size), True)


# ---------------------------------------------------------------- dense and sparse_coo
def dense_to_coo(x, sparse_dim=None):
    """The elements of a dense tensor that are not 0; `sparse_dim` of the dims are indices."""
    sparse_dim = x.dim() if sparse_dim is None else sparse_dim
    mask = x != 0
    if sparse_dim < x.dim():
        mask = mask.flatten(sparse_dim).any(-1)
    if sparse_dim == 0:  # the one place is held, or nothing
        values = x.unsqueeze(0)[: int(bool(mask.any()))].clone()
        return SparseCooTensor(empty(0, values.shape[0], dtype=int64), values, tuple(x.shape), True)
    indices = nonzero(mask).t().contiguous()
    return SparseCooTensor(indices, x[tuple(indices)], tuple(x.shape), True)


def add_to_dense(out, x, alpha=1):
    """Add alpha times a tensor of layout sparse_coo to a contiguous dense one of its shape."""
    held = x._parts
    n = x.sparse_dim()
    if held.values.shape[0] == 0:
        return out
    rows = out.view(math.prod(x.shape[:n]), *x.shape[n:])
    flat = (
        flat_indices(held.indices, x.shape[:n]) if n else zeros(held.values.shape[0], dtype=int64)
    )
    rows.index_add_(0, flat, held.values.to(out.dtype), alpha=alpha)
    return out


def to_dense(x):
    """All elements of a sparse tensor."""
    if not x.is_sparse:
        x = compressed_to_coo(x)
    out = zeros(tuple(x.shape), dtype=x.dtype, device=x.device)
    if x.dtype != BOOL:
        return add_to_dense(out, x)
    return (
        add_to_dense(
            out.to(int64),
            SparseCooTensor(x._parts.indices, x._parts.values.to(int64), tuple(x.shape)),
        )
        != 0
    )


def gather_values(dense, x):
    """The elements of a dense tensor where a tensor of layout sparse_coo holds some."""
    n = x.sparse_dim()
    if n == 0:
        return dense.unsqueeze(0).expand(x._nnz(), *dense.shape)
    return dense[tuple(x._parts.indices)]


# ---------------------------------------------------------------- compressed layouts
def compressed_axis(compressed, n):
    """From where each row begins, the row of each element; of batches one after the other."""
    counts = (compressed[..., 1:] - compressed[..., :-1]).flatten()
    rows = arange(n).repeat(counts.numel() // n) if n else arange(0)
    return rows.repeat_interleave(counts)


def compressed_to_coo(x):
    """The same elements in layout sparse_coo; coalesced if that layout has them in this order."""
    held, batch = x._parts, x.batch_dim()
    rows_first = COMPRESSED_DIM[x.layout] == 0
    block = x.blocksize()
    sizes = (x.shape[batch] // block[0], x.shape[batch + 1] // block[1])
    axis = compressed_axis(held.compressed.to(int64), sizes[0] if rows_first else sizes[1])
    plain = held.plain.to(int64).flatten()
    matrix = [axis, plain] if rows_first else [plain, axis]
    values = held.values.flatten(0, batch) if batch else held.values
    if x.layout in BLOCKED:
        matrix, values = spread_blocks(matrix, values, block)
    per_matrix = matrix[0].numel() // max(math.prod(x.shape[:batch]), 1)
    of_batch = arange(math.prod(x.shape[:batch])).repeat_interleave(per_matrix)
    first = unflat_indices(of_batch, x.shape[:batch])
    in_order = x.layout == sparse_csr and batch == 0
    return SparseCooTensor(cat([first, stack(matrix)]), values, tuple(x.shape), in_order)


def spread_blocks(matrix, values, block):
    """Indices and values of the elements of blocks."""
    within = unflat_indices(arange(block[0] * block[1]), block)
    matrix = [
        (axis.unsqueeze(1) * size + inner).flatten()
        for axis, size, inner in zip(matrix, block, within, strict=True)
    ]
    return matrix, values.flatten(0, 2)


def coo_to_compressed(x, layout, blocksize=None):
    """A matrix, or a batch of them, of layout sparse_coo in a compressed layout."""
    x = coalesced(x)
    batch = x.sparse_dim() - 2
    if batch < 0:
        raise RuntimeError(
            f"to_sparse: layout {layout} needs two sparse dims, and the tensor has {x.sparse_dim()} "
            f"and {x.dense_dim()} dense ones; use to_dense() before"
        )
    if blocksize is not None and layout in BLOCKED:
        return blocks_of(x, layout, blocksize)
    first, matrix = x._parts.indices[:batch], list(x._parts.indices[batch:])
    dim = COMPRESSED_DIM[layout]
    values = x._parts.values
    if dim == 1:
        key = flat_indices(
            cat([first, stack(matrix[::-1])]),
            (*x.shape[:batch], x.shape[batch + 1], x.shape[batch]),
        )
        order = key.argsort(stable=True)
        first, matrix, values = first[:, order], [one[order] for one in matrix], values[order]
    n, plain = x.shape[batch + dim], matrix[1 - dim]
    count = math.prod(x.shape[:batch])
    row = matrix[dim] if batch == 0 else flat_indices(first, x.shape[:batch]) * n + matrix[dim]
    counts = bincount(row, minlength=n * count).view(*x.shape[:batch], n)
    compressed = cat([counts.new_zeros(*x.shape[:batch], 1), counts.cumsum(-1)], -1)
    if batch:
        totals = compressed[..., -1].flatten()
        if totals.numel() and (totals != totals[0]).any():
            raise RuntimeError(
                f"to_sparse: layout {layout} needs the same number of elements in every matrix of "
                f"a batch, and there are {totals.tolist()}; use layout sparse_coo, or one matrix at a time"
            )
        nnz = plain.numel() // max(count, 1)
        plain = plain.view(*x.shape[:batch], nnz)
        values = values.view(*x.shape[:batch], nnz, *values.shape[1:])
    return SparseCompressedTensor(layout, compressed, plain, values, tuple(x.shape))


def blocks_of(x, layout, block):
    """A coalesced tensor of layout sparse_coo as blocks: those in which an element is held."""
    batch = x.sparse_dim() - 2
    size = x.shape[batch : batch + 2]
    check_blocksize(size, block)
    held = x._parts
    sizes = (*x.shape[:batch], size[0] // block[0], size[1] // block[1])
    row, column = held.indices[batch], held.indices[batch + 1]
    of_block = cat([held.indices[:batch], stack([row // block[0], column // block[1]])])
    flat, place = unique(flat_indices(of_block, sizes), return_inverse=True)
    values = held.values.new_zeros((flat.numel(), *block, *held.values.shape[1:]))
    values[place, row % block[0], column % block[1]] = held.values
    grid = SparseCooTensor(unflat_indices(flat, sizes), values, (*sizes, *values.shape[1:]), True)
    plain_layout = sparse_csr if layout == sparse_bsr else sparse_csc
    made = coo_to_compressed(grid, plain_layout)._parts
    return SparseCompressedTensor(layout, made.compressed, made.plain, made.values, tuple(x.shape))


def check_blocksize(size, block):
    """Raise unless a matrix consists of such blocks."""
    if len(block) != 2 or min(block) < 1 or size[0] % block[0] or size[1] % block[1]:
        raise RuntimeError(
            f"to_sparse: tensor sparse size ({size[0]}, {size[1]}) must be divisible by given "
            f"blocksize {tuple(block)}"
        )


def as_coo(x):
    """A sparse tensor in layout sparse_coo."""
    return x if x.is_sparse else compressed_to_coo(x)


def in_layout(x, layout, blocksize=None):
    """A tensor of layout sparse_coo in another layout."""
    return x if layout == sparse_coo else coo_to_compressed(x, layout, blocksize)


def like(x, other):
    """A tensor of layout sparse_coo in the layout of another tensor, and with its blocks, or the
    largest that divide them and fit.
    """
    if other.layout not in BLOCKED:
        return in_layout(x, other.layout)
    start = x.dim() - x.dense_dim() - 2
    sizes = x.shape[start : start + 2]
    return in_layout(x, other.layout, tuple(map(math.gcd, sizes, other.blocksize())))


# ---------------------------------------------------------------- two tensors
def common_dtype(x, y):
    """The type of the result of an op with two tensors."""
    return result_type(
        x._parts.values if hasattr(x, "_parts") else x,
        y._parts.values if hasattr(y, "_parts") else y,
    )


def places_in(x, y):
    """For each index of x, where it stands in y, which is coalesced, and whether it does."""
    n = x.sparse_dim()
    mine = flat_indices(x._parts.indices, x.shape[:n])
    others = flat_indices(y._parts.indices, y.shape[:n])
    if others.numel() == 0:
        return zeros(mine.shape[0], dtype=int64), zeros(mine.shape[0], dtype=BOOL)
    place = searchsorted(others, mine).clamp_max(others.numel() - 1)
    return place, others[place] == mine


def with_sparse_dims(x, n):
    """A tensor of layout sparse_coo whose first n dims are sparse, which are not more than it has."""
    if x.sparse_dim() == n:
        return x
    held, shape = x._parts, tuple(x.shape)
    flat, place = unique(flat_indices(held.indices[:n], shape[:n]), return_inverse=True)
    values = held.values.new_zeros((flat.numel(), *shape[n:]))
    values.index_put_((place, *held.indices[n:]), held.values, accumulate=True)
    return SparseCooTensor(unflat_indices(flat, shape[:n]), values, shape, True)


def same_sparse_dims(x, y):
    """Two tensors of layout sparse_coo, both with as many sparse dims as the one that has fewer."""
    n = min(x.sparse_dim(), y.sparse_dim())
    return with_sparse_dims(x, n), with_sparse_dims(y, n)


def look_up(x, pattern):
    """The values of a coalesced tensor at the indices of another one; 0 where it holds none."""
    place, found = places_in(pattern, x)
    if x._nnz() == 0:
        return x._parts.values.new_zeros((pattern._nnz(), *x._parts.values.shape[1:]))
    values = x._parts.values[place]
    return values.where(found.view(-1, *[1] * (values.dim() - 1)), values.new_zeros(()))
