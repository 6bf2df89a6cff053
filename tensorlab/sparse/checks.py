"""What must hold of indices and values, and who asks for it to be checked."""

import functools

from tensorlab.errors import ShapeError
from tensorlab.sparse.tensors import BLOCKED, COMPRESSED_DIM


class check_sparse_tensor_invariants:
    """A block, or a decorator, in which each sparse tensor that is made is checked.

    Parameters
    ----------
    enable : bool, whether it is

    Examples
    --------
    >>> import tensorlab
    >>> with tensorlab.sparse.check_sparse_tensor_invariants():
    ...     tensorlab.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    state: bool | None = False

    def __init__(self, enable=True):
        self.wanted, self.saved = enable, []

    @staticmethod
    def is_enabled():
        """Whether tensors are checked now."""
        return check_sparse_tensor_invariants.state

    @staticmethod
    def enable():
        """Check from now on; it costs a pass over the indices of each new tensor."""
        check_sparse_tensor_invariants.state = True

    @staticmethod
    def disable():
        """Check no more."""
        check_sparse_tensor_invariants.state = False

    def __enter__(self):
        self.saved.append(check_sparse_tensor_invariants.state)
        check_sparse_tensor_invariants.state = self.wanted

    def __exit__(self, *exception):
        check_sparse_tensor_invariants.state = self.saved.pop()

    def __call__(self, function):
        @functools.wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self.wanted):
                return function(*args, **kwargs)

        return checked


# ---------------------------------------------------------------- sparse_coo
def check_coo(where, indices, values, size):
    """Raise unless indices and values make a tensor of that size; each index is looked at."""
    if indices.dim() != 2:
        raise ShapeError(
            f"{where}: indices must be sparse_dim x nnz, a matrix, but got shape {tuple(indices.shape)}"
        )
    if values.dim() == 0 or values.shape[0] != indices.shape[1]:
        raise ShapeError(
            f"{where}: dimensions of indices and values are inconsistent: there are "
            f"{indices.shape[1]} indices, and values have shape {tuple(values.shape)}; expected "
            f"({indices.shape[1]}, ...)"
        )
    if size is None:
        return
    dims = indices.shape[0] + values.dim() - 1
    if dims != len(size):
        raise ShapeError(
            f"{where}: number of dimensions must be sparse_dim ({indices.shape[0]}) + dense_dim "
            f"({values.dim() - 1}), but got {len(size)}: size {tuple(size)}"
        )
    dense = tuple(size[indices.shape[0] :])
    if tuple(values.shape[1:]) != dense:
        raise ShapeError(
            f"{where}: values has incorrect size, expected {(values.shape[0], *dense)}, got "
            f"{tuple(values.shape)}"
        )
    for dim, (row, length) in enumerate(zip(indices, size, strict=False)):
        check_range(where, f"dim {dim}", row, length)


def check_range(where, what, indices, length):
    """Raise for an index that is negative, or too large; it says which."""
    if indices.numel() == 0:
        return
    low, high = int(indices.min()), int(indices.max())
    if low < 0:
        at = int((indices < 0).nonzero()[0, -1])
        raise RuntimeError(
            f"{where}: found negative index {int(indices.flatten()[at])} for {what}, at position {at}; "
            f"indices count from 0"
        )
    if high >= length:
        at = int((indices >= length).nonzero()[0, -1])
        raise RuntimeError(
            f"{where}: size is inconsistent with indices: for {what}, size is {length} but found "
            f"index {high}, first at position {at}; leave size= out to take it from the indices"
        )


# ---------------------------------------------------------------- compressed layouts
def check_shapes(where, layout, compressed, plain, values, size):
    """Raise unless the parts of a compressed tensor go together by their shapes."""
    batch = compressed.dim() - 1
    blocks = 2 if layout in BLOCKED else 0
    if compressed.dim() < 1 or plain.dim() != compressed.dim():
        raise ShapeError(
            f"{where}: compressed_indices and plain_indices must have the same dimensions, one "
            f"more than the batch; they have {compressed.dim()} and {plain.dim()}"
        )
    if values.dim() < batch + 1 + blocks:
        raise ShapeError(
            f"{where}: values must have at least {batch + 1 + blocks} dimensions, but have "
            f"{values.dim()}"
        )
    for name, one in (("plain_indices", plain), ("values", values)):
        if one.shape[:batch] != compressed.shape[:batch]:
            raise ShapeError(
                f"{where}: all batch dimensions must agree, but those of compressed_indices are "
                f"{tuple(compressed.shape[:batch])}, and {name} have shape {tuple(one.shape)}"
            )
    if values.shape[batch] != plain.shape[batch]:
        raise ShapeError(
            f"{where}: plain_indices have {plain.shape[batch]} elements, and values "
            f"{values.shape[batch]}; expected the same number"
        )
    if compressed.dtype != plain.dtype or str(compressed.dtype).rpartition(".")[2] not in (
        "int32",
        "int64",
    ):
        raise RuntimeError(
            f"{where}: compressed_indices and plain_indices must both be int32 or both int64, but "
            f"are {compressed.dtype} and {plain.dtype}"
        )
    if size is None:
        return
    dense = values.dim() - batch - 1 - blocks
    if len(size) != batch + 2 + dense:
        raise ShapeError(
            f"{where}: the size {tuple(size)} has {len(size)} dimensions; expected {batch} of the "
            f"batch, 2 of the matrix and {dense} dense ones"
        )
    if tuple(size[:batch]) != tuple(compressed.shape[:batch]):
        raise ShapeError(
            f"{where}: the batch of size {tuple(size)} differs from that of the indices, "
            f"{tuple(compressed.shape[:batch])}"
        )
    block = tuple(values.shape[batch + 1 : batch + 3]) if blocks else (1, 1)
    matrix = size[batch : batch + 2]
    if any(length % one if one else length for length, one in zip(matrix, block, strict=True)):
        raise ShapeError(f"{where}: the matrix {tuple(matrix)} is not made of blocks {block}")
    if tuple(values.shape[batch + 1 + blocks :]) != tuple(size[batch + 2 :]):
        raise ShapeError(
            f"{where}: values have dense dimensions {tuple(values.shape[batch + 1 + blocks :])}, and "
            f"the size has {tuple(size[batch + 2 :])}"
        )
    dim = COMPRESSED_DIM[layout]
    expected = matrix[dim] // max(block[dim], 1) + 1
    if compressed.shape[-1] != expected:
        raise ShapeError(
            f"{where}: compressed_indices must have {expected} elements, one more than there are "
            f"{('rows', 'columns')[dim]}{' of blocks' if blocks else ''}, but have {compressed.shape[-1]}"
        )


def check_compressed(where, layout, compressed, plain, values, size):
    """Raise unless the indices of a compressed tensor are what they must be; each is looked at."""
    batch = compressed.dim() - 1
    block = values.shape[batch + 1 : batch + 3] if layout in BLOCKED else (1, 1)
    dim = COMPRESSED_DIM[layout]
    length = size[batch + 1 - dim] // max(block[1 - dim], 1)
    nnz = plain.shape[-1]
    axis = ("row", "column")[dim]
    for number, (starts, inner) in enumerate(
        zip(
            compressed.reshape(-1, compressed.shape[-1]),
            plain.reshape(-1, nnz)
            if nnz
            else [plain.reshape(-1)] * max(compressed[..., 0].numel(), 1),
            strict=True,
        )
    ):
        of = f" of matrix {number}" if batch else ""
        if int(starts[0]) != 0:
            raise RuntimeError(
                f"{where}: compressed_indices{of} must begin with 0, not {int(starts[0])}"
            )
        if int(starts[-1]) != nnz:
            raise RuntimeError(
                f"{where}: compressed_indices{of} must end with nnz = {nnz}, not {int(starts[-1])}"
            )
        steps = starts[1:] - starts[:-1]
        if bool((steps < 0).any()):
            at = int((steps < 0).nonzero()[0, 0])
            raise RuntimeError(
                f"{where}: compressed_indices{of} must not fall, but do after position {at}: "
                f"{int(starts[at])}, {int(starts[at + 1])}"
            )
        check_range(where, f"the plain indices{of}", inner, length)
        rows = starts.new_tensor(range(steps.numel())).repeat_interleave(steps)
        falls = (inner[1:] <= inner[:-1]) & (rows[1:] == rows[:-1])
        if bool(falls.any()):
            at = int(falls.nonzero()[0, 0])
            raise RuntimeError(
                f"{where}: plain_indices{of} must be sorted and distinct along each {axis}, but "
                f"{int(inner[at])} is followed by {int(inner[at + 1])} in {axis} {int(rows[at])}"
            )
