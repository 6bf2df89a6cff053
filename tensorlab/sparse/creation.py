"""Functions that make sparse tensors of indices and values."""

from tensorlab._core.device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from tensorlab._core.dtypes import BY_NAME
from tensorlab._core.interop.exchange import as_tensor
from tensorlab._core.tensor import TensorBase
from tensorlab.errors import ShapeError
from tensorlab.ops.creation import empty, zeros
from tensorlab.ops.joining import stack
from tensorlab.ops.ranges import arange
from tensorlab.sparse import checks
from tensorlab.sparse.autograd import MakeCompressed, MakeCoo
from tensorlab.sparse.forms import flat_indices
from tensorlab.sparse.tensors import BLOCKED, COMPRESSED_DIM

int64 = BY_NAME["int64"]


def as_index(given, where, name):
    """Indices as an integer tensor."""
    made = as_tensor(given)
    if made.numel() == 0 and not isinstance(given, TensorBase):
        made = made.to(int64)
    if made.dtype.is_floating_point or str(made.dtype).endswith("bool"):
        raise RuntimeError(f"{where}: {name} must be integers, but are {made.dtype}")
    return made


def finished(made, requires_grad, values):
    """A new tensor, which is a leaf if a gradient is wanted and its values have none."""
    return made.requires_grad_() if requires_grad and not values.requires_grad else made


def wants_check(check_invariants):
    """Whether a tensor is to be checked: as the caller says, or else as the block says."""
    return (
        checks.check_sparse_tensor_invariants.state
        if check_invariants is None
        else check_invariants
    )


def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """Make a tensor of layout sparse_coo: values, and the index of each.

    Parameters
    ----------
    indices : Tensor of int64 or nested sequence, shape (sparse_dim, nnz). The same index may
        stand there several times; its values are meant to be added up, see `coalesce`
    values : Tensor or nested sequence, shape (nnz, *sizes of the dense dims); gradients flow
        back to it
    size : sequence of int; as large as the indices need unless given
    dtype, device : of the values
    requires_grad : bool; the tensor is a leaf of which a gradient is wanted
    check_invariants : bool; whether `is_coalesced` is checked as well
    is_coalesced : bool; whether the indices rise and each stands there once

    Raises
    ------
    RuntimeError
        If an index is negative or too large, or the shapes do not go together.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    tensor(indices=tensor([[0, 1],
                           [2, 0]]),
           values=tensor([3., 4.]),
           size=(2, 3), nnz=2, layout=tensorlab.sparse_coo)
    """
    where = "sparse_coo_tensor"
    if values is None:
        size = tuple(indices if size is None else size)
        indices, values = empty(len(size), 0, dtype=int64), zeros(0, dtype=dtype)
        is_coalesced = True
    indices = as_index(indices, where, "indices").to(int64)
    values = as_tensor(values, dtype=dtype, device=device)
    if values.dim() == 0 and indices.dim() == 2:
        values = values.expand(1)  # of one element, as in PyTorch
    if size is None:
        checks.check_coo(where, indices, values, None)
        if indices.shape[1] == 0:
            size = (*[0] * indices.shape[0], *values.shape[1:])
        else:
            for dim, row in enumerate(indices):
                checks.check_range(where, f"dim {dim}", row, int(row.max()) + 1)
            size = (*[int(row.max()) + 1 for row in indices], *values.shape[1:])
    size = tuple(int(one) for one in size)
    if any(one < 0 for one in size):
        raise ShapeError(f"{where}: the size {size} has a negative number in it")
    checks.check_coo(where, indices, values, size)
    if is_coalesced and wants_check(check_invariants):
        check_order(where, indices, size)
    made = MakeCoo.apply(indices, values, size, bool(is_coalesced))
    return finished(made, requires_grad, values)


def check_order(where, indices, size):
    """Raise unless indices rise."""
    if indices.shape[0] == 0 or indices.shape[1] < 2:
        return
    flat = flat_indices(indices, size[: indices.shape[0]])
    falls = flat[1:] <= flat[:-1]
    if bool(falls.any()):
        at = int(falls.nonzero()[0, 0])
        raise RuntimeError(
            f"{where}: cannot set is_coalesced to true if indices correspond to uncoalesced COO "
            f"tensor: index {indices[:, at].tolist()} is followed by {indices[:, at + 1].tolist()}"
        )


def sparse_compressed_tensor(
    compressed_indices,
    plain_indices,
    values,
    size=None,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """Make a tensor of layout sparse_csr, sparse_csc, sparse_bsr or sparse_bsc.

    Parameters
    ----------
    compressed_indices : Tensor of int64 or int32, shape (*batch, rows + 1): where each row
        (column, for csc and bsc) begins among the elements
    plain_indices : Tensor of the same type, shape (*batch, nnz): the column (row) of each
    values : Tensor, shape (*batch, nnz, *dense), or (*batch, nnz, *block, *dense) for bsr and bsc
    size : sequence of int; as large as the indices need unless given
    layout : layout
    dtype, device, requires_grad : as in `sparse_coo_tensor`
    check_invariants : bool; whether each index is looked at. Unless given, only if
        `sparse.check_sparse_tensor_invariants` is on

    Raises
    ------
    RuntimeError
        If the parts do not go together.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.sparse_compressed_tensor(
    ...     [0, 1, 2], [2, 0], [3.0, 4.0], (2, 3), layout=tensorlab.sparse_csr
    ... )
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if layout not in COMPRESSED_DIM:
        raise RuntimeError(
            f"sparse_compressed_tensor: layout must be sparse_csr, sparse_csc, sparse_bsr or "
            f"sparse_bsc, not {layout}"
        )
    where = f"{str(layout).rpartition('.')[2]}_tensor"
    compressed = as_index(compressed_indices, where, "compressed_indices")
    plain = as_index(plain_indices, where, "plain_indices")
    values = as_tensor(values, dtype=dtype, device=device)
    checks.check_shapes(where, layout, compressed, plain, values, None)
    if size is None:
        size = needed_size(layout, compressed, plain, values)
    size = tuple(int(one) for one in size)
    checks.check_shapes(where, layout, compressed, plain, values, size)
    if wants_check(check_invariants):
        checks.check_compressed(where, layout, compressed, plain, values, size)
    made = MakeCompressed.apply(layout, compressed, plain, values, size)
    return finished(made, requires_grad, values)


def needed_size(layout, compressed, plain, values):
    """The size that the indices need."""
    batch = compressed.dim() - 1
    blocks = 2 if layout in BLOCKED else 0
    block = values.shape[batch + 1 : batch + 1 + blocks] if blocks else (1, 1)
    matrix = [compressed.shape[-1] - 1, int(plain.max()) + 1 if plain.numel() else 0]
    if COMPRESSED_DIM[layout] == 1:
        matrix.reverse()
    matrix = [length * one for length, one in zip(matrix, block, strict=True)]
    return (*compressed.shape[:batch], *matrix, *values.shape[batch + 1 + blocks :])


def sparse_csr_tensor(
    crow_indices,
    col_indices,
    values,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """Make a tensor of layout sparse_csr: where each row begins, and the column of each element.

    The parameters are those of `sparse_compressed_tensor`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.sparse_csr_tensor([0, 1, 2], [2, 0], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    return sparse_compressed_tensor(
        crow_indices,
        col_indices,
        values,
        size,
        layout=sparse_csr,
        dtype=dtype,
        device=device,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


def sparse_csc_tensor(
    ccol_indices,
    row_indices,
    values,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """Make a tensor of layout sparse_csc: where each column begins, and the row of each element.

    The parameters are those of `sparse_compressed_tensor`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.sparse_csc_tensor([0, 1, 1, 2], [1, 0], [4.0, 3.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    return sparse_compressed_tensor(
        ccol_indices,
        row_indices,
        values,
        size,
        layout=sparse_csc,
        dtype=dtype,
        device=device,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


def sparse_bsr_tensor(
    crow_indices,
    col_indices,
    values,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """Make a tensor of layout sparse_bsr: as sparse_csr, but each value is a block.

    The parameters are those of `sparse_compressed_tensor`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0], [3.0, 4.0]]], (2, 4)).to_dense()
    tensor([[0., 0., 1., 2.],
            [0., 0., 3., 4.]])
    """
    return sparse_compressed_tensor(
        crow_indices,
        col_indices,
        values,
        size,
        layout=sparse_bsr,
        dtype=dtype,
        device=device,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


def sparse_bsc_tensor(
    ccol_indices,
    row_indices,
    values,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """Make a tensor of layout sparse_bsc: as sparse_csc, but each value is a block.

    The parameters are those of `sparse_compressed_tensor`.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.sparse_bsc_tensor([0, 0, 1], [0], [[[1.0, 2.0], [3.0, 4.0]]], (2, 4)).to_dense()
    tensor([[0., 0., 1., 2.],
            [0., 0., 3., 4.]])
    """
    return sparse_compressed_tensor(
        ccol_indices,
        row_indices,
        values,
        size,
        layout=sparse_bsc,
        dtype=dtype,
        device=device,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


def spdiags(diagonals, offsets, shape, layout=None):
    """Make a sparse matrix with the rows of a matrix on its diagonals.

    Parameters
    ----------
    diagonals : Tensor, shape (diagonals, n): element j of a row goes to column j
    offsets : Tensor of int64, shape (diagonals,): which diagonals, 0 the main one, each once
    shape : pair of int
    layout : layout of the result: sparse_coo (default), sparse_csc or sparse_csr

    Raises
    ------
    RuntimeError
        If the arguments do not go together.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.sparse.spdiags(
    ...     tensorlab.tensor([[1.0, 2.0, 3.0]]), tensorlab.tensor([-1]), (3, 3)
    ... ).to_dense()
    tensor([[0., 0., 0.],
            [1., 0., 0.],
            [0., 2., 0.]])
    """
    where = "spdiags"
    diagonals = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    offsets = offsets.reshape(1) if offsets.dim() == 0 else offsets
    if diagonals.dim() != 2 or offsets.dim() != 1 or diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            f"{where}: number of diagonals (shape {tuple(diagonals.shape)}) does not match the "
            f"number of offsets (shape {tuple(offsets.shape)})"
        )
    if len(shape) != 2:
        raise RuntimeError(f"{where}: output shape must be 2d, but got {tuple(shape)}")
    if offsets.unique().numel() != offsets.numel():
        raise RuntimeError(f"{where}: offset tensor contains duplicate values: {offsets.tolist()}")
    if offsets.dtype != int64:
        raise RuntimeError(f"{where}: offset tensor must have dtype int64, not {offsets.dtype}")
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(
            f"{where}: only output layouts sparse_coo, sparse_csc and sparse_csr are supported, got {layout}"
        )
    columns = arange(diagonals.shape[1]).expand(diagonals.shape)
    rows = columns - offsets.unsqueeze(1)
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    indices = stack([rows[inside], columns[inside]])
    made = sparse_coo_tensor(indices, diagonals[inside], shape)
    return made if layout in (None, sparse_coo) else made.to_sparse(layout=layout)
