"""Decompositions of ops that reduce: what a kernel does row by row, as reductions and pointwise ops that codegen fuses.

They round in other places than the kernels, so results agree to a few units of the last place. As
in the kernels, half types are computed in float32 and rounded once, at the end.
"""

import math
from functools import partial

from tensorlab._core.dtypes import DTYPES
from tensorlab.compiler.passes.rewriting import formula

FLOAT32 = next(one for one in DTYPES if one.is_floating_point and one.itemsize == 4)


# ---------------------------------------------------------------- types and dimensions
def cast(make, x, dtype):
    return (
        x if x is None or x.meta["val"].dtype == dtype else make.op("to_copy", x, dtype, None, None)
    )


def widened(make, x):
    """x in the type that its kernel computes in."""
    return cast(make, x, FLOAT32) if x is not None and x.meta["val"].dtype.itemsize == 2 else x


def dims_of(x, dim):
    """The reduced dimensions, counted from 0; None and () are all of them."""
    ndim = x.meta["val"].ndim
    dims = (dim,) if isinstance(dim, int) else tuple(dim or range(ndim))
    return tuple(sorted({one % ndim for one in dims})) if ndim else ()


def count_of(x, dims):
    n = 1
    for dim in dims:
        n *= x.meta["val"].shape[dim]
    return n


def has_rows(x, dims):
    """Whether there is something to reduce; of nothing, each op says something of its own."""
    return x.meta["val"].numel() > 0 and len(dims) > 0


def total(make, x, dims, keepdim=True):
    return make.op("sum", x, dims, keepdim, None)


def average(make, x, dims, keepdim=True):
    return make.op("div", total(make, x, dims, keepdim), count_of(x, dims))


def squared(make, x):
    return make.op("mul", x, x)


# ---------------------------------------------------------------- softmax
def shifted(make, x, dims):
    """x minus its largest element, so that exp doesn't overflow."""
    return make.op("sub", x, make.op("amax", x, dims, True))


def softmax(make, x, dim, dtype, *, is_log):
    out_dtype, dims = dtype or x.meta["val"].dtype, dims_of(x, dim)
    if not has_rows(x, dims):
        return None
    y = shifted(make, widened(make, cast(make, x, out_dtype)), dims)
    power = make.op("exp", y)
    if is_log:
        out = make.op("sub", y, make.op("log", total(make, power, dims)))
    else:
        out = make.op("mul", power, make.op("div", 1, total(make, power, dims)))
    return cast(make, out, out_dtype)


formula("softmax")(partial(softmax, is_log=False))
formula("log_softmax")(partial(softmax, is_log=True))


@formula("softmax_backward")
def softmax_backward(make, grad, y, dim):
    """(grad - sum(grad * y)) * y"""
    dims, dtype = dims_of(y, dim), grad.meta["val"].dtype
    if not has_rows(y, dims):
        return None
    grad, y = widened(make, grad), widened(make, y)
    shared = total(make, make.op("mul", grad, y), dims)
    return cast(make, make.op("mul", make.op("sub", grad, shared), y), dtype)


@formula("log_softmax_backward")
def log_softmax_backward(make, grad, y, dim):
    """grad - exp(y) * sum(grad)"""
    dims, dtype = dims_of(y, dim), grad.meta["val"].dtype
    if not has_rows(y, dims):
        return None
    grad, y = widened(make, grad), widened(make, y)
    shared = make.op("mul", make.op("exp", y), total(make, grad, dims))
    return cast(make, make.op("sub", grad, shared), dtype)


@formula("logsumexp")
def logsumexp(make, x, dim, keepdim):
    """log(sum(exp(x - shift))) + shift, where the shift is the largest element if that is finite"""
    dims, dtype = dims_of(x, dim), x.meta["val"].dtype
    if not has_rows(x, dims) or not dtype.is_floating_point:
        return None
    x = widened(make, x)
    top = make.op("amax", x, dims, True)
    shift = make.op("where", make.op("lt", make.op("abs", top), math.inf), top, 0.0)
    power = make.op("exp", make.op("sub", x, shift))
    out = make.op("add", make.op("log", total(make, power, dims)), shift)
    if not keepdim:
        out = make.op("view", out, tuple(make.node.meta["val"].shape))
    return cast(make, out, dtype)


# ---------------------------------------------------------------- mean, var, norm
@formula("mean")
def mean(make, x, dim, keepdim, dtype):
    out_dtype, dims = dtype or x.meta["val"].dtype, dims_of(x, dim)
    if not has_rows(x, dims):
        return None
    return cast(
        make, average(make, widened(make, cast(make, x, out_dtype)), dims, keepdim), out_dtype
    )


def variance(make, x, dim, correction, keepdim, *, is_std):
    dims, dtype = dims_of(x, dim), x.meta["val"].dtype
    divisor = count_of(x, dims) - (1 if correction is None else correction)
    if not has_rows(x, dims) or divisor <= 0:
        return None
    x = widened(make, x)
    spread = squared(make, make.op("sub", x, average(make, x, dims)))
    out = make.op("div", total(make, spread, dims, keepdim), divisor)
    return cast(make, make.op("sqrt", out) if is_std else out, dtype)


formula("var")(partial(variance, is_std=False))
formula("std")(partial(variance, is_std=True))


@formula("norm")
def norm(make, x, p, dim, keepdim, dtype):
    """The usual ones, p = 1, 2 and infinity; the others raise to powers and stay calls."""
    out_dtype, dims = dtype or x.meta["val"].dtype, dims_of(x, dim)
    if not has_rows(x, dims) or p not in (1, 2, math.inf):
        return None
    x = widened(make, cast(make, x, out_dtype))
    if p == 2:
        out = make.op("sqrt", total(make, squared(make, x), dims, keepdim))
    elif p == 1:
        out = total(make, make.op("abs", x), dims, keepdim)
    else:
        out = make.op("amax", make.op("abs", x), dims, keepdim)
    return cast(make, out, out_dtype)


@formula("sum_to_size")
def sum_to_size(make, x, size):
    """Sum the dimensions that were broadcast. Those that `size` lacks stay, with size 1."""
    shape = tuple(x.meta["val"].shape)
    extra = len(shape) - len(size)
    dims = [*range(extra)]
    dims += [extra + i for i, n in enumerate(size) if n == 1 and shape[extra + i] != 1]
    if not dims or x.meta["val"].numel() == 0:
        return None
    return total(make, x, tuple(dims))


@formula("max")
def largest(make, x):
    return make.op("amax", x, dims_of(x, None), False) if x.meta["val"].ndim else None


@formula("min")
def smallest(make, x):
    return make.op("amin", x, dims_of(x, None), False) if x.meta["val"].ndim else None


@formula("count_nonzero")
def count_nonzero(make, x, dim):
    return total(make, make.op("ne", x, 0), dims_of(x, dim), False) if x.meta["val"].ndim else None
