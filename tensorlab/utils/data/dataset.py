"""Data sets: what can be indexed (Dataset) or only gone through once (IterableDataset)."""

import bisect
import math
import warnings
from itertools import accumulate

from ..._pitfalls import pointed
from ...ops.random_factories import randperm

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]


class Dataset:
    """Base class of data sets with an index: a subclass defines `__getitem__` and `__len__`.

    A class that can fetch many samples at once defines `__getitems__(indices)` too.

    Examples
    --------
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, index):
    ...         return index, index**2
    >>> Squares()[3]
    (3, 9)
    """

    def __class_getitem__(cls, item):
        return cls  # so that `Dataset[int]` in annotations and base classes is valid

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__}: define __getitem__(self, index)")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Base class of data sets that are streams: a subclass defines `__iter__`.

    Examples
    --------
    >>> class Words(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(["a", "b"])
    >>> list(Words())
    ['a', 'b']
    """

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__}: define __iter__(self)")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Sample i is entry i of each tensor, as a tuple.

    Parameters
    ----------
    *tensors : Tensors of the same size in their first dimension

    Raises
    ------
    ValueError
        If the sizes differ.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.utils.data import TensorDataset
    >>> TensorDataset(tensorlab.arange(3), tensorlab.zeros(3))[1]
    (tensor(1), tensor(0.))
    """

    def __init__(self, *tensors):
        lengths = [len(tensor) for tensor in tensors]
        if len(set(lengths)) > 1:
            raise pointed(
                ValueError(
                    f"TensorDataset: the tensors have {lengths} samples; expected the same number"
                )
            )
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self):
        return len(self.tensors[0])


class Subset(Dataset):
    """Some samples of a data set, in a new order.

    Parameters
    ----------
    dataset : Dataset
    indices : sequence of int

    Examples
    --------
    >>> list(Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        if type(self).__getitem__ is not Subset.__getitem__:
            return [self[i] for i in indices]  # a subclass's own way to make one sample
        chosen = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[i] for i in chosen]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    """Several data sets, one after the other; `a + b` makes one of two.

    Parameters
    ----------
    datasets : iterable of Dataset

    Raises
    ------
    AssertionError
        If there is none, or one is a stream.

    Examples
    --------
    >>> from tensorlab.utils.data import ConcatDataset
    >>> ConcatDataset([range(3), "ab"])[4]
    'b'
    """

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset: datasets is empty; expected at least one")
        for i, dataset in enumerate(self.datasets):
            if isinstance(dataset, IterableDataset):
                raise AssertionError(
                    f"ConcatDataset: data set {i} is an IterableDataset, which has no index; use ChainDataset"
                )
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence):
        """Return how many samples there are up to each data set, itself included."""
        return list(accumulate(len(one) for one in sequence))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError(
                    f"ConcatDataset: index {idx} is out of range for {len(self)} samples"
                )
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class StackDataset(Dataset):
    """Sample i is the tuple of sample i of each data set, or the dict for data sets given by name.

    Parameters
    ----------
    *args, **kwargs : Datasets of one length, all with names or none

    Raises
    ------
    ValueError
        If the lengths differ, none is given, or only some have names.

    Examples
    --------
    >>> import tensorlab
    >>> StackDataset(tensorlab.arange(3), tensorlab.arange(3) * 10)[1]
    (tensor(1), tensor(10))
    """

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ValueError(
                f"StackDataset: {len(args)} data sets without a name and {len(kwargs)} with one; give one kind"
            )
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in args or kwargs.values()]
        if len(set(lengths)) > 1:
            raise ValueError(
                f"StackDataset: Size mismatch between datasets: their lengths are {lengths}"
            )
        self._length = lengths[0]

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices):
        is_named = isinstance(self.datasets, dict)
        columns = [
            fetched(dataset, indices)
            for dataset in (self.datasets.values() if is_named else self.datasets)
        ]
        rows = zip(*columns, strict=True)
        return (
            [dict(zip(self.datasets, row, strict=True)) for row in rows] if is_named else list(rows)
        )

    def __len__(self):
        return self._length


def fetched(dataset, indices):
    """Return several samples of a data set, at once if it can."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    samples = dataset.__getitems__(indices)
    if len(samples) != len(indices):
        raise ValueError(
            f"StackDataset: a data set gave {len(samples)} samples for {len(indices)} indices"
        )
    return samples


class ChainDataset(IterableDataset):
    """Several streams, one after the other; `a + b` makes one of two.

    Parameters
    ----------
    datasets : iterable of IterableDataset

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.utils.data import IterableDataset
    >>> class Words(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(["a", "b"])
    >>> list(ChainDataset([Words(), Words()]))
    ['a', 'b', 'a', 'b']
    """

    def __init__(self, datasets):
        self.datasets = datasets

    def _streams(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    f"ChainDataset: a {type(dataset).__name__} is not an IterableDataset; use ConcatDataset"
                )
            yield dataset

    def __iter__(self):
        for dataset in self._streams():
            yield from dataset

    def __len__(self):
        return sum(map(len, self._streams()))


def random_split(dataset, lengths, generator=None):
    """Split a data set at random into subsets that do not overlap.

    Parameters
    ----------
    dataset : Dataset
    lengths : sequence of int that sum to len(dataset), or of fractions that sum to 1
    generator : Generator, the default one if not given

    Returns
    -------
    list of Subset

    Raises
    ------
    ValueError
        If the lengths do not sum to the whole, or a fraction is not within 0 and 1.

    Examples
    --------
    >>> import tensorlab
    >>> parts = random_split(range(10), [0.8, 0.2], generator=tensorlab.Generator().manual_seed(0))
    >>> [len(part) for part in parts]
    [8, 2]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = lengths_of_fractions(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError(
            f"random_split: the lengths {list(lengths)} sum to {sum(lengths)}, but the data set "
            f"has {len(dataset)} samples"
        )
    order = randperm(len(dataset), generator=generator).tolist()
    ends = accumulate(lengths)
    return [
        Subset(dataset, order[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    ]


def lengths_of_fractions(total, fractions):
    """Return whole lengths in proportion; what rounding down leaves over goes to the first ones."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"random_split: fraction {i} is {fraction}; expected 0 to 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    if 0 in lengths:
        warnings.warn(f"random_split: split {lengths.index(0)} is empty", stacklevel=3)
    return lengths
