"""A shortcut to a batch: rows of tensors needn't be taken one by one and stacked again."""

from ..._core.interop.exchange import tensor
from ..._tensor import Tensor
from .collate import default_collate, default_collate_fn_map
from .dataset import Subset, TensorDataset

__all__ = ["are_rows", "rows_at"]

FUNCTIONS = dict(default_collate_fn_map)


def are_rows(collate):
    """Does this function stack the tensors of tuples, and has no one changed how?"""
    return collate is default_collate and default_collate_fn_map == FUNCTIONS


def rows_at(dataset, indices):
    """Return what the samples of a TensorDataset, or of a Subset of one, would be stacked to.

    None if anything is not as plain as that, or an index out of range: then the samples raise
    the right error.
    """
    if type(indices) is not list or set(map(type, indices)) != {int} or min(indices) < 0:
        return None
    if type(dataset) is Subset and max(indices) < len(dataset):
        return rows_at(dataset.dataset, [dataset.indices[i] for i in indices])
    if type(dataset) is not TensorDataset:
        return None
    for x in dataset.tensors:
        is_plain = type(x) is Tensor and x.is_contiguous() and not x.requires_grad
        if not is_plain or max(indices) >= len(x):
            return None
    rows = tensor(indices)
    return [x.index_select(0, rows) for x in dataset.tensors]
