"""Rules of matrix products."""

from tensorlab._core.device import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from tensorlab._core.dtypes import BY_NAME
from tensorlab.errors import ShapeError
from tensorlab.ops.creation import zeros
from tensorlab.ops.joining import stack
from tensorlab.ops.ranges import arange
from tensorlab.ops.sparse.products import (
    can_multiply,
    group_by,
    products_of_rows,
    rows_times_dense,
    rows_times_rows,
)
from tensorlab.sparse import forms
from tensorlab.sparse.tensors import (
    BLOCKED,
    SparseCompressedTensor,
    SparseCooTensor,
    SparseTensor,
    rule,
)

# the layout of the transpose, which has the same indices
OF_TRANSPOSE = {
    sparse_csr: sparse_csc,
    sparse_csc: sparse_csr,
    sparse_bsr: sparse_bsc,
    sparse_bsc: sparse_bsr,
}


def check_matrices(where, x, y):
    """Raise unless two tensors are matrices that can be multiplied."""
    if x.dim() != 2 or y.dim() != 2:
        raise ShapeError(
            f"{where}: two matrices are needed, not tensors of {x.dim()} and {y.dim()} dimensions"
        )
    if x.shape[1] != y.shape[0]:
        raise ShapeError(
            f"{where}: mat1 and mat2 shapes cannot be multiplied ({x.shape[0]}x{x.shape[1]} and "
            f"{y.shape[0]}x{y.shape[1]}): the inner sizes differ"
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"{where}: expected both matrices to have the same dtype, but got {x.dtype} and "
            f"{y.dtype}; convert one with .to(...)"
        )


def check_no_dense_dims(x):
    """Raise for a matrix one of whose dims is dense."""
    if x.dense_dim():
        raise RuntimeError(
            f"mm: a matrix with two sparse dims is needed, not one with {x.sparse_dim()} sparse "
            f"and {x.dense_dim()} dense dims"
        )


def as_rows(x):
    """A sparse matrix in layout sparse_csr, but that the columns of a row need not rise, and one may
    come several times.
    """
    if x.layout == sparse_csr:
        return x
    held = forms.as_coo(x)._parts
    rows, columns = held.indices
    starts, order = group_by(rows, x.shape[0])
    values = held.values
    if order is not None:
        columns, values = columns[order], values[order]
    return SparseCompressedTensor(sparse_csr, starts, columns, values, tuple(x.shape))


# ---------------------------------------------------------------- sparse and dense
def times_dense(x, dense):
    """A sparse matrix times a dense one."""
    check_matrices("mm", x, dense)
    check_no_dense_dims(x)
    held = as_rows(x)._parts
    if can_multiply(held.values) and dense.dtype == held.values.dtype:
        return rows_times_dense(held.compressed, held.plain, held.values, dense)
    rows = forms.compressed_axis(held.compressed.to(BY_NAME["int64"]), x.shape[0])
    products = held.values.unsqueeze(1) * dense[held.plain]
    out = zeros(x.shape[0], dense.shape[1], dtype=products.dtype)
    return out.index_add_(0, rows, products)


def product(x, y):
    """A product of two matrices, of which at least one is sparse."""
    if not isinstance(y, SparseTensor):
        return times_dense(x, y)
    if not isinstance(x, SparseTensor):
        check_matrices("mm", x, y)
        return times_dense(transposed(y), x.t()).t()
    return times_sparse(x, y)


def transposed(x):
    """The transpose of a sparse matrix, which has the same elements in memory."""
    if x.is_sparse:
        held = x._parts
        return SparseCooTensor(held.indices.flip(0), held.values, (x.shape[1], x.shape[0]))
    held, size = x._parts, (x.shape[1], x.shape[0])
    values = held.values.transpose(1, 2) if x.layout in BLOCKED else held.values
    layout = OF_TRANSPOSE[x.layout]
    return SparseCompressedTensor(layout, held.compressed, held.plain, values, size)


def times_sparse(x, y):
    """The product of two sparse matrices, in the layout of the first. It holds an element wherever
    two held ones meet, also if their products add up to 0.
    """
    check_matrices("mm", x, y)
    check_no_dense_dims(x)
    check_no_dense_dims(y)
    first, second = as_rows(x)._parts, as_rows(y)._parts
    size = (x.shape[0], y.shape[1])
    if can_multiply(first.values):
        parts = rows_times_rows(*parts_of(first), *parts_of(second), size[1])
        made = SparseCompressedTensor(sparse_csr, *parts, size)
        return made if x.layout == sparse_csr else forms.like(forms.as_coo(made), x)
    starts, inner = second.compressed.to(forms.int64), first.plain.to(forms.int64)
    rows = forms.compressed_axis(first.compressed.to(forms.int64), x.shape[0])
    # each element of x meets those of a row of y
    counts = (starts[1:] - starts[:-1])[inner]
    of_x = arange(inner.numel()).repeat_interleave(counts)
    within = arange(of_x.numel()) - (counts.cumsum(0) - counts)[of_x]
    of_y = starts[:-1][inner][of_x] + within
    made = SparseCooTensor(
        stack([rows[of_x], second.plain.to(forms.int64)[of_y]]),
        first.values[of_x] * second.values[of_y],
        size,
    )
    return forms.like(forms.coalesced(made), x)


def parts_of(held):
    """What a compressed tensor holds, as the kernels take it."""
    return held.compressed, held.plain, held.values


def sampled(pattern, first, second):
    """The elements of first @ second where a sparse matrix holds some, shaped as its values."""
    coo = forms.as_coo(pattern)
    rows, columns = coo._parts.indices
    if can_multiply(first) and second.dtype == first.dtype:
        values = products_of_rows(rows, columns, first, second.t())
        return values.reshape(pattern._parts.values.shape)
    values = (first[rows] * second.t()[columns]).sum(-1)
    return values.reshape(pattern._parts.values.shape)


@rule("mm", "matmul")
def mm(func, x, y):
    """A product of two matrices."""
    if x.dim() == 3 and y.dim() == 3:
        return bmm(func, x, y)
    return product(x, y)


@rule("mv")
def mv(func, x, vector):
    """A sparse matrix times a vector."""
    return times_dense(x, vector.unsqueeze(1)).squeeze(1)


@rule("vm")
def vm(func, vector, x):
    """A vector times a sparse matrix."""
    return times_dense(transposed(x), vector.unsqueeze(1)).squeeze(1)


@rule("addmm")
def addmm(func, x, first, second, *, beta=1, alpha=1):
    """beta * x + alpha * (first @ second)."""
    result = product(first, second)
    if alpha != 1:
        result = result * alpha
    if beta == 0:
        return result
    if isinstance(x, SparseTensor):
        if not isinstance(result, SparseTensor):
            return forms.add_to_dense(result.contiguous(), forms.as_coo(x.alias()), beta)
        return result + (x.alias() * beta)
    return result + (x if beta == 1 else x * beta)


@rule("linear")
def linear(func, x, weight, bias=None):
    """x @ weight.T + bias, with a sparse weight or a sparse input."""
    if isinstance(weight, SparseTensor) and not isinstance(x, SparseTensor):
        rows = x.reshape(-1, x.shape[-1])
        result = times_dense(weight, rows.t()).t().reshape(*x.shape[:-1], weight.shape[0])
    else:
        result = product(x, transposed(weight) if isinstance(weight, SparseTensor) else weight.t())
    return result if bias is None else result + bias


@rule("bmm")
def bmm(func, x, y):
    """Products of a batch of sparse matrices and a batch of dense ones."""
    if not isinstance(x, SparseTensor) or isinstance(y, SparseTensor):
        raise NotImplementedError(
            "bmm: the first batch must be sparse, and the second dense; use to_dense()"
        )
    if x.dim() != 3 or x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        raise ShapeError(
            f"bmm: batches of shapes {tuple(x.shape)} and {tuple(y.shape)} cannot be multiplied"
        )
    held = forms.as_coo(x.alias())._parts
    batch, row, column = held.indices
    b, n, m = x.shape
    indices = stack([batch * n + row, batch * m + column])
    wide = SparseCooTensor(indices, held.values, (b * n, b * m), held.is_coalesced)
    return times_dense(wide, y.reshape(b * m, y.shape[2])).view(b, n, y.shape[2])
