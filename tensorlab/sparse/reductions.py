"""Rules of sums, and softmax over what is held."""

from tensorlab.autograd.function import Function
from tensorlab.ops.creation import full
from tensorlab.sparse import forms
from tensorlab.sparse.autograd import values_of_gradient
from tensorlab.sparse.sums import sum_coo, wrapped_dims
from tensorlab.sparse.tensors import rule


@rule("sum")
def total(func, x, dim=None, keepdim=False, *, dtype=None):
    """A sum: dense if no sparse dimension is left, else of layout sparse_coo."""
    dims = wrapped_dims(x, dim)
    coo = forms.as_coo(x.alias())
    result = sum_coo(coo, dims, keepdim, dtype)
    if keepdim and not x.is_sparse:
        result = result if len(dims) < x.dim() else forms.dense_to_coo(result)
        return forms.like(result, x)
    return result


@rule("any")
def any_rule(func, x, dim=None, keepdim=False):
    """Whether an element is not 0."""
    if dim is not None and len(wrapped_dims(x, dim)) < x.dim():
        raise NotImplementedError("any: over all dimensions only; use to_dense() for some")
    return (x._parts.values != 0).any()


@rule("norm")
def norm(func, x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of all elements: what isn't held adds nothing."""
    if dim is not None and len(wrapped_dims(x, dim)) < x.dim():
        raise RuntimeError(
            "norm: the norm of a sparse tensor is over all dimensions; use to_dense()"
        )
    values = forms.coalesced(x)._parts.values if x.is_sparse else x._parts.values
    if not ord > 0:
        raise RuntimeError(f"norm: of order {ord}, what isn't held counts too; use to_dense()")
    return func(values.flatten(), ord, dtype=dtype)


# ---------------------------------------------------------------- softmax
class Softmax(Function):
    """softmax, or its logarithm, over the held elements of one dimension, as if what isn't held
    were -inf.
    """

    @staticmethod
    def forward(ctx, x, dim, is_log):
        if not x.is_sparse:
            raise NotImplementedError(
                f"softmax: a tensor of layout tensorlab.sparse_coo is needed, not {x.layout}; use to_sparse()"
            )
        coo = forms.coalesced(x)
        ctx.dim, ctx.is_log = dim % x.dim(), is_log
        ctx.groups = groups_of(coo, ctx.dim)
        values = softmax_values(coo._parts.values, ctx.groups, is_log)
        out = coo.with_values(values)
        ctx.pattern = out
        return out.detach()

    @staticmethod
    def backward(ctx, grad):
        out, out_values = ctx.pattern, ctx.pattern._parts.values
        g = values_of_gradient(grad, out)
        weighted = g if ctx.is_log else g * out_values
        total = spread_sums(weighted, ctx.groups)
        factor = out_values.exp() if ctx.is_log else out_values
        values = g - factor * total if ctx.is_log else factor * (g - total)
        return out.with_values(values), None, None


def groups_of(x, dim):
    """Which held elements belong together: (number of each one's group, how many), or the dim of
    the values.
    """
    n = x.sparse_dim()
    if dim >= n:
        return dim - n + 1, None
    left = [d for d in range(n) if d != dim]
    if not left:
        return x._parts.indices[0] * 0, 1
    sizes = [x.shape[d] for d in left]
    count = 1
    for size in sizes:
        count *= size
    flat = forms.flat_indices(x._parts.indices[left], sizes)
    distinct, group = forms.unique(flat, return_inverse=True)
    return group, distinct.numel()


def softmax_values(values, groups, is_log):
    """softmax of the values in each group."""
    group, count = groups
    if count is None:
        return values.log_softmax(group) if is_log else values.softmax(group)
    if values.shape[0] == 0:
        return values.clone()
    largest = full((count, *values.shape[1:]), float("-inf"), dtype=values.dtype)
    index = group.view(-1, *[1] * (values.dim() - 1)).expand_as(values)
    largest = largest.scatter_reduce(0, index, values, "amax")
    shifted = values - largest[group]
    exponentials = shifted.exp()
    total = spread_sums(exponentials, groups)
    return shifted - total.log() if is_log else exponentials / total


def spread_sums(values, groups):
    """For each element the sum of its group."""
    group, count = groups
    if count is None:
        return values.sum(group, keepdim=True)
    return forms.segment_sums(values, group, count)[group]
