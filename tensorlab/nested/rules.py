"""What functions do with nested tensors, each in terms of their values."""

import math

from tensorlab._tensor import Tensor
from tensorlab.errors import ShapeError
from tensorlab.nested.creation import of_list
from tensorlab.nested.tensors import NestedTensor, components, rule
from tensorlab.ops.joining import cat as join
from tensorlab.ops.ranges import arange


# ---------------------------------------------------------------- padded, and back
def places(x, width):
    """Where each row of a packed nested tensor stands in a padded one of that width, whose first
    two dimensions are one.
    """
    batch = x.batch_index()
    within = arange(batch.numel(), device=batch.device) - x._offsets[:-1][batch]
    return batch * width + within


def padded(x, padding, width=None):
    """A dense tensor of size (B, width, ...) with the sequences, each filled up."""
    x = x.packed()
    width = x.longest() if width is None else width
    r = x._ragged_idx
    rows = x._values.movedim(r - 1, 0)
    count = len(x)
    out = rows.new_full((count * width, *rows.shape[1:]), padding)
    out = out.index_copy(0, places(x, width), rows)
    return out.view(count, width, *rows.shape[1:]).movedim(1, r)


def from_padded(dense, x, ragged_idx=None):
    """The sequences of a nested tensor out of a padded dense one."""
    x = x.packed()
    r = x._ragged_idx if ragged_idx is None else ragged_idx
    rows = dense.movedim(r, 1)
    rows = rows.flatten(0, 1)[places(x, rows.shape[1])]
    return x.with_values(rows.movedim(0, r - 1), r)


# ---------------------------------------------------------------- operands
def first_nested(args, kwargs):
    """The first nested tensor among arguments."""
    for one in (*args, *kwargs.values()):
        if isinstance(one, NestedTensor):
            return one
    raise TypeError("a nested tensor is needed")


def same_sequences(x, y):
    """Whether two nested tensors have sequences of the same lengths in the same place."""
    if x is y or x._ragged_size is y._ragged_size:
        return x._ragged_idx == y._ragged_idx
    mine, others = x.sequence_lengths(), y.sequence_lengths()
    same = mine.shape == others.shape and bool((mine == others).all())
    return same and x._ragged_idx == y._ragged_idx


def operand(where, one, x):
    """An operand as the values of `x` can be combined with it."""
    if isinstance(one, NestedTensor):
        if not same_sequences(x, one):
            raise RuntimeError(
                f"cannot call {where} with nested tensors of shapes {tuple(x.shape)} and "
                f"{tuple(one.shape)}, whose sequences have lengths {x.sequence_lengths().tolist()} "
                f"and {one.sequence_lengths().tolist()}; expected the same"
            )
        return one._values if x._lengths is None else one.packed()._values
    if not isinstance(one, Tensor) or one.dim() < x.dim() - x._ragged_idx:
        return one
    return along_sequences(where, one, x)


def along_sequences(where, dense, x):
    """A dense operand that has one row for each sequence, or one for all of them."""
    r = x._ragged_idx
    wide = (
        dense.reshape(*[1] * (x.dim() - dense.dim()), *dense.shape)
        if dense.dim() < x.dim()
        else dense
    )
    if wide.dim() != x.dim() or wide.shape[r] != 1 or wide.shape[0] not in (1, len(x)):
        raise RuntimeError(
            f"cannot call {where} with a nested tensor of shape {tuple(x.shape)} and a dense one of "
            f"shape {tuple(dense.shape)}: its size in the ragged dimension must be 1, and in the "
            f"first 1 or {len(x)}"
        )
    if wide.shape[0] == 1:
        return wide.squeeze(0)
    return wide.squeeze(r)[x.batch_index()].movedim(0, r - 1)


# ---------------------------------------------------------------- element by element
POINTWISE = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "celu",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "detach",
    "div",
    "divide",
    "double",
    "dropout",
    "elu",
    "eq",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "feature_dropout",
    "float",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "ge",
    "gelu",
    "greater",
    "gt",
    "half",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "leaky_relu",
    "lerp",
    "less",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logsigmoid",
    "lt",
    "masked_fill",
    "maximum",
    "minimum",
    "mish",
    "mul",
    "multiply",
    "nan_to_num",
    "ne",
    "neg",
    "negative",
    "not_equal",
    "pow",
    "rad2deg",
    "reciprocal",
    "relu",
    "relu6",
    "remainder",
    "round",
    "rrelu",
    "rsqrt",
    "rsub",
    "selu",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinc",
    "sinh",
    "softplus",
    "softshrink",
    "softsign",
    "sqrt",
    "square",
    "sub",
    "subtract",
    "tan",
    "tanh",
    "tanhshrink",
    "threshold",
    "to",
    "true_divide",
    "trunc",
    "type",
    "type_as",
    "where",
    "xlogy",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
    "rand_like",
    "randn_like",
    "bfloat16",
    "long",
    "int",
    "short",
    "char",
    "byte",
    "bool",
    "cpu",
    "alpha_dropout",
    "digamma",
    "positive",
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__rsub__",
    "__rtruediv__",
    "__rdiv__",
    "__rpow__",
    "__invert__",
    "__and__",
    "__or__",
    "__xor__",
    "__pow__",
    "__truediv__",
    "__floordiv__",
    "__mod__",
    "__radd__",
    "__rmul__",
    "__neg__",
    "__abs__",
    "__rfloordiv__",
]


@rule(*POINTWISE)
def pointwise(function, *args, **kwargs):
    """A function of each element, or of those at one place."""
    given = first_nested(args, kwargs)
    is_alone = not any(isinstance(one, Tensor) and one is not given for one in args)
    x = given if is_alone else given.packed()
    name = function.__name__
    plain = [x._values if one is given else operand(name, one, x) for one in args]
    named = {key: operand(name, one, x) for key, one in kwargs.items()}
    result = function(*plain, **named)
    return given if result is given._values else x.with_values(result)


@rule(
    *[f"{name}_" for name in POINTWISE if not name.startswith("_")],
    "zero_",
    "fill_",
    "copy_",
    "normal_",
    "uniform_",
)
def pointwise_inplace(function, x, *args, **kwargs):
    """A function of each element, which writes to the first operand."""
    if not isinstance(x, NestedTensor):
        raise RuntimeError(f"{function.__name__}: a dense tensor can't take in a nested one")
    plain = [operand(function.__name__, one, x) for one in args]
    function(x._values, *plain, **kwargs)
    return x


@rule("contiguous")
def contiguous(function, x, **kwargs):
    """The same sequences without gaps, in row-major order."""
    x = x.packed()
    return x if x._values.is_contiguous() else x.with_values(x._values.contiguous())


@rule(
    "is_floating_point",
    "is_complex",
    "element_size",
    "get_device",
    "is_inference",
    "is_pinned",
    "is_signed",
    "new_tensor",
)
def question(function, x, *args, **kwargs):
    """What holds of the values, or is made with their type."""
    return function(x._values, *args, **kwargs)


@rule("numel")
def numel(function, x):
    """How many elements all sequences have together."""
    return x.numel()


@rule("is_same_size")
def is_same_size(function, x, y):
    """Whether two nested tensors have sequences of the same lengths, and the same inner sizes."""
    return (
        isinstance(y, NestedTensor) and same_sequences(x, y) and x._values.shape == y._values.shape
    )


# ---------------------------------------------------------------- functions of the inner dimensions
def check_inner(where, x, dim):
    """The dimension of the values that an inner dimension of a nested tensor is."""
    dim = x.dimension(dim)
    if dim in (0, x._ragged_idx):
        raise RuntimeError(
            f"{where}: not supported on the {'batch' if dim == 0 else 'ragged'} dimension {dim} of a "
            f"nested tensor of shape {tuple(x.shape)}"
        )
    return dim - 1


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
        if not rows.dtype.is_floating_point:
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
    if not x.dtype.is_floating_point and dtype is None:
        raise RuntimeError(f"mean: the dtype must be floating point, but is {x.dtype}; give dtype=")
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


# ---------------------------------------------------------------- autograd
@rule("grad")
def grad(function, outputs, inputs, grad_outputs=None, **kwargs):
    """autograd.grad with nested tensors."""

    def plain(one):
        if isinstance(one, (tuple, list)):
            return type(one)(plain(each) for each in one)
        return one._values if isinstance(one, NestedTensor) else one

    found = function(plain(outputs), plain(inputs), plain(grad_outputs), **kwargs)
    given = inputs if isinstance(inputs, (tuple, list)) else [inputs]
    return tuple(
        one.with_values(result) if isinstance(one, NestedTensor) and result is not None else result
        for one, result in zip(given, found, strict=True)
    )


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
