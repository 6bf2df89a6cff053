"""Batching rules of indexing by tensors: x[i, j], and what writes there.

If indices differ from example to example, the number of the example is one index more, the
first:

    x[i, j]   for each example   is   x[n, i, j],   n = 0, 1, ... in the first dimension

The dimensions of indices stand where the first of them stood, or in front if kept dimensions
lie between them (advanced.pyx). So they may stand elsewhere than in an example, and `Placed`
brings them there.

Most ops that take an index along one dimension are made of these, for one example.
"""

from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab.func.batching.alignment import lengthened, ndim_of, whole
from tensorlab.func.batching.dims import flat
from tensorlab.func.batching.rules import batching, in_parts
from tensorlab.ops.meshgrid import broadcast_shapes


def refuse_sizes_by_values(name):
    """Complain of a result whose shape depends on values of an example."""
    raise RuntimeError(
        f"vmap: {name} makes a result whose shape depends on values, which may differ from "
        f"example to example. Keep the shape, as by where(mask, x, 0), and sum with the mask as "
        f"weights; or call it outside of vmap"
    )


def without_masks(indices, batched):
    """Masks that are the same for all examples, as indices."""
    out, which = [], []
    for index, has_batch in zip(indices, batched, strict=True):
        if index is None or index.dtype.itemsize > 1:
            out.append(index)
            which.append(has_batch)
        elif has_batch:
            refuse_sizes_by_values("indexing by a mask")
        elif index.ndim == 0:  # True or False: a dimension that is kept or empty
            refuse_sizes_by_values("indexing by a 0-d mask")
        else:
            positions = index.nonzero().unbind(1)
            out += positions
            which += [False] * len(positions)
    return out, which


class Placed:
    """The indices of a call for the whole batch, and where its dimensions are.

    Parameters
    ----------
    indices : list of tensors or None, with `batched` for each
    size : int, examples
    ndim : int, dimensions of an example of what is indexed
    """

    def __init__(self, indices, batched, size, ndim):
        indices, batched = without_masks(indices, batched)
        given = [i for i, index in enumerate(indices) if index is not None]
        shapes = zip(indices, batched, strict=True)
        self.count = max(ndim_of(x, has_batch) for x, has_batch in shapes if x is not None)
        is_apart = given[-1] - given[0] >= len(given)
        first = 0 if is_apart else given[0]  # of the dimensions of indices, in an example
        self.ndim = ndim - len(given) + self.count
        if any(batched):
            number = REGISTRY["arange"](
                0, size, 1, None, next(x for x in indices if x is not None).device
            )
            number = number.reshape(size, *[1] * self.count)
            aligned = [
                x if x is None else lengthened(x, has_batch, self.count)
                for x, has_batch in zip(indices, batched, strict=True)
            ]
            self.indices, first_found = [number, *aligned], 1
        else:
            self.indices = [None, *indices]
            first_found = 0 if is_apart else 1 + first
        # the order of the result's dimensions: the batch, and those of an example
        indexed = list(range(first_found, first_found + self.count))
        batch = self.count if not any(batched) and is_apart else 0
        kept = [i for i in range(self.ndim + 1) if i not in indexed and i != batch]
        self.order = [batch, *kept[:first], *indexed, *kept[first:]]

    def to_example(self, out):
        """The result with the batch first, and then as an example."""
        return out if self.is_in_order() else out.permute(self.order)

    def from_example(self, x, has_batch):
        """The other way round, for values that are to be written: they may have fewer
        dimensions.
        """
        if (not has_batch and x.ndim == 0) or (self.is_in_order() and not has_batch):
            return x
        x = (
            lengthened(x, True, self.ndim)
            if has_batch
            else x.reshape(*[1] * (self.ndim + 1 - x.ndim), *x.shape)
        )
        return (
            x
            if self.is_in_order()
            else x.permute([self.order.index(i) for i in range(len(self.order))])
        )

    def is_in_order(self):
        return self.order == sorted(self.order)


# ---------------------------------------------------------------- index, index_put
@batching("index")
def index(op, size, batched, x, indices):
    x = whole(x, batched[0], size)
    placed = Placed(indices, batched[1], size, x.ndim - 1)
    return placed.to_example(op(x, placed.indices))


@batching("index_backward")
def index_backward(op, size, batched, grad, indices, shape):
    placed = Placed(indices, batched[1], size, len(shape))
    return op(
        placed.from_example(whole(grad, batched[0], size), True), placed.indices, [size, *shape]
    )


@batching("index_put", "index_put_")
def index_put(op, size, batched, x, indices, values, accumulate):
    x = whole(x, batched[0], size)
    if any(batched[1]) and is_one_mask(indices) and not accumulate:
        return put_by_mask(op, size, batched, x, indices, values)
    placed = Placed(indices, batched[1], size, x.ndim - 1)
    return op(x, placed.indices, placed.from_example(values, batched[2]), accumulate)


def is_one_mask(indices):
    given = [x for x in indices if x is not None]
    return len(given) == 1 and given[0].dtype.itemsize == 1


def put_by_mask(op, size, batched, x, indices, values):
    """x[mask] = value: where a mask differs from example to example, a single value can be
    written.
    """
    if values.numel() != (size if batched[2] else 1):
        refuse_sizes_by_values("x[mask] = values, with several values,")
    at = len(indices) - 1
    mask = next(x for x in indices if x is not None)
    mask = mask.reshape(size, *[1] * at, *mask.shape[1:], *[1] * (x.ndim - at - mask.ndim))
    values = values.reshape(-1, *[1] * (x.ndim - 1)).to(x.dtype)
    out = values.where(mask != 0, x)
    return x.copy_(out) if op.writes else out


# ---------------------------------------------------------------- made of them, for one example
def at(dim, index, x):
    """Indices in one dimension, of which none counts from the end."""
    index = REGISTRY["wrap_index"](index.long(), x.shape[dim], False, "index")
    return [*[None] * (dim % x.ndim), index.reshape(-1)]


def of_vectors(function):
    """A rule for ops along one dimension, which a 0-d tensor has, too."""

    def rule(op, x, dim, index, *rest):
        if x.ndim > 0:
            return function(op, x, dim, index, *rest)
        rest = [one.reshape(1) if hasattr(one, "ndim") else one for one in rest]
        return function(op, x.reshape(1), 0, index, *rest).reshape(())

    return rule


@in_parts("index_select", "pad_select")
@of_vectors
def index_select(op, x, dim, index):
    return REGISTRY["index"](x, at(dim, index, x))


@in_parts("index_select_backward")
def index_select_backward(op, grad, dim, index, shape):
    if not shape:
        return grad.reshape(-1).sum(0)
    out = grad.new_zeros(shape)
    return REGISTRY["index_backward"](grad, at(dim, index, out), shape)


@in_parts("index_add")
@of_vectors
def index_add(op, x, dim, index, source, alpha):
    source = source if alpha == 1 else source * alpha
    return REGISTRY["index_put"](x, at(dim, index, x), source, True)


@in_parts("index_copy")
@of_vectors
def index_copy(op, x, dim, index, source):
    if source.ndim == 0:
        source = source.reshape([1] * x.ndim)
    return REGISTRY["index_put"](x, at(dim, index, x), source, False)


@in_parts("index_fill")
@of_vectors
def index_fill(op, x, dim, index, value):
    value = value.to(x.dtype) if hasattr(value, "to") else x.new_full((), value)
    return REGISTRY["index_put"](
        x, at(dim, index.where(index >= 0, index + x.shape[dim]), x), value, False
    )


@in_parts("take")
def take(op, x, index):
    return REGISTRY["index"](x.flatten(), [index.long()])


# ---------------------------------------------------------------- masks
@in_parts("masked_select")
def masked_select(op, x, mask):
    shape = broadcast_shapes(x.shape, mask.shape)
    return REGISTRY["index"](x.expand(shape).reshape(-1), [mask.expand(shape).reshape(-1)])


@in_parts("masked_scatter")
def masked_scatter(op, x, mask, source):
    """The first elements of the source, one for each True."""
    shape = broadcast_shapes(x.shape, mask.shape)
    x, mask = x.expand(shape), mask.expand(shape)
    picked = REGISTRY["index"](source.flatten(), [places(mask)]).reshape(shape)
    return picked.where(mask, x)


@in_parts("masked_scatter_backward")
def masked_scatter_backward(op, grad, mask, shape):
    mask = mask.expand(grad.shape)
    given = grad.where(mask, grad.new_zeros(())).flatten()
    out = grad.new_zeros(shape).flatten()
    return REGISTRY["scatter_add"](out, 0, places(mask), given).reshape(shape)


def places(mask):
    """Of each element, how many True come before it."""
    mask = mask.flatten().long()
    return mask.cumsum(0) - mask


# ---------------------------------------------------------------- searching
@batching("searchsorted")
def searchsorted(op, size, batched, sequence, values, out_int32, right, side, sorter):
    shared = not batched[0] and not batched[5] and sequence.ndim == 1
    if shared:
        return op(sequence, values, out_int32, right, side, sorter)
    sequence, values = whole(sequence, batched[0], size), whole(values, batched[1], size)
    sorter = sorter if sorter is None else whole(sorter, batched[5], size)
    if sequence.ndim > 2:
        return op(sequence, values, out_int32, right, side, sorter)
    return op(sequence, flat(values), out_int32, right, side, sorter).reshape(values.shape)
