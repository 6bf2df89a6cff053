"""The sequences of nested tensors side by side in a padded dense tensor, and the operands that fit them."""

from tensorlab._tensor import Tensor
from tensorlab.nested.tensors import NestedTensor
from tensorlab.ops.ranges import arange


# ---------------------------------------------------------------- padded, and back
def places(x, width):
    """Where each row of a packed nested tensor stands in a padded one of that width, whose first
    two dimensions are one.
    """
    batch = x.batch_index()
    within = arange(batch.numel(), device=batch.device) - x._offsets[:-1][batch]
    return batch * width + within


def padded(x, padding, width=None):
    """A dense tensor of size (B, width, ...) with the sequences, each filled up."""
    x = x.packed()
    width = x.longest() if width is None else width
    r = x._ragged_idx
    rows = x._values.movedim(r - 1, 0)
    count = len(x)
    out = rows.new_full((count * width, *rows.shape[1:]), padding)
    out = out.index_copy(0, places(x, width), rows)
    return out.view(count, width, *rows.shape[1:]).movedim(1, r)


def from_padded(dense, x, ragged_idx=None):
    """The sequences of a nested tensor out of a padded dense one."""
    x = x.packed()
    r = x._ragged_idx if ragged_idx is None else ragged_idx
    rows = dense.movedim(r, 1)
    rows = rows.flatten(0, 1)[places(x, rows.shape[1])]
    return x.with_values(rows.movedim(0, r - 1), r)


# ---------------------------------------------------------------- operands
def first_nested(args, kwargs):
    """The first nested tensor among arguments."""
    for one in (*args, *kwargs.values()):
        if isinstance(one, NestedTensor):
            return one
    raise TypeError("a nested tensor is needed")


def same_sequences(x, y):
    """Whether two nested tensors have sequences of the same lengths in the same place."""
    if x is y or x._ragged_size is y._ragged_size:
        return x._ragged_idx == y._ragged_idx
    mine, others = x.sequence_lengths(), y.sequence_lengths()
    same = mine.shape == others.shape and bool((mine == others).all())
    return same and x._ragged_idx == y._ragged_idx


def operand(where, one, x):
    """An operand as the values of `x` can be combined with it."""
    if isinstance(one, NestedTensor):
        if not same_sequences(x, one):
            raise RuntimeError(
                f"cannot call {where} with nested tensors of shapes {tuple(x.shape)} and "
                f"{tuple(one.shape)}, whose sequences have lengths {x.sequence_lengths().tolist()} "
                f"and {one.sequence_lengths().tolist()}; expected the same"
            )
        return one._values if x._lengths is None else one.packed()._values
    if not isinstance(one, Tensor) or one.dim() < x.dim() - x._ragged_idx:
        return one
    return along_sequences(where, one, x)


def along_sequences(where, dense, x):
    """A dense operand that has one row for each sequence, or one for all of them."""
    r = x._ragged_idx
    wide = (
        dense.reshape(*[1] * (x.dim() - dense.dim()), *dense.shape)
        if dense.dim() < x.dim()
        else dense
    )
    if wide.dim() != x.dim() or wide.shape[r] != 1 or wide.shape[0] not in (1, len(x)):
        raise RuntimeError(
            f"cannot call {where} with a nested tensor of shape {tuple(x.shape)} and a dense one of "
            f"shape {tuple(dense.shape)}: its size in the ragged dimension must be 1, and in the "
            f"first 1 or {len(x)}"
        )
    if wide.shape[0] == 1:
        return wide.squeeze(0)
    return wide.squeeze(r)[x.batch_index()].movedim(0, r - 1)


# ---------------------------------------------------------------- dimensions
def check_inner(where, x, dim):
    """The dimension of the values that an inner dimension of a nested tensor is."""
    dim = x.dimension(dim)
    if dim in (0, x._ragged_idx):
        raise RuntimeError(
            f"{where}: not supported on the {'batch' if dim == 0 else 'ragged'} dimension {dim} of a "
            f"nested tensor of shape {tuple(x.shape)}"
        )
    return dim - 1
