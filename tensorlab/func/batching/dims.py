"""Batching rules of ops that take the numbers of dimensions: each number moves on by one.

    op(x, dim)   for each example   is   op(x, dim + 1)   for the batch

Which arguments are such numbers is read from the op's schema, by their names.
"""

from tensorlab._core.dispatch.levels import value_at  # noqa: F401
from tensorlab.errors import DimensionError
from tensorlab.func.batching.rules import batching

# Parameters that name dimensions of the first argument.
NAMES = {"dim", "dims", "dim0", "dim1", "dim2", "dimension"}
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


def every(ndim):
    """All dimensions of an example."""
    return list(range(1, ndim + 1))


def along_dims(op, size, batched, x, *arguments):
    """A rule for ops with one tensor, the first argument, and dimensions of it."""
    ndim = x.ndim - 1
    if ndim == 0 and op.name not in LONGER:
        return _of_numbers(op, size, x, arguments)
    return op(x, *_moved_arguments(op, ndim + LONGER.get(op.name, 0), arguments))


def _moved_arguments(op, ndim, arguments):
    out = []
    for parameter, value in zip(op.signature.parameters[1:], arguments, strict=True):
        if parameter.name in NAMES:
            if parameter.type.is_list:
                value = [moved(one, ndim, op.name) for one in value or ()] or every(ndim)
            elif value is not None:
                value = moved(value, ndim, op.name)
        out.append(value)
    return out


def _of_numbers(op, size, x, arguments):
    """Each example is a 0-d tensor, which dimension 0 and -1 may be asked of nevertheless."""
    results = op(x.unsqueeze(1), *_moved_arguments(op, 1, arguments))
    several = isinstance(results, (tuple, list))
    flat = [one.squeeze(1) if one.ndim == 2 else one for one in (results if several else [results])]
    return type(results)(flat) if several else flat[0]


for _name in (
    # reductions
    *("sum", "mean", "amax", "amin", "max_dim", "min_dim", "any", "all", "var", "std"),
    *("logsumexp", "count_nonzero", "median_dim", "nanmedian_dim", "kthvalue", "norm"),
    # along a dimension
    *("sort", "stable_sort", "topk", "sorted_values", "softmax", "log_softmax", "_safe_softmax"),
    *("cumsum", "cumsum_from_end", "logcumsumexp", "cumprod", "cummax", "cummin", "flip"),
    # views
    *("transpose", "unsqueeze", "select", "slice", "diagonal", "unfold", "diag_embed"),
    *("split", "split_with_sizes", "unbind"),
):
    batching.give(_name, along_dims)
