"""Batching rules of ops that take the numbers of dimensions: each number moves on by one.

    op(x, dim)   for each example   is   op(x, dim + 1)   for the batch

Which arguments are such numbers is read from the op's schema, by their names. An op may take
several tensors, all with these dimensions, and the shape of its result.
"""

from tensorlab.errors import DimensionError
from tensorlab.func.batching.alignment import all_whole, of_each
from tensorlab.func.batching.rules import batching, in_parts

# Parameters that name dimensions of the first argument.
NAMES = {"dim", "dims", "dim0", "dim1", "dim2", "dimension"}
# Reductions, to which no dimensions mean all of them.
REDUCTIONS = {"sum", "mean", "amax", "amin", "any", "all", "var", "std", "logsumexp"}
REDUCTIONS |= {"count_nonzero", "norm"}
# Ops whose result has one dimension more than their argument: they may name that one, too.
LONGER = {"unsqueeze": 1, "diag_embed": 1}


def moved(dim, ndim, name):
    """The number of a dimension with the batch before it."""
    if not -ndim <= dim < ndim:
        raise DimensionError(
            f"{name}: dimension {dim} is out of range; an example has {ndim} dimensions: "
            f"{-ndim} to {ndim - 1}"
        )
    return dim % ndim + 1


def moved_list(dims, ndim, name):
    """The numbers of several dimensions, or of one."""
    dims = (dims,) if isinstance(dims, int) else dims or ()
    return tuple([moved(one, ndim, name) for one in dims])


def every(ndim):
    """All dimensions of an example."""
    return tuple(range(1, ndim + 1))


def along_dims(op, size, batched, *arguments):
    """A rule for ops with dimensions of their first argument."""
    x, *others = all_whole(arguments, batched, size)
    ndim = x.ndim - 1
    if ndim == 0 and op.name not in LONGER:
        return _of_numbers(op, size, [x, *others])
    return op(x, *_moved_arguments(op, size, ndim + LONGER.get(op.name, 0), others))


def _moved_arguments(op, size, ndim, others):
    out = []
    for parameter, value in zip(op.signature.parameters[1:], others, strict=True):
        if parameter.name == "shape":
            value = [size, *value]
        elif parameter.name in NAMES:
            if parameter.type.is_list:
                value = moved_list(value, ndim, op.name)
                value = value or every(ndim) if op.name in REDUCTIONS else value
            elif value is not None:
                value = moved(value, ndim, op.name)
        out.append(value)
    return out


def _of_numbers(op, size, arguments):
    """Each example is a 0-d tensor, which dimension 0 and -1 may be asked of nevertheless."""
    longer = [
        one.unsqueeze(1) if hasattr(one, "unsqueeze") and one.ndim == 1 else one
        for one in arguments
    ]
    shape = [one.name == "shape" for one in op.signature.parameters]
    longer = [
        [1] if is_shape and not one else one for one, is_shape in zip(longer, shape, strict=True)
    ]
    results = op(longer[0], *_moved_arguments(op, size, 1, longer[1:]))
    if op.name == "gather" and arguments[2].ndim == 2:  # the result is of the shape of the index
        return results
    return of_each(results, lambda one: one.squeeze(1) if one.ndim > 1 else one)


for _name in (
    # reductions
    *("sum", "mean", "amax", "amin", "max_dim", "min_dim", "any", "all", "var", "std"),
    *("logsumexp", "count_nonzero", "median_dim", "nanmedian_dim", "kthvalue", "norm"),
    # along a dimension
    *("sort", "stable_sort", "topk", "sorted_values", "softmax", "log_softmax", "_safe_softmax"),
    *("cumsum", "cumsum_from_end", "logcumsumexp", "cumprod", "cummax", "cummin", "flip"),
    *("softmax_backward", "log_softmax_backward", "cumprod_backward"),
    *("_fft_c2c", "_fft_r2c", "_fft_c2r", "rot90"),
    # views
    *("transpose", "unsqueeze", "select", "slice", "diagonal", "unfold", "diag_embed"),
    *("split", "split_with_sizes", "unbind"),
    # elements by an index of the same number of dimensions
    *("gather", "gather_backward", "scatter", "scatter_add", "scatter_value", "scatter_reduce"),
):
    batching.give(_name, along_dims)


# ---------------------------------------------------------------- of all elements
def flat(x):
    """The elements of each example in one dimension."""
    return x.flatten(1) if x.ndim > 1 else x.unsqueeze(1)


@batching("max", "min")
def extreme_of_all(op, size, batched, x):
    return flat(x).amax(1) if op.name == "max" else flat(x).amin(1)


@batching("median", "nanmedian")
def median_of_all(op, size, batched, x):
    return getattr(flat(x), op.name)(1)[0]


@batching("argmax", "argmin", "prod")
def along_one_or_all(op, size, batched, x, dim, keepdim, *dtype):
    if dim is not None:
        return along_dims(op, size, batched, x, dim, keepdim, *dtype)
    out = op(flat(x), 1, False, *dtype)
    return out.reshape(size, *[1] * (x.ndim - 1)) if keepdim else out


@batching("roll")
def roll(op, size, batched, x, shifts, dims):
    if dims:
        return along_dims(op, size, batched, x, shifts, dims)
    return op(flat(x), shifts, [1]).reshape(x.shape)


@in_parts("trace")
def trace(op, x):
    return x.diagonal().sum()


# ---------------------------------------------------------------- a part, and the rest
@batching("view_scatter")
def view_scatter(op, size, batched, x, source, view, where):
    x, source = all_whole((x, source), batched[:2], size)
    return op(x, source, view, tuple(_moved_arguments(view, size, x.ndim - 1, where)))


@batching("view_backward")
def view_backward(op, size, batched, grad, shape, view, where):
    where = tuple(_moved_arguments(view, size, len(shape), where))
    return op(grad, [size, *shape], view, where)
