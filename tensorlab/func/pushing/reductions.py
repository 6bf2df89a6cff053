"""Forward rules of reductions, and of ops that choose elements.

A tangent comes from where its element came from.
"""

from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab._core.dispatch.levels import box, enter_level, leave_level, value_at
from tensorlab._core.engine.backward import grad as backward
from tensorlab.autograd.grad_mode import enable_grad
from tensorlab.func.pushing.rules import RECORDS, by_two_passes, pushing
from tensorlab.ops.creation import full_like, ones_like, zeros_like


def argument(op, primals, name, default=None):
    """The argument of a call that the schema calls so."""
    return primals[op.params.index(name)] if name in op.params[: len(primals)] else default


# ---------------------------------------------------------------- elements that are chosen
def chosen(op, primals, tangents, out):
    """Of an op that returns (values, indices) along a dimension."""
    dim, indices = argument(op, primals, "dim"), out[1]
    is_reduced = indices.ndim < primals[0].ndim
    if is_reduced:
        indices = indices.unsqueeze(dim)
    found = tangents[0].gather(dim, indices)
    return found.squeeze(dim) if is_reduced else found


def chosen_in_windows(ndim):
    """Of pooling: the indices count within the last `ndim` dimensions."""

    def rule(op, primals, tangents, out):
        indices = out[1]
        flat = tangents[0].flatten(-ndim).gather(-1, indices.flatten(-ndim))
        return flat.reshape(indices.shape)

    return rule


for _name in ("max_dim", "min_dim", "median_dim", "nanmedian_dim", "kthvalue"):
    pushing.give(_name, chosen)
for _name in ("sort", "stable_sort", "topk", "cummax", "cummin"):
    pushing.give(_name, chosen)
for _name in ("max_pool", "adaptive_max_pool", "fractional_max_pool"):
    for _ndim in (2, 3):
        pushing.give(f"{_name}{_ndim}d", chosen_in_windows(_ndim))


# ---------------------------------------------------------------- slices of which one element is made
def by_slices(op, primals, tangents, out):
    """Of an op whose results each depend on a slice of x alone: one backward pass with ones
    gives all derivatives.
    """
    level = enter_level("jvp", RECORDS)
    try:
        with enable_grad():
            x = box(level, primals[0]).requires_grad_()
            result = op(x, *primals[1:])
            (weights,) = backward(result, [x], ones_like(result), create_graph=True)
            weights = value_at(weights, level)
    finally:
        leave_level(level)
    change = tangents[0] * weights.conj() if weights.is_complex() else tangents[0] * weights
    if not out.is_complex() and change.is_complex():
        change = change.real
    dim = argument(op, primals, "dim")
    if dim is None or dim == [] or dim == ():
        dim = list(range(primals[0].ndim))
    return change.sum(dim, argument(op, primals, "keepdim", False))


for _name in ("amax", "amin", "max", "min", "median", "nanmedian"):
    pushing.give(_name, by_slices)
for _name in ("norm", "prod", "var", "std"):
    pushing.give(_name, by_slices)


# ---------------------------------------------------------------- exponentials, and rows that are normalized
@pushing("logsumexp")
def logsumexp(op, primals, tangents, out):
    """sum(t exp(x - out)); a row of -inf alone has only zeros to add."""
    x, dim, keepdim = primals
    if not keepdim and x.ndim:
        dims = (dim,) if isinstance(dim, int) else dim or range(x.ndim)
        for i in sorted([i % x.ndim for i in dims]):
            out = out.unsqueeze(i)
    weights = (x - out.masked_fill(out == -float("inf"), 0)).exp()
    return (tangents[0] * weights).sum(dim, keepdim)


@pushing("layer_norm")
def layer_norm(op, primals, tangents, out):
    """By x a row has a symmetric matrix of derivatives, so it's that of backward; in weight and bias it's linear."""
    x, shape, weight, _, eps = primals
    total = None
    if tangents[0] is not None:
        backward_op = REGISTRY["layer_norm_backward"]
        total = backward_op(tangents[0], x, shape, None, eps, *out[1:])
        total = total if weight is None else total * weight
    if tangents[2] is not None:
        moved = op(x, shape, tangents[2], tangents[3], eps)[0]
        return moved if total is None else total + moved
    if tangents[3] is not None:
        return tangents[3] if total is None else total + tangents[3]
    return total


@pushing("softmax")
def softmax(op, primals, tangents, out):
    return REGISTRY["softmax_backward"](tangents[0].to(out.dtype), out, primals[1])


@pushing("log_softmax")
def log_softmax(op, primals, tangents, out):
    tangent = tangents[0].to(out.dtype)
    return tangent - (out.exp() * tangent).sum(primals[1], True)


# As in ops/scans.pyx: of longer rows the formula takes logarithms of gradients.
LONGEST_WITH_SHARES = 1024


@pushing("logcumsumexp")
def logcumsumexp(op, primals, tangents, out):
    """sum(t exp(x)) / sum(exp(x)), by logarithms, which may not overflow: of positive and of negative tangents."""
    (x, dim), tangent = primals, tangents[0]
    if x.ndim > 0 and x.shape[dim] <= LONGEST_WITH_SHARES:
        # v -> v J is a sum there, and has derivatives itself.
        return by_two_passes(op, primals, tangents)
    if x.is_complex():
        return (op(x + tangent.log(), dim) - out).exp()
    total = None
    for part in (tangent, -tangent):
        size = part.where(part > 0, ones_like(part)).log()
        size = size.where(part > 0, full_like(size, -float("inf")))
        one = (op(x + size, dim) - out).exp()
        one = one.where(out > -float("inf"), zeros_like(one))
        total = one if total is None else total - one
    return total
