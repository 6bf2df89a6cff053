"""Functions of nested tensors along their dimensions: layers, softmax, sums, products, attention."""

import math

from tensorlab._tensor import Tensor
from tensorlab.errors import ShapeError
from tensorlab.nested.pointwise import pointwise
from tensorlab.nested.sequences import check_inner, from_padded, padded
from tensorlab.nested.tensors import NestedTensor, components, rule
from tensorlab.ops.joining import cat as join


# ---------------------------------------------------------------- functions of the inner dimensions
def check_last(where, x, given, wanted):
    """Raise unless a nested tensor has the last size that a matrix, or a shape, wants."""
    check_inner(where, x, -1)
    if x.size(-1) != wanted:
        raise ShapeError(
            f"{where}: the nested tensor has size {tuple(x.shape)}, and does not go with {given}: its "
            f"last size must be {wanted}"
        )


@rule("linear")
def linear(function, input, weight, bias=None):
    """input @ weight.T + bias of each row."""
    if isinstance(weight, NestedTensor):
        raise RuntimeError("linear: the input may be nested, the weight not")
    check_last("linear", input, f"a weight of shape {tuple(weight.shape)}", weight.shape[-1])
    return input.with_values(function(input._values, weight, bias))


@rule("layer_norm", "rms_norm")
def layer_norm(function, input, normalized_shape, *args, **kwargs):
    """The rows normalised over their last dimensions."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    for k in range(len(shape)):
        check_inner(function.__name__, input, -1 - k)
    check_last(function.__name__, input, f"a normalized_shape {tuple(shape)}", shape[-1])
    return input.with_values(function(input._values, normalized_shape, *args, **kwargs))


@rule("embedding")
def embedding(function, input, weight, *args, **kwargs):
    """Rows of a table, whose numbers are nested."""
    if not isinstance(input, NestedTensor):
        raise RuntimeError("embedding: the indices may be nested, the weight not")
    return input.with_values(function(input._values, weight, *args, **kwargs))


@rule("softmax", "log_softmax")
def softmax(function, input, dim=None, *args, **kwargs):
    """softmax over an inner dimension, or over the rows of each sequence."""
    dim = input.dimension(-1 if dim is None else dim)
    if dim == input._ragged_idx:
        return from_padded(function(padded(input, float("-inf")), dim, *args, **kwargs), input)
    return input.with_values(
        function(input._values, check_inner("softmax", input, dim), *args, **kwargs)
    )


# ---------------------------------------------------------------- sums and extremes
def split_dims(where, x, dim):
    """(whether the batch is reduced, whether the ragged dimension is, the inner ones as dims of the
    values).
    """
    given = range(x.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = sorted({x.dimension(one) for one in given})
    r = x._ragged_idx
    batch, ragged = 0 in dims, r in dims
    if batch and not ragged:
        raise RuntimeError(
            f"{where}: not supported on the batch dimension of a nested tensor alone, as its "
            f"sequences have different lengths; reduce the ragged dimension {r} as well"
        )
    return batch, ragged, [d - 1 for d in dims if d not in (0, r)]


@rule("sum")
def total(function, input, dim=None, keepdim=False, *, dtype=None):
    """A sum; dense if the ragged dimension is among those that are added up."""
    x = input.packed()
    if dim is None:
        return function(x._values, dtype=dtype)
    batch, ragged, inner = split_dims("sum", x, dim)
    values = x._values if dtype is None else x._values.to(dtype)
    if inner:
        values = values.sum(inner, keepdim=True)
    r = x._ragged_idx - 1
    if ragged and batch:
        result = values.sum(r, keepdim=True).unsqueeze(0)
    elif ragged:
        rows = values.movedim(r, 0)
        zeros = rows.new_zeros((len(x), *rows.shape[1:]))
        if not (rows.dtype.is_floating_point or rows.dtype.is_complex):
            zeros, rows = zeros.long(), rows.long()
        result = zeros.index_add(0, x.batch_index(), rows).unsqueeze(1).movedim(1, r + 1)
    else:
        result = x.with_values(values)
    return result if keepdim else drop_dims(result, x, batch, ragged, inner)


def drop_dims(result, x, batch, ragged, inner):
    """A result without the dimensions of size 1 that were reduced."""
    if isinstance(result, NestedTensor):
        values, r = result._values, result._ragged_idx
        for d in sorted(inner, reverse=True):
            values = values.squeeze(d)
        return result.with_values(values, r - len([d for d in inner if d < r - 1]))
    dims = [d + 1 for d in inner] + ([x._ragged_idx] if ragged else []) + ([0] if batch else [])
    for d in sorted(dims, reverse=True):
        result = result.squeeze(d)
    return result


@rule("mean")
def mean(function, input, dim=None, keepdim=False, *, dtype=None):
    """A mean; over the ragged dimension each sequence by its length."""
    x = input.packed()
    if dim is None:
        return function(x._values, dtype=dtype)
    batch, ragged, inner = split_dims("mean", x, dim)
    if not (x.dtype.is_floating_point or x.dtype.is_complex) and dtype is None:
        raise RuntimeError(
            f"mean: the dtype must be floating point or complex, but is {x.dtype}; give dtype="
        )
    result = total(None, x, dim, keepdim=True, dtype=dtype)
    count = math.prod(x._values.shape[d] for d in inner)
    if ragged and batch:
        result = result / (count * x._values.shape[x._ragged_idx - 1])
    elif ragged:
        lengths = x.sequence_lengths().to(result.dtype) * count
        result = result / lengths.view(-1, *[1] * (x.dim() - 1))
    else:
        result = result / count
    return result if keepdim else drop_dims(result, x, batch, ragged, inner)


@rule("amax", "amin", "all", "any", "prod", "max", "min", "argmax", "argmin")
def extreme(function, input, dim=None, keepdim=False, **kwargs):
    """A reduction of all elements, of an inner dimension, or of the rows of each sequence."""
    x, name = input.packed(), function.__name__
    if isinstance(dim, Tensor):  # max(x, y): of each two elements
        return pointwise(function, input, dim)
    if dim is None:
        return function(x._values, **kwargs)
    batch, ragged, inner = split_dims(name, x, dim)
    if batch:
        raise RuntimeError(f"{name}: over the batch dimension of a nested tensor is not supported")
    if not ragged:
        if len(inner) != 1:
            raise RuntimeError(f"{name}: one inner dimension at a time is supported")
        r = x._ragged_idx
        result = function(x._values, inner[0], keepdim, **kwargs)
        place = r if keepdim or inner[0] > r - 1 else r - 1
        if isinstance(result, tuple):
            return type(result)([x.with_values(one, place) for one in result])
        return x.with_values(result, place)
    if inner:
        raise RuntimeError(f"{name}: the ragged dimension together with others is not supported")
    return function(padded(x, neutral(name, x)), x._ragged_idx, keepdim, **kwargs)


def neutral(name, x):
    """What a reduction doesn't notice."""
    if name in ("all", "prod"):
        return 1
    if name == "any":
        return 0
    largest = name.endswith("max")
    if x.dtype.is_floating_point:
        return float("-inf") if largest else float("inf")
    values = x._values
    return int(values.min()) if largest else int(values.max())


# ---------------------------------------------------------------- products
@rule("matmul", "__rmatmul__", "bmm", "mm")
def matmul(function, x, y):
    """A product: of the rows and a matrix; or of batches, one of which has a matrix for each
    sequence.
    """
    if function.__name__ == "__rmatmul__":
        x, y = y, x
    if isinstance(x, NestedTensor) and not isinstance(y, NestedTensor):
        if 1 <= y.dim() <= 2 and x._ragged_idx < x.dim() - 1:
            check_last("matmul", x, f"a matrix of shape {tuple(y.shape)}", y.shape[0])
            return x.with_values(x._values.matmul(y))
        if x._ragged_idx == x.dim() - 2:
            return from_padded(padded(x, 0).matmul(y), x)
    elif isinstance(x, NestedTensor):
        if x._ragged_idx == x.dim() - 1 and y._ragged_idx == y.dim() - 2:
            if not (x.sequence_lengths() == y.sequence_lengths()).all():
                raise RuntimeError(
                    f"matmul: the sequences have lengths {x.sequence_lengths().tolist()} and "
                    f"{y.sequence_lengths().tolist()}; expected the same"
                )
            return padded(x, 0).matmul(padded(y, 0))
    elif y._ragged_idx == y.dim() - 1:
        return from_padded(x.matmul(padded(y, 0)), y)
    raise RuntimeError(
        f"matmul: not supported between inputs of sizes {tuple(x.shape)} and {tuple(y.shape)}: the "
        f"result would be ragged in two dimensions, or the dimension that is added up is ragged in "
        f"one of them only; use scaled_dot_product_attention, or to_padded_tensor()"
    )


@rule("scaled_dot_product_attention")
def attention(
    function,
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
):
    """Attention of each sequence to itself, or to the one at its place in `key`."""
    nested = (query, key, value)
    if not all(isinstance(one, NestedTensor) for one in nested):
        raise RuntimeError(
            "scaled_dot_product_attention: query, key and value must all be nested, or none of them"
        )
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention: attn_mask is not supported with nested tensors, which "
            "need none for padding; use is_causal=True, or to_padded_tensor()"
        )
    if (
        any(one._ragged_idx != one.dim() - 2 for one in nested)
        or len({len(one) for one in nested}) > 1
    ):
        raise RuntimeError(
            f"scaled_dot_product_attention: the sizes are {tuple(query.shape)}, {tuple(key.shape)} "
            f"and {tuple(value.shape)}; expected (batch, heads, ragged, size): split the heads with "
            f"unflatten(-1, (heads, size)), then transpose(1, 2)"
        )
    keys, values = key.sequence_lengths(), value.sequence_lengths()
    if not bool((keys == values).all()):
        raise RuntimeError(
            f"scaled_dot_product_attention: the sequences of key have lengths {keys.tolist()}, and "
            f"those of value {values.tolist()}; expected the same"
        )
    options = {
        "dropout_p": dropout_p,
        "is_causal": is_causal,
        "scale": scale,
        "enable_gqa": enable_gqa,
    }
    results = [
        function(q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), **options).squeeze(0)
        for q, k, v in zip(*map(components, nested), strict=True)
    ]
    packed = query.packed()
    return packed.with_values(join(results, query._ragged_idx - 1))
