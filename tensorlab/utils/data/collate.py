"""Making one batch of many samples: numbers become tensors, tensors are stacked."""

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import numpy as np

from ..._core.exchange import as_tensor, tensor
from ..._tensor import Tensor
from ...ops.joining import stack

__all__ = ["default_collate", "default_convert"]


def default_collate(batch):
    """Put samples of the same form together along a new first dimension.

    Parameters
    ----------
    batch : list of samples: Tensors, NumPy arrays, numbers, strings, or dicts, lists, tuples and
        named tuples of these

    Returns
    -------
    A Tensor for tensors, arrays and numbers; strings as they are; containers of the batches of
    their parts (a tuple gives a list)

    Raises
    ------
    RuntimeError
        If lists in the batch differ in length, or tensors in shape.
    TypeError
        If samples are of another type.

    Examples
    --------
    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if isinstance(first, np.ndarray) and first.dtype.kind not in "OSUa":
        return stack([as_tensor(array) for array in batch], 0)
    if isinstance(first, (np.bool_, np.number)):
        return as_tensor(np.asarray(batch))
    if isinstance(first, float):
        return tensor(batch, dtype=float)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        parts = {key: default_collate([sample[key] for sample in batch]) for key in first}
        return rebuilt_mapping(first, parts)
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError(
                "default_collate: each element in list of batch should be of equal size; lengths "
                f"are {[len(sample) for sample in batch]}. Pad them, or give a collate_fn"
            )
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return rebuilt_sequence(first, parts)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(first)}. Give the DataLoader a collate_fn of your own"
    )


def default_convert(data):
    """Make tensors of the arrays in one sample; what is no array stays as it is."""
    if isinstance(data, np.ndarray) and data.dtype.kind not in "OSUa":
        return as_tensor(data)
    if isinstance(data, (np.bool_, np.number)):
        return as_tensor(data)
    if isinstance(data, Mapping):
        return rebuilt_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return rebuilt_sequence(data, [default_convert(part) for part in data])
    return data


def rebuilt_mapping(original, parts):
    """Return a mapping of the same class, with its further attributes, that has these parts."""
    try:
        if isinstance(original, MutableMapping):
            rebuilt = copy.copy(original)
            rebuilt.update(parts)
            return rebuilt
        return type(original)(parts)
    except TypeError:  # a class whose constructor takes something else
        return parts


def rebuilt_sequence(original, parts):
    """Return a sequence of the same class that has these parts; a list for a plain tuple."""
    try:
        if hasattr(original, "_fields"):  # a named tuple
            return type(original)(*parts)
        if isinstance(original, tuple):
            return parts  # a list, as PyTorch returns and programs expect
        if isinstance(original, MutableSequence):
            rebuilt = copy.copy(original)
            rebuilt[:] = parts
            return rebuilt
        return type(original)(parts)
    except TypeError:  # a class whose constructor takes something else, such as range
        return parts
