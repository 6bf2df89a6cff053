"""Gradients of tables of rows that hold only the rows that were used."""

from tensorlab._core.dtypes import BY_NAME
from tensorlab.autograd.function import Function
from tensorlab.sparse.autograd import MakeCoo


class SparseGradient(Function):
    """Hand on what was computed from rows of a table; backward gives the table a sparse gradient."""

    @staticmethod
    def forward(ctx, table, out, indices, padding_idx, rows_of):
        ctx.size = tuple(table.shape)
        ctx.indices, ctx.padding_idx, ctx.rows_of = indices, padding_idx, rows_of
        return out.view_as(out)

    @staticmethod
    def backward(ctx, grad):
        rows = ctx.rows_of(grad).reshape(-1, *ctx.size[1:])
        indices = ctx.indices.reshape(-1).to(BY_NAME["int64"])
        if ctx.padding_idx >= 0:
            used = (indices != ctx.padding_idx).nonzero().flatten()
            indices, rows = indices[used], rows[used]
        of_table = MakeCoo.apply(indices.unsqueeze(0), rows, ctx.size, False)
        return of_table, grad, None, None, None


def attach_gradient(table, out, indices, padding_idx, rows_of):
    """See `ops.sparse.methods.with_sparse_gradient`."""
    return SparseGradient.apply(table, out, indices, padding_idx, rows_of)
