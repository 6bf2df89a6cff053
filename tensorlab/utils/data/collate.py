"""Making one batch of many samples: numbers become tensors, tensors are stacked."""

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import numpy as np

from ..._core.interop.exchange import as_tensor, tensor
from ..._pitfalls import pointed
from ..._tensor import Tensor
from ...ops.joining import stack

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]


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
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch, *, collate_fn_map=None):
    """Put samples together with a function for each type; containers are gone through.

    Parameters
    ----------
    batch : list of samples
    collate_fn_map : dict from a class, or a tuple of classes, to `function(batch, *, collate_fn_map)`; the class
        itself goes before its bases

    Returns
    -------
    what the function of the samples' type returns; a mapping or sequence of such for containers

    Raises
    ------
    TypeError
        If there is no function for the samples.
    """
    first, functions = batch[0], collate_fn_map or {}
    function = functions.get(type(first))
    if function is None:
        fits = (function for kind, function in functions.items() if isinstance(first, kind))
        function = next(fits, None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        parts = {
            key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map)
            for key in first
        }
        return rebuilt_mapping(first, parts)
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError(
                "default_collate: each element in list of batch should be of equal size; lengths "
                f"are {[len(sample) for sample in batch]}. Pad them, or give a collate_fn"
            )
        parts = [collate(part, collate_fn_map=collate_fn_map) for part in zip(*batch, strict=True)]
        return rebuilt_sequence(first, parts)
    raise refused(first)


def refused(sample):
    return pointed(
        TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
            f"found {type(sample)}. Give the DataLoader a collate_fn of your own"
        )
    )


# ------------------------------------------------------------ one function for each type
def collate_tensor_fn(batch, *, collate_fn_map=None):
    return stack(batch, 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    if batch[0].dtype.kind in "OSUa":
        raise refused(batch[0])
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    return as_tensor(np.asarray(batch))


def collate_float_fn(batch, *, collate_fn_map=None):
    return tensor(batch, dtype=float)


def collate_int_fn(batch, *, collate_fn_map=None):
    return tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    return batch


# The types that `default_collate` knows; a program may add its own.
default_collate_fn_map: dict = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_convert(data):
    """Make tensors of the arrays in one sample; what is no array stays as it is.

    Examples
    --------
    >>> import numpy
    >>> default_convert(numpy.ones(2))
    tensor([1., 1.], dtype=tensorlab.float64)
    """
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
