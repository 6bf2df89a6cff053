"""Microbatches: a batch cut into pieces that follow each other through a pipeline."""

from tensorlab import _missing
from tensorlab._pytree import tree_flatten, tree_map, tree_unflatten
from tensorlab._tensor import Tensor
from tensorlab.ops.joining import cat

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """How a tensor is cut: along which dim.

    Parameters
    ----------
    split_dim : int
    """

    def __init__(self, split_dim):
        self.split_dim = split_dim

    def __repr__(self):
        return f"TensorChunkSpec({self.split_dim})"


def split_args_kwargs_into_chunks(
    args, kwargs, chunks, args_chunk_spec=None, kwargs_chunk_spec=None
):
    """Cut the tensors among arguments into microbatches; other arguments go to all of them.

    Parameters
    ----------
    args, kwargs : tuple and dict, arguments with nested lists, tuples and dicts
    chunks : int, how many microbatches
    args_chunk_spec, kwargs_chunk_spec : structures like `args` and `kwargs` of TensorChunkSpec,
        or None: all tensors are cut along their first dim

    Returns
    -------
    list of tuples and list of dicts, one for each microbatch

    Raises
    ------
    ValueError
        If a tensor is too short to be cut into so many.
    """
    kwargs = kwargs or {}
    return (
        [tuple(part) for part in cut(args, chunks, args_chunk_spec)],
        cut(kwargs, chunks, kwargs_chunk_spec),
    )


def cut(values, chunks, spec):
    leaves, structure = tree_flatten(values)
    dims = [0] * len(leaves)
    if spec is not None:
        dims = [getattr(one, "split_dim", None) for one in tree_flatten(spec)[0]]
        if len(dims) != len(leaves):
            raise ValueError(
                f"the chunk spec has {len(dims)} entries, and the arguments {len(leaves)}"
            )
    columns = [cut_one(leaf, dim, chunks) for leaf, dim in zip(leaves, dims, strict=True)]
    return [tree_unflatten([column[i] for column in columns], structure) for i in range(chunks)]


def cut_one(value, dim, chunks):
    if not isinstance(value, Tensor) or dim is None:
        return [value] * chunks
    if value.dim() <= dim or value.shape[dim] < chunks:
        raise ValueError(
            f"a tensor of shape {list(value.shape)} can't be cut into {chunks} microbatches "
            f"along dim {dim}; give a larger batch, or fewer microbatches"
        )
    return list(value.tensor_split(chunks, dim))


def merge_chunks(chunks, chunk_spec=None):
    """Join the outputs of microbatches.

    Parameters
    ----------
    chunks : list of outputs, with nested lists, tuples and dicts
    chunk_spec : structure of TensorChunkSpec like an output's, or None: tensors are joined
        along their first dim

    Returns
    -------
    one output, in which tensors are joined; other values are the first microbatch's
    """
    rows = [tree_flatten(chunk)[0] for chunk in chunks]
    structure = tree_flatten(chunks[0])[1]
    dims = [0] * len(rows[0])
    if chunk_spec is not None:
        dims = [getattr(one, "split_dim", 0) for one in tree_flatten(chunk_spec)[0]]
    merged = [
        cat(list(column), dim) if isinstance(column[0], Tensor) and column[0].dim() else column[0]
        for column, dim in zip(zip(*rows, strict=True), dims, strict=True)
    ]
    return tree_unflatten(merged, structure)


def detached(values):
    """Return values whose tensors are leaves, which take part in backward where they are floating."""
    return tree_map(as_leaf, values)


def as_leaf(value):
    if not isinstance(value, Tensor):
        return value
    leaf = value.detach()
    return leaf.requires_grad_() if leaf.is_floating_point() or leaf.is_complex() else leaf


__getattr__ = _missing.refusing(__name__)
