"""What reductions fold, and the ops that are several passes over a row: softmax, layer_norm, var and their relatives.

An op of the second kind is expanded into reductions and pointwise ops, for its kernel alone: no pass
sees the parts, and a schedule never has one of them without the others.
"""

import math
from typing import NamedTuple

from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._core.dtypes import DTYPES
from tensorlab.compiler.lowering.c_types import HALF_NAMES, is_floating, kernel_dtype
from tensorlab.compiler.lowering.index_maps import op_name


class Reduction(NamedTuple):
    """A reduction: what it folds, over which dimensions, in which type, by which function of helpers.py."""

    source: object
    dims: tuple
    dtype: str
    fold: str
    final: str = "{total}"  # from the total and the count of elements to the result


class Inner:
    """A part of an expanded op. It has what a node has, but stands in no graph."""

    op = "call_function"

    def __init__(self, name, *args, like):
        self.target, self.args, self.meta = (
            REGISTRY[name],
            args,
            {"stack_trace": like.meta.get("stack_trace")},
        )
        values = [one.meta["val"] if is_value(one) else one for one in args]
        self.meta["val"] = self.target(*values)
        self.all_input_nodes = [one for one in args if is_value(one)]

    @property
    def name(self):
        return self.target.name


def is_value(argument):
    """Say whether an argument of an op is a node, and not a number or a list."""
    return hasattr(argument, "meta") and hasattr(argument, "target")


def meta_vector(size, dtype):
    """Make a tensor of one dimension on "meta"."""
    return REGISTRY["empty_strided"]([size], [1], dtype=dtype, device="meta")


def all_dims(dim, ndim):
    """Read the argument `dim` of a reduction."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, int) else dim
    return tuple(sorted({d % ndim for d in dims})) if ndim else ()


FOLDS = {
    "sum": "row_sum",
    "mean": "row_sum",
    "sum_to_size": "row_sum",
    "prod": "row_product",
    "amax": "row_largest",
    "max": "row_largest",
    "amin": "row_smallest",
    "min": "row_smallest",
    "any": "row_any",
    "all": "row_all",
    "count_nonzero": "row_count",
}


def reduction_of(node):
    """Describe the reduction that a node is; None if it is none, or of a kind that no kernel does."""
    name = op_name(node)
    if name not in FOLDS:
        return None
    source = node.args[0]
    shape, out = tuple(source.meta["val"].shape), node.meta["val"]
    if name == "sum_to_size":
        padded = (1,) * (len(shape) - len(out.shape)) + tuple(out.shape)
        dims = tuple(d for d, size in enumerate(padded) if size != shape[d])
    else:
        dims = all_dims(node.args[1] if len(node.args) > 1 else None, len(shape))
    if name in ("any", "all", "count_nonzero"):
        return Reduction(source, dims, "bool", FOLDS[name])
    dtype = out.dtype.name
    if name in ("sum", "mean", "prod", "sum_to_size") and not is_floating(dtype):
        if dtype == "bool":
            return None
        dtype = "int64"
    final = "{total} / ({type}){count}" if name == "mean" else "{total}"
    return Reduction(source, dims, kernel_dtype(dtype), FOLDS[name], final)


# ------------------------------------------------------------------------------------------------ several passes
def expand_softmax(node, x, dim, dtype):
    part = Builder(node)
    x = part.wide(x if dtype is None else part("to_copy", x, dtype, None, None))
    powers = part("exp", part("sub", x, part("amax", x, [dim], True)))
    return part("mul", powers, part("reciprocal", part("sum", powers, [dim], True, None)))


def expand_log_softmax(node, x, dim, dtype):
    part = Builder(node)
    x = part.wide(x if dtype is None else part("to_copy", x, dtype, None, None))
    shifted = part("sub", x, part("amax", x, [dim], True))
    total = part("sum", part("exp", shifted), [dim], True, None)
    return part("sub", shifted, part("log", total))


def expand_softmax_backward(node, grad, y, dim):
    part = Builder(node)
    grad, y = part.wide(grad), part.wide(y)
    shared = part("sum", part("mul", grad, y), [dim], True, None)
    return part("mul", part("sub", grad, shared), y)


def expand_log_softmax_backward(node, grad, y, dim):
    part = Builder(node)
    grad, y = part.wide(grad), part.wide(y)
    total = part("sum", grad, [dim], True, None)
    return part("sub", grad, part("mul", part("exp", y), total))


def expand_logsumexp(node, x, dim, keepdim):
    part = Builder(node)
    x = part.wide(x)
    top = part("amax", x, dim, True)
    is_finite = part("lt", part("abs", top), math.inf)
    shift = part("where", is_finite, top, 0.0)
    total = part("sum", part("exp", part("sub", x, shift)), dim, True, None)
    result = part("add", part("log", total), shift)
    return result if keepdim else part("reshape", result, list(node.meta["val"].shape))


def expand_var(node, x, dim, keepdim, correction):
    part = Builder(node)
    x = part.wide(x)
    dims = list(all_dims(dim, len(x.meta["val"].shape)))
    count = math.prod(x.meta["val"].shape[d] for d in dims)
    rest = part("sub", x, part("mean", x, dims, True, None))
    total = part("sum", part("square", rest), dims, keepdim, None)
    result = part("div", total, float(max(count - correction, 0)))
    return part("sqrt", result) if op_name(node) == "std" else result


EXPANSIONS = {
    "softmax": expand_softmax,
    "log_softmax": expand_log_softmax,
    "softmax_backward": expand_softmax_backward,
    "log_softmax_backward": expand_log_softmax_backward,
    "logsumexp": expand_logsumexp,
    "var": expand_var,
    "std": expand_var,
}


FLOAT32 = DTYPES[8]


class Builder:
    """Makes the parts of an expanded op."""

    def __init__(self, node):
        self.node = node

    def __call__(self, name, *args):
        return Inner(name, *args, like=self.node)

    def wide(self, x):
        """A half type as float32: the parts are not rounded, only the result is."""
        if x.meta["val"].dtype.name in HALF_NAMES:
            return self("to_copy", x, FLOAT32, None, None)
        return x


def expanded(node):
    """Return the parts of an op as the value that they end in, in the op's type; None if the op has no parts."""
    expand = EXPANSIONS.get(op_name(node))
    if expand is None:
        return None
    result = expand(node, *node.args)
    wanted = node.meta["val"].dtype
    if result.meta["val"].dtype is not wanted:
        result = Inner("to_copy", result, wanted, None, None, like=node)
    return result


def reduced_dims(node):
    """Return the shape and the dimensions that a node reduces; None if it is no reduction."""
    reduction = reduction_of(node)
    if reduction is not None:
        return tuple(reduction.source.meta["val"].shape), reduction.dims
    if op_name(node) in EXPANSIONS:
        shape = tuple(node.args[0].meta["val"].shape)
        position = node.target.params.index("dim")
        return shape, all_dims(node.args[position], len(shape))
    return None
