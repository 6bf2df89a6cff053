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

    None if anything is not as plain as that, or an index negative or out of range: then the
    samples are right, or raise the right error.
    """
    if type(dataset) not in (Subset, TensorDataset):
        return None
    if type(indices) is not list or set(map(type, indices)) != {int}:
        return None
    try:
        if type(dataset) is Subset:
            return rows_at(dataset.dataset, [dataset.indices[i] for i in indices])
        if not all(map(is_plain, dataset.tensors)):
            return None
        rows = tensor(indices)
        return [x.index_select(0, rows) for x in dataset.tensors]
    except (IndexError, ValueError):
        return None


def is_plain(x):
    return type(x) is Tensor and x.is_contiguous() and not x.requires_grad
