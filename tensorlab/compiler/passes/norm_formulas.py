"""Decompositions of layer_norm, its derivatives, and batch_norm in evaluation; see formulas.py."""

from tensorlab.compiler.passes.formulas import (
    average,
    cast,
    count_of,
    has_rows,
    squared,
    total,
    widened,
)
from tensorlab.compiler.passes.rewriting import formula


@formula("layer_norm")
def layer_norm(make, x, normalized_shape, weight, bias, eps):
    """(x - mean) / sqrt(var + eps) * weight + bias; mean and 1 / sqrt(...) are results, too, one number a row."""
    value = x.meta["val"]
    dims = tuple(range(value.ndim - len(normalized_shape), value.ndim))
    if not has_rows(x, dims):
        return None
    x, weight, bias = (widened(make, one) for one in (x, weight, bias))
    centre = average(make, x, dims)
    centred = make.op("sub", x, centre)
    rstd = make.op("rsqrt", make.op("add", average(make, squared(make, centred), dims), eps))
    out = make.op("mul", centred, rstd)
    out = out if weight is None else make.op("mul", out, weight)
    out = out if bias is None else make.op("add", out, bias)
    rows = (value.numel() // count_of(x, dims),)
    return cast(make, out, value.dtype), make.op("view", centre, rows), make.op("view", rstd, rows)


def standardized(make, x, normalized_shape, mean, rstd):
    """(x - mean) * rstd, the same broadcast rstd, and the dimensions of a row."""
    shape = tuple(x.meta["val"].shape)
    outer = len(shape) - len(normalized_shape)
    column = (*shape[:outer], *(1 for _ in normalized_shape))
    mean, rstd = (make.op("view", one, column) for one in (mean, rstd))
    return make.op("mul", make.op("sub", x, mean), rstd), rstd, tuple(range(outer, len(shape)))


@formula("layer_norm_backward")
def layer_norm_backward(make, grad, x, normalized_shape, weight, eps, mean, rstd):
    """(g - average(g) - y * average(g * y)) * rstd, where y = (x - mean) * rstd and g = grad * weight"""
    dtype = x.meta["val"].dtype
    if not has_rows(x, normalized_shape) or not is_row(mean) or not is_row(rstd):
        return None
    grad, x, weight = (widened(make, one) for one in (grad, x, weight))
    y, rstd, dims = standardized(make, x, normalized_shape, mean, rstd)
    g = grad if weight is None else make.op("mul", grad, weight)
    along = make.op("mul", y, average(make, make.op("mul", g, y), dims))
    rest = make.op("sub", make.op("sub", g, average(make, g, dims)), along)
    return cast(make, make.op("mul", rest, rstd), dtype)


@formula("layer_norm_backward_weight")
def layer_norm_backward_weight(make, grad, x, normalized_shape, eps, mean, rstd):
    """sum(grad * y) over the rows"""
    value = x.meta["val"]
    outer = tuple(range(value.ndim - len(normalized_shape)))
    if not has_rows(x, outer) or not is_row(mean) or not is_row(rstd):
        return None
    grad, x = widened(make, grad), widened(make, x)
    y, _, _ = standardized(make, x, normalized_shape, mean, rstd)
    return cast(
        make, total(make, make.op("mul", grad, y), outer, False), make.node.meta["val"].dtype
    )


def is_row(x):
    return x.meta["val"].is_contiguous()


@formula("batch_norm_with")
def batch_norm_with(make, x, weight, bias, mean, variance, eps):
    """The form of evaluation: (x - mean) * (weight / sqrt(variance + eps)) + bias, by channel."""
    value = x.meta["val"]
    x, weight, bias, mean, variance = (
        widened(make, one) for one in (x, weight, bias, mean, variance)
    )
    slope = make.op("rsqrt", make.op("add", variance, eps))
    slope = slope if weight is None else make.op("mul", slope, weight)

    def by_channel(one):
        return make.op("view", one, (1, -1, *(1 for _ in value.shape[2:])))

    out = make.op("mul", make.op("sub", x, by_channel(mean)), by_channel(slope))
    out = out if bias is None else make.op("add", out, by_channel(bias))
    return cast(make, out, value.dtype)
