"""Dimensions of nested tensors in another order or shape, their parts, and their transposes."""

from tensorlab._tensor import Tensor
from tensorlab.nested.creation import of_list
from tensorlab.nested.sequences import along_sequences, check_inner, first_nested, operand, padded
from tensorlab.nested.tensors import NestedTensor, components, rule
from tensorlab.ops.joining import cat as join
from tensorlab.ops.ranges import arange


# ---------------------------------------------------------------- dimensions
@rule("transpose", "swapaxes", "swapdims")
def transpose(function, x, dim0, dim1):
    """Two dimensions change places; the batch stays the first."""
    order = list(range(x.dim()))
    dim0, dim1 = x.dimension(dim0), x.dimension(dim1)
    if dim0 != dim1 and 0 in (dim0, dim1):
        raise RuntimeError("transpose: the batch dimension of a nested tensor must stay the first")
    order[dim0], order[dim1] = dim1, dim0
    return permute(function, x, order)


@rule("permute")
def permute(function, x, *dims):
    """The dimensions in another order; the batch stays the first."""
    given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [x.dimension(dim) for dim in given]
    if sorted(order) != list(range(x.dim())):
        raise RuntimeError(f"permute: {tuple(given)} is no order of the {x.dim()} dimensions")
    if order[0] != 0:
        raise RuntimeError("permute: the batch dimension of a nested tensor must stay the first")
    values = x._values.permute([dim - 1 for dim in order[1:]])
    return x.with_values(values, order.index(x._ragged_idx))


@rule("unsqueeze")
def unsqueeze(function, x, dim):
    """One more dimension of size 1, behind the batch."""
    dim = x.dimension(dim, 1)
    if dim == 0:
        raise RuntimeError(
            "unsqueeze: nothing can stand before the batch dimension of a nested tensor"
        )
    r = x._ragged_idx
    return x.with_values(x._values.unsqueeze(dim - 1), r + (dim <= r))


@rule("squeeze")
def squeeze(function, x, dim=None):
    """Without inner dimensions of size 1."""
    given = range(1, x.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    values, r = x._values, x._ragged_idx
    place = r
    for d in sorted((x.dimension(one) for one in given), reverse=True):
        if d not in (0, r) and values.shape[d - 1] == 1:
            values = values.squeeze(d - 1)
            place -= d < r
    return x.with_values(values, place)


@rule("view", "reshape", "view_as", "reshape_as")
def view(function, x, *shape):
    """The inner dimensions in another shape; batch and ragged dimension stay."""
    given = list(
        shape[0].shape
        if isinstance(shape[0], Tensor)
        else shape[0]
        if len(shape) == 1 and not isinstance(shape[0], int)
        else shape
    )
    r = x._ragged_idx
    if len(given) <= r or given[0] not in (len(x), -1):
        raise RuntimeError(
            f"view: the shape {tuple(given)} must begin with the batch, {len(x)}, and have the ragged "
            f"dimension in place {r}, as {tuple(x.shape)} has"
        )
    place = next((k for k, size in enumerate(given) if size is x._ragged_size), r)
    if given[place] is not x._ragged_size and given[place] != -1:
        raise RuntimeError(
            f"view: the ragged dimension can't get the size {given[place]!r}; write -1 or x.size({r}) "
            f"in place {place} of {tuple(given)}"
        )
    rows = x._values.shape[r - 1]
    inner = [*given[1:place], rows, *given[place + 1 :]]
    name = "view" if function.__name__.startswith("view") else "reshape"
    return x.with_values(getattr(x._values, name)(inner), place)


@rule("unflatten")
def unflatten(function, x, dim, sizes):
    """An inner dimension as several."""
    d = check_inner("unflatten", x, dim)
    r = x._ragged_idx
    return x.with_values(x._values.unflatten(d, sizes), r + (len(sizes) - 1 if d < r - 1 else 0))


@rule("flatten")
def flatten(function, x, start_dim=0, end_dim=-1):
    """Several inner dimensions as one."""
    first, last = check_inner("flatten", x, start_dim), check_inner("flatten", x, end_dim)
    r = x._ragged_idx
    if first < r - 1 < last:
        raise RuntimeError(
            f"flatten: the ragged dimension {r} stands between the dimensions {first + 1} and {last + 1}"
        )
    return x.with_values(x._values.flatten(first, last), r - (last - first if last < r - 1 else 0))


@rule("expand", "expand_as")
def expand(function, x, *sizes):
    """Inner dimensions of size 1 repeated."""
    given = list(
        sizes[0].shape
        if isinstance(sizes[0], Tensor)
        else sizes[0]
        if len(sizes) == 1 and not isinstance(sizes[0], int)
        else sizes
    )
    if not isinstance(x, NestedTensor):  # a dense tensor like a nested one
        pattern = sizes[0]
        ones = pattern._values.new_ones(pattern._values.shape, dtype=x.dtype)
        return pattern.with_values(along_sequences("expand_as", x, pattern) * ones)
    r = x._ragged_idx
    if len(given) != x.dim():
        raise RuntimeError(
            f"expand: {len(given)} sizes for a nested tensor of {x.dim()} dimensions"
        )
    inner = [*given[1:r], x._values.shape[r - 1], *given[r + 1 :]]
    return x.with_values(x._values.expand(inner))


# ---------------------------------------------------------------- parts
@rule("unbind")
def unbind(function, x, dim=0):
    """The tensor of each sequence."""
    if x.dimension(dim) != 0:
        raise RuntimeError(f"unbind: only dim=0 is supported for nested tensors, not {dim}")
    return tuple(components(x))


@rule("select")
def select(function, x, dim, index):
    """One sequence, or one place of an inner dimension."""
    if x.dimension(dim) == 0:
        found = components(x)
        if not -len(found) <= index < len(found):
            raise IndexError(f"select: index {index} is out of bounds for a batch of {len(found)}")
        return found[index]
    d = check_inner("select", x, dim)
    r = x._ragged_idx
    return x.with_values(x._values.select(d, index), r - (d < r - 1))


@rule("narrow")
def narrow(function, x, dim, start, length):
    """A range of an inner dimension."""
    return x.with_values(x._values.narrow(check_inner("narrow", x, dim), start, length))


@rule("chunk", "split", "split_with_sizes", "tensor_split")
def chunk(function, x, number, dim=0, **kwargs):
    """Parts of an inner dimension; or of the batch."""
    dim = x.dimension(kwargs.pop("dim", dim))
    if dim == 0:
        return chunk_batch(function, x, number)
    parts = function(x._values, number, check_inner(function.__name__, x, dim))
    return type(parts)(x.with_values(one) for one in parts)


def chunk_batch(function, x, number):
    """Some sequences each, from the first to the last."""
    x = x.packed()
    parts = []
    for of_part in function(arange(len(x)), number):
        begin, end = int(of_part[0]), int(of_part[-1]) + 1
        first, last = int(x._offsets[begin]), int(x._offsets[end])
        values = x._values.narrow(x._ragged_idx - 1, first, last - first)
        offsets = x._offsets[begin : end + 1] - first
        parts.append(NestedTensor(values, offsets, ragged_idx=x._ragged_idx))
    return tuple(parts)


@rule("cat", "concat", "concatenate")
def cat(function, tensors, dim=0):
    """Nested tensors of the same sequences along an inner dimension; or one batch after the other."""
    x = first_nested(tensors, {})
    dim = x.dimension(dim)
    if dim == 0:
        return of_list([part for one in tensors for part in one.unbind()])
    d = check_inner("cat", x, dim)
    x = x.packed()
    return x.with_values(join([operand("cat", one, x) for one in tensors], d))


@rule("stack")
def stack(function, tensors, dim=0):
    """Nested tensors of the same sequences along a new inner dimension."""
    x = first_nested(tensors, {})
    if not all(isinstance(one, NestedTensor) for one in tensors):
        raise RuntimeError("stack: all tensors must be nested, or none of them")
    return cat(join, [unsqueeze(None, one, dim) for one in tensors], x.dimension(dim, 1))


@rule("__getitem__")
def getitem(function, x, index):
    """x[i], the tensor of a sequence; x[:, :, a:b], a part of inner dimensions."""
    subscripts = list(index) if isinstance(index, tuple) else [index]
    if isinstance(subscripts[0], int):
        part = select(None, x, 0, subscripts[0])
        return part[tuple(subscripts[1:])] if len(subscripts) > 1 else part
    if Ellipsis in subscripts:
        k = subscripts.index(Ellipsis)
        subscripts[k : k + 1] = [slice(None)] * (x.dim() - len(subscripts) + 1)
    r = x._ragged_idx
    for k, one in enumerate(subscripts):
        if k in (0, r) and one != slice(None):
            raise RuntimeError(
                f"a nested tensor of shape {tuple(x.shape)} can be indexed in its inner dimensions, or "
                f"by the number of a sequence; dimension {k} was given {one!r}"
            )
    inner = tuple(one for k, one in enumerate(subscripts) if k != 0)
    dropped = [k for k, one in enumerate(subscripts) if isinstance(one, int) and k < r]
    return x.with_values(x._values[inner], r - len(dropped))


# ---------------------------------------------------------------- transposes, properties, padding
@rule("adjoint")
def matrix_transpose(function, x):
    """The last two dimensions change places."""
    return transpose(function, x, -2, -1)


@rule("__get__")
def attribute(function, x):
    """A property of the values, such as data; or a transpose."""
    if function.__self__ is Tensor.mT:
        return matrix_transpose(function, x)
    if function.__self__ in (Tensor.T, Tensor.H):
        return permute(function, x, range(x.dim() - 1, -1, -1))
    result = function(x._values)
    return (
        x.with_values(result)
        if isinstance(result, Tensor) and result.shape == x._values.shape
        else result
    )


@rule("to_padded_tensor")
def to_padded_tensor(function, x, padding, output_size=None):
    """A dense tensor in which each sequence is filled up with `padding`."""
    width = None
    if output_size is not None:
        if len(output_size) != x.dim():
            raise RuntimeError(
                f"to_padded_tensor: output_size {tuple(output_size)} must have {x.dim()} numbers"
            )
        width = output_size[x._ragged_idx]
        if width < x.longest():
            raise RuntimeError(
                f"to_padded_tensor: Value in output_size is less than NestedTensor padded size. "
                f"Truncation is not supported: {width} is less than {x.longest()}"
            )
    return padded(x, padding, width)
