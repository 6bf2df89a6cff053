"""Rules of ops that choose elements, or arrange them in another shape."""

import math

from tensorlab.ops.joining import cat as join
from tensorlab.ops.ranges import arange
from tensorlab.sparse import forms
from tensorlab.sparse.products import transposed
from tensorlab.sparse.tensors import SparseCooTensor, SparseTensor, rule


def wrap(x, dim, extra=0):
    """A dimension as a number from 0."""
    n = x.dim() + extra
    if not -n <= dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        )
    return dim % n


def coo_of(x):
    """A sparse tensor in layout sparse_coo, as a tensor that a rule may call ops with."""
    return forms.as_coo(x.alias())


# ---------------------------------------------------------------- dimensions in another order
@rule("t")
def t(func, x):
    """The transpose of a matrix."""
    if x.dim() > 2 or (x.is_sparse and x.sparse_dim() > 2):
        raise RuntimeError(f"t: a matrix is needed, not a tensor of {x.dim()} dimensions")
    return x.alias() if x.dim() < 2 else transpose(func, x, 0, 1)


@rule("transpose")
def transpose(func, x, dim0, dim1):
    """Two dimensions change places."""
    dim0, dim1 = wrap(x, dim0), wrap(x, dim1)
    if not x.is_sparse and x.dim() == 2 and dim0 != dim1:
        return transposed(x)
    order = list(range(x.dim()))
    order[dim0], order[dim1] = dim1, dim0
    return permute(func, x, order)


@rule("permute")
def permute(func, x, dims):
    """The dimensions in another order; sparse ones stay before dense ones."""
    order = [wrap(x, dim) for dim in dims]
    if sorted(order) != list(range(x.dim())):
        raise RuntimeError(f"permute: {tuple(dims)} is no order of the {x.dim()} dimensions")
    if order == list(range(x.dim())):
        return x.alias()
    if not x.is_sparse and x.dim() == 2:
        return transposed(x)
    coo = coo_of(x)
    n, held = coo.sparse_dim(), coo._parts
    if any(dim >= n for dim in order[:n]):
        raise RuntimeError(
            f"permute: sparse dims {tuple(range(n))} and dense dims can't change places; the order "
            f"is {tuple(order)}"
        )
    values = held.values.permute(0, *[dim - n + 1 for dim in order[n:]])
    stays = order[:n] == list(range(n))
    made = SparseCooTensor(
        held.indices[order[:n]] if n else held.indices,
        values,
        [x.shape[dim] for dim in order],
        stays and held.is_coalesced,
    )
    return made if x.is_sparse else forms.like(made, x)


@rule("unsqueeze")
def unsqueeze(func, x, dim):
    """One more dimension of size 1."""
    dim = wrap(x, dim, 1)
    coo = coo_of(x)
    n, held = coo.sparse_dim(), coo._parts
    size = [*x.shape[:dim], 1, *x.shape[dim:]]
    if dim > n:
        return SparseCooTensor(
            held.indices, held.values.unsqueeze(dim - n + 1), size, held.is_coalesced
        )
    zeros = held.indices.new_zeros((1, held.values.shape[0]))
    indices = join([held.indices[:dim], zeros, held.indices[dim:]])
    return SparseCooTensor(indices, held.values, size, held.is_coalesced)


@rule("squeeze")
def squeeze(func, x, dim=None):
    """Without dimensions of size 1."""
    given = range(x.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    coo = coo_of(x)
    n, held = coo.sparse_dim(), coo._parts
    away = [d for d in (wrap(x, one) for one in given) if x.shape[d] == 1]
    left = [d for d in range(n) if d not in away]
    values = held.values
    for d in sorted((d for d in away if d >= n), reverse=True):
        values = values.squeeze(d - n + 1)
    size = [s for d, s in enumerate(x.shape) if d not in away]
    if not left:
        return forms.to_dense(SparseCooTensor(held.indices[:0], values, size))
    return SparseCooTensor(held.indices[left], values, size, held.is_coalesced)


def expand_coo(x, shape):
    """A tensor of layout sparse_coo with dimensions of size 1 repeated."""
    extra = len(shape) - x.dim()
    for _ in range(extra):
        x = unsqueeze(None, x, 0)
    n = x.sparse_dim()
    for d, size in enumerate(shape[:n]):
        if size in (-1, x.shape[d]):
            continue
        if x.shape[d] != 1:
            raise RuntimeError(
                f"expand: dimension {d} has size {x.shape[d]}, which can't become {size}"
            )
        held, count = x._parts, x._nnz()
        indices = held.indices.repeat_interleave(size, 1)
        indices[d] = arange(size).repeat(count)
        x = SparseCooTensor(
            indices,
            held.values.repeat_interleave(size, 0),
            [*x.shape[:d], size, *x.shape[d + 1 :]],
            held.is_coalesced and d == n - 1,
        )
    held = x._parts
    values = held.values.expand(held.values.shape[0], *shape[n:])
    return SparseCooTensor(
        held.indices, values, [*x.shape[:n], *values.shape[1:]], held.is_coalesced
    )


@rule("expand")
def expand(func, x, size, *, implicit=False):
    """Dimensions of size 1 repeated."""
    return expand_coo(coo_of(x), tuple(size))


@rule("view", "reshape")
def view(func, x, shape):
    """Another shape of the same elements, in row-major order; dense dims stay."""
    shape = list(shape)
    coo = coo_of(x)
    n, held = coo.sparse_dim(), coo._parts
    if -1 in shape:
        known = math.prod(size for size in shape if size != -1)
        shape[shape.index(-1)] = x.numel() // known if known else 0
    dense = len(shape) - coo.dense_dim()
    same = dense >= 0 and shape[dense:] == list(x.shape[n:])
    if not same or math.prod(shape[:dense]) != math.prod(x.shape[:n]):
        raise RuntimeError(
            f"reshape: shape {tuple(shape)} is invalid for a sparse tensor of shape {tuple(x.shape)} "
            f"with {coo.dense_dim()} dense dims, which stay as they are"
        )
    flat = forms.flat_indices(held.indices, x.shape[:n])
    indices = forms.unflat_indices(flat, shape[:dense])
    return SparseCooTensor(indices, held.values, shape, held.is_coalesced)


# ---------------------------------------------------------------- parts
@rule("select")
def select(func, x, dim, index):
    """One place of a dimension, which goes away."""
    dim = wrap(x, dim)
    size = x.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select: index {index} is out of bounds for dimension {dim} with size {size}"
        )
    index %= size
    coo = coo_of(x)
    n, held = coo.sparse_dim(), coo._parts
    left = [*x.shape[:dim], *x.shape[dim + 1 :]]
    if dim >= n:
        return SparseCooTensor(
            held.indices, held.values.select(dim - n + 1, index), left, held.is_coalesced
        )
    where = (held.indices[dim] == index).nonzero().flatten()
    values = held.values[where]
    if n == 1:
        return values.sum(0).to(values.dtype)
    rows = [d for d in range(n) if d != dim]
    return SparseCooTensor(held.indices[rows][:, where], values, left, held.is_coalesced)


@rule("unbind")
def unbind(func, x, dim=0):
    """All places of a dimension, which goes away."""
    return tuple(select(func, x.alias(), dim, k) for k in range(x.shape[wrap(x, dim)]))


@rule("slice")
def slice_rule(func, x, dim=0, start=None, end=None, step=1):
    """A range of a dimension."""
    dim = wrap(x, dim)
    start, end, step = slice(start, end, step).indices(x.shape[dim])
    length = len(range(start, end, step))
    coo = coo_of(x)
    n, held = coo.sparse_dim(), coo._parts
    size = [*x.shape[:dim], length, *x.shape[dim + 1 :]]
    if dim >= n:
        part = [slice(None)] * (dim - n + 1) + [slice(start, end, step)]
        made = SparseCooTensor(held.indices, held.values[tuple(part)], size, held.is_coalesced)
    else:
        at = held.indices[dim]
        inside = (at >= start) & (at < end) & ((at - start) % step == 0)
        where = inside.nonzero().flatten()
        indices = held.indices[:, where]
        indices[dim] = (indices[dim] - start) // step
        made = SparseCooTensor(indices, held.values[where], size, held.is_coalesced)
    return made if x.is_sparse else forms.like(made, x)


@rule("index_select")
def index_select(func, x, dim, index):
    """Places of a dimension, by number; one may come several times."""
    dim = wrap(x, dim)
    if index.dim() > 1:
        raise IndexError(f"index_select: index must be a vector, not of shape {tuple(index.shape)}")
    index = index.reshape(-1).to(forms.int64)
    size = x.shape[dim]
    if index.numel() and (int(index.min()) < -size or int(index.max()) >= size):
        wrong = next(one for one in index.tolist() if not -size <= one < size)
        raise IndexError(
            f"index_select: index {wrong} is out of range for dimension {dim} with size {size}"
        )
    index = index.where(index >= 0, index + size)
    coo = coo_of(x)
    n, held = coo.sparse_dim(), coo._parts
    left = [*x.shape[:dim], index.numel(), *x.shape[dim + 1 :]]
    if dim >= n:
        return SparseCooTensor(
            held.indices, held.values.index_select(dim - n + 1, index), left, held.is_coalesced
        )
    order = index.argsort(stable=True)
    ranked, at = index[order], held.indices[dim].contiguous()
    first = forms.searchsorted(ranked, at)
    counts = forms.searchsorted(ranked, at, right=True) - first
    which = arange(at.numel()).repeat_interleave(counts)
    ends = counts.cumsum(0)
    within = arange(which.numel()) - (ends - counts)[which]
    indices = held.indices[:, which]
    indices[dim] = order[first[which] + within]
    made = SparseCooTensor(indices, held.values[which], left)
    return forms.coalesced(made) if held.is_coalesced else made


@rule("cat")
def cat(func, tensors, dim=0):
    """Tensors one after the other along a dimension."""
    if not all(isinstance(one, SparseTensor) for one in tensors):
        raise RuntimeError(
            "cat: all tensors must be sparse, or all dense; use to_sparse() or to_dense()"
        )
    first = tensors[0]
    dim = wrap(first, dim)
    all_coo = [coo_of(one) for one in tensors]
    n = all_coo[0].sparse_dim()
    for k, one in enumerate(all_coo):
        others = [s for d, s in enumerate(one.shape) if d != dim]
        if one.sparse_dim() != n or others != [s for d, s in enumerate(first.shape) if d != dim]:
            raise RuntimeError(
                f"cat: tensor {k} of shape {tuple(one.shape)} and {one.sparse_dim()} sparse dims "
                f"does not go with the first, of shape {tuple(first.shape)} and {n}"
            )
    size = [*first.shape[:dim], sum(one.shape[dim] for one in all_coo), *first.shape[dim + 1 :]]
    start, indices, values = 0, [], []
    for one in all_coo:
        held = one._parts
        if dim < n:
            moved = held.indices.clone()
            moved[dim] += start
            indices.append(moved)
            values.append(held.values)
        else:
            before = held.values.new_zeros(
                (held.values.shape[0], *first.shape[n:dim], start, *first.shape[dim + 1 :])
            )
            rest = size[dim] - start - one.shape[dim]
            after = held.values.new_zeros(
                (held.values.shape[0], *first.shape[n:dim], rest, *first.shape[dim + 1 :])
            )
            indices.append(held.indices)
            values.append(join([before, held.values, after], dim - n + 1))
        start += one.shape[dim]
    made = SparseCooTensor(join(indices, 1), join(values), size)
    return made if first.is_sparse else forms.like(made, first)


@rule("stack")
def stack(func, tensors, dim=0):
    """Tensors of one shape along a new dimension."""
    if not all(isinstance(one, SparseTensor) for one in tensors):
        raise RuntimeError(
            "stack: all tensors must be sparse, or all dense; use to_sparse() or to_dense()"
        )
    return cat(func, [unsqueeze(func, one, dim) for one in tensors], dim)


# ---------------------------------------------------------------- x[...]
@rule("getitem_select", "getitem_slice", "getitem_alias", "getitem_unsqueeze")
def getitem(func, x, index=()):
    """x[i, a:b, None, ...], one subscript after the other."""
    dim = 0
    result = x.alias()
    subscripts = list(index) if isinstance(index, tuple) else [index]
    given = sum(one is not None and one is not Ellipsis for one in subscripts)
    for one in subscripts:
        if one is Ellipsis:
            dim += x.dim() - given
        elif one is None:
            result = unsqueeze(func, result, dim)
            dim += 1
        elif isinstance(one, slice):
            if one != slice(None):
                result = slice_rule(func, result, dim, one.start, one.stop, one.step or 1)
            dim += 1
        elif isinstance(one, int):
            result = (
                result.select(dim, one)
                if not isinstance(result, SparseTensor)
                else select(func, result, dim, one)
            )
        else:
            raise IndexError(f"a sparse tensor can't be indexed with {one!r}")
    return result


# ---------------------------------------------------------------- derivatives
@rule("view_backward", "getitem_backward", "index_select_backward")
def part_backward(func, grad, *args):
    """The gradient of a tensor of which a part was taken: dense, as most ops want one."""
    return func(forms.to_dense(grad), *args)
