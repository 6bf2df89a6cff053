"""Rules of pointwise ops: those that leave 0 as it is, sums, and products."""

import numbers

from tensorlab._core.dispatch.overrides import is_engine_calling
from tensorlab._tensor import Tensor
from tensorlab.errors import ShapeError
from tensorlab.ops.joining import cat
from tensorlab.ops.meshgrid import broadcast_shapes
from tensorlab.sparse import forms
from tensorlab.sparse.autograd import sparse_at, take_values
from tensorlab.sparse.shapes import expand_coo
from tensorlab.sparse.tensors import SparseCooTensor, SparseTensor, in_formula, rule, write

# f(0) = 0: what isn't held stays so
KEEPING_ZERO = [
    "abs",
    "angle_of_complex",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "erf",
    "erfinv",
    "expm1",
    "floor",
    "frac",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "log1p",
    "nan_to_num",
    "relu",
    "round",
    "sign",
    "sgn",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "leaky_relu",
    "hardshrink",
    "softshrink",
    "scale_angle",
    "round_decimals",
    "pow_3",
    "pow_half",
]


@rule(*KEEPING_ZERO)
def keeping_zero(func, x, *args, **kwargs):
    """An op that is done with each held element."""
    if x.is_sparse:
        x = forms.coalesced(x)
    return x.with_values(func(x._parts.values, *args, **kwargs))


@rule("neg", "conj_physical")
def negative(func, x, *args, **kwargs):
    """An op that may be done with each of several values of one index, as -(x + y) is -x + -y."""
    return x.with_values(func(x._parts.values, *args, **kwargs))


@rule("view_as_real")
def parts(func, x):
    """Complex numbers as pairs of real ones, in a dense dimension."""
    if not x.is_sparse:
        raise NotImplementedError(
            f"{func.op.name}: of layout {x.layout} there are no pairs; use values() or to_sparse_coo()"
        )
    return x.with_values(func(x._parts.values))


@rule(
    "relu_backward",
    "tanh_backward",
    "threshold_backward",
    "leaky_relu_backward",
    "hardtanh_backward",
    "sigmoid_backward",
)
def derivative(func, *args, **kwargs):
    """The formula of a derivative, which is done with elements held at the same places."""
    pattern = next(one for one in args if isinstance(one, SparseTensor))
    if pattern.is_sparse:
        pattern = forms.coalesced(pattern)

    def values(one):
        if not isinstance(one, Tensor) or one.dim() == 0:
            return one
        return values_at(one, pattern)

    return pattern.with_values(func(*[values(one) for one in args], **kwargs))


def values_at(x, pattern):
    """The elements of a tensor, sparse or dense, at the places of a sparse one."""
    if not isinstance(x, SparseTensor):
        return take_values(x.expand(pattern.shape), pattern)
    if x._parts is pattern._parts:
        return pattern._parts.values
    return sparse_at(x, pattern)._parts.values


@rule("pow")
def power(func, x, exponent):
    """A power with a positive exponent."""
    if not isinstance(x, SparseTensor) or not is_number(exponent):
        raise NotImplementedError("pow: a sparse tensor is raised to the power of a number")
    if float(exponent) <= 0:
        raise RuntimeError(
            f"pow: 0 to the power of {exponent} is not 0, and the result would not be sparse; "
            f"use to_dense()"
        )
    return keeping_zero(func, x, exponent)


def is_number(x):
    """Whether an operand is one number."""
    return isinstance(x, numbers.Number) or (
        isinstance(x, Tensor) and x.dim() == 0 and not isinstance(x, SparseTensor)
    )


# ---------------------------------------------------------------- products
@rule("mul")
def multiply(func, x, y):
    """A product: held where both hold an element."""
    if is_number(y):
        return x.with_values(func(x._parts.values, y))
    if is_number(x):
        return y.with_values(func(x, y._parts.values))
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        return multiply_sparse(func, x, y)
    if isinstance(x, SparseTensor):
        return multiply_dense(func, x, y, False)
    return multiply_dense(func, y, x, True)


def multiply_dense(func, x, dense, is_first):
    """A sparse tensor times a dense one."""
    if x.is_sparse:
        x = forms.coalesced(x)
    if dense.dim() > x.dim():
        return multiply_sparse(func, x, forms.dense_to_coo(dense))
    try:
        dense = dense.expand(x.shape)
    except RuntimeError:
        return multiply_sparse(func, x, forms.dense_to_coo(dense, dense.dim() - x.dense_dim()))
    factors = values_at(dense, x)
    held = x._parts.values
    return x.with_values(func(factors, held) if is_first else func(held, factors))


def multiply_sparse(func, x, y):
    """A product of two sparse tensors, in the layout of the first."""
    if x.shape != y.shape:
        x, y = broadcast_together(func.op.name, x, y)
    if x.is_sparse is not y.is_sparse or x.layout != y.layout:
        return forms.like(
            multiply_sparse(func, forms.as_coo(x.alias()), forms.as_coo(y.alias())), x
        )
    if not x.is_sparse:
        if same_places(x, y):
            return x.with_values(func(x._parts.values, y._parts.values))
        return forms.like(
            multiply_sparse(func, forms.as_coo(x.alias()), forms.as_coo(y.alias())), x
        )
    first, second = forms.same_sparse_dims(forms.coalesced(x), forms.coalesced(y))
    place, found = forms.places_in(first, second)
    where = found.nonzero().flatten()
    values = func(first._parts.values[where], second._parts.values[place[where]])
    return SparseCooTensor(first._parts.indices[:, where], values, tuple(x.shape), True)


def broadcast_together(where, x, y):
    """Two sparse tensors, expanded to the shape of both."""
    try:
        shape = broadcast_shapes(tuple(x.shape), tuple(y.shape))
    except ShapeError as error:
        raise ShapeError(str(error).replace("broadcast_shapes", where, 1)) from None
    return [expand_coo(forms.as_coo(one.alias()), shape) for one in (x, y)]


def same_places(x, y):
    """Whether two tensors of one layout hold elements at the same places."""
    one, other = x._parts, y._parts
    if one.plain.shape != other.plain.shape:
        return False
    is_shared = one.compressed is other.compressed and one.plain is other.plain
    return is_shared or bool(
        (one.compressed == other.compressed).all() and (one.plain == other.plain).all()
    )


@rule("div", "div_floor", "div_trunc", "remainder", "fmod")
def divide(func, x, y, *args, **kwargs):
    """A quotient by a number."""
    if isinstance(x, SparseTensor) and is_number(y):
        if func.op.name != "div" and x.is_sparse:
            x = forms.coalesced(x)
        return x.with_values(func(x._parts.values, y, *args, **kwargs))
    if isinstance(x, SparseTensor) and is_engine_calling():  # of a derivative: where x is held
        pattern = forms.coalesced(x) if x.is_sparse else x
        return pattern.with_values(func(pattern._parts.values, values_at(y, pattern)))
    if is_engine_calling():
        return in_formula(func, (x, y), kwargs)
    raise RuntimeError(
        f"{func.op.name}: a sparse tensor can be divided by a number only, as 0 / 0 is not 0; "
        f"divide values(), or use to_dense()"
    )


# ---------------------------------------------------------------- sums
@rule("add", "add_scaled")
def add(func, x, y, alpha=1):
    """A sum: sparse if both are."""
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        return add_sparse(x, y, alpha)
    dense, sparse = (y, x) if isinstance(x, SparseTensor) else (x, y)
    if is_number(dense) and is_engine_calling():
        return in_formula(func, (x, y), {"alpha": alpha})
    if is_number(dense):
        raise RuntimeError(
            f"{func.op.name}: a number added to a sparse tensor would fill it; add it to values(), "
            f"or use to_dense()"
        )
    if dense.shape != sparse.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size "
            f"{list(x.shape)} while other has size {list(y.shape)} (a sparse tensor is not broadcast)"
        )
    dtype = forms.common_dtype(x, y)
    if dense is y:
        out = dense.to(dtype) * alpha
        return forms.add_to_dense(out.contiguous(), forms.as_coo(sparse.alias()))
    out = (
        dense.to(dtype).clone(memory_format="contiguous")
        if dense.dtype == dtype
        else dense.to(dtype).contiguous()
    )
    return forms.add_to_dense(out, forms.as_coo(sparse.alias()), alpha)


@rule("add_", "sub_", "add_scaled_", "sub_scaled_")
def add_(func, x, y, alpha=1):
    """A sum in place: to a dense tensor only what is held is added."""
    alpha = -alpha if func.op.name.startswith("sub") else alpha
    fits = not isinstance(x, SparseTensor) and x.is_contiguous() and x.shape == y.shape
    if fits and forms.common_dtype(x, y) == x.dtype:
        return forms.add_to_dense(x, forms.as_coo(y.alias()), alpha)
    return write(x, add(func, x, y, alpha=alpha))


@rule("sub", "sub_scaled")
def subtract(func, x, y, alpha=1):
    """A difference."""
    if is_engine_calling() and (is_number(x) or is_number(y)):
        return in_formula(func, (x, y), {"alpha": alpha})
    return add(func, x, y, alpha=-alpha)


def add_sparse(x, y, alpha):
    """The sum of two sparse tensors, in the layout of the first."""
    if x.shape != y.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(x.shape)} != "
            f"{list(y.shape)} (sparse tensors are not broadcast)"
        )
    dtype = forms.common_dtype(x, y)
    if not x.is_sparse and x.layout == y.layout and same_places(x, y):
        return x.with_values(x._parts.values.to(dtype) + y._parts.values.to(dtype) * alpha)
    first, second = forms.same_sparse_dims(forms.as_coo(x.alias()), forms.as_coo(y.alias()))
    held, other = first._parts, second._parts
    scaled = other.values.to(dtype)
    made = SparseCooTensor(
        cat([held.indices, other.indices], 1),
        cat([held.values.to(dtype), scaled if alpha == 1 else scaled * alpha]),
        tuple(x.shape),
    )
    if held.is_coalesced and other.is_coalesced:
        made = forms.coalesced(made)
    return forms.like(made, x)
