"""Sums over dimensions of tensors of layout sparse_coo. Below autograd."""

from tensorlab.sparse import forms
from tensorlab.sparse.tensors import SparseCooTensor


def wrapped_dims(x, dim):
    """Dimensions as numbers from 0, without repetition; all of them for None."""
    if dim is None:
        return list(range(x.dim()))
    given = [dim] if isinstance(dim, int) else list(dim)
    for one in given:
        if not -x.dim() <= one < x.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-x.dim()}, {x.dim() - 1}], "
                f"but got {one})"
            )
    return sorted({one % x.dim() for one in given}) or list(range(x.dim()))


def sum_coo(x, dims, keepdim, dtype):
    """The sum over some dimensions of a tensor of layout sparse_coo."""
    n = x.sparse_dim()
    values = x._parts.values
    dense_dims = [d - n + 1 for d in dims if d >= n]
    left = [d for d in range(n) if d not in dims]
    if dtype is not None:
        values = values.to(dtype)
    if dense_dims:
        values = values.sum(dense_dims, keepdim=keepdim)
    size = [1 if d in dims else s for d, s in enumerate(x.shape) if keepdim or d not in dims]
    if not left:
        total = values.sum(0)
        return total.view(size) if keepdim else total
    if not (values.dtype.is_floating_point or values.dtype.is_complex):
        values = values.to(forms.int64)
    indices = x._parts.indices
    if keepdim:
        indices = indices.clone()
        for d in dims:
            if d < n:
                indices[d] = 0
    else:
        indices = indices[left]
    made = SparseCooTensor(indices, values, size)
    return forms.coalesced(made)
