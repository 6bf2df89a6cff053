"""Samplers: iterables of indices that decide in which order a data set is read.

Random ones draw as PyTorch's do, so that equal seeds give the same order.
"""

from itertools import chain, islice, repeat
from types import WrapperDescriptorType

from ..._core.dtypes import DTYPES
from ..._core.interop.exchange import as_tensor
from ..._core.random import Generator
from ...ops.creation import empty
from ...ops.random_factories import multinomial, randint, randperm

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
    "begun",
]

FLOAT64 = DTYPES[9]
# With replacement, indices are drawn in blocks of this many: another size would use the random
# stream in another order and so give other indices for the same seed.
REPLACEMENT_BLOCK = 32


class Sampler:
    """Base class of samplers: a subclass defines `__iter__`, and `__len__` if it knows it.

    Examples
    --------
    >>> class Backwards(Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...
    ...     def __iter__(self):
    ...         return reversed(range(len(self.data)))
    >>> list(Backwards("abc"))
    [2, 1, 0]
    """

    def __class_getitem__(cls, item):
        return cls  # so that `Sampler[int]` in annotations and base classes is valid

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__}: define __iter__(self)")


class SequentialSampler(Sampler):
    """0, 1, 2, ...: the order of the data set.

    Examples
    --------
    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """A new random order each time it is gone through.

    Parameters
    ----------
    data_source : sized, the data set
    replacement : bool, whether an index may come again
    num_samples : int or None, how many indices; the size of the data set if not given
    generator : Generator or None; without one, each pass seeds its own from the default generator

    Raises
    ------
    TypeError, ValueError
        If `replacement` is not a bool, or `num_samples` not a positive integer.

    Examples
    --------
    >>> import tensorlab
    >>> sampler = RandomSampler("abcd", generator=tensorlab.Generator().manual_seed(0))
    >>> sorted(sampler)
    [0, 1, 2, 3]
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement is {replacement!r}; expected a bool")
        check_positive("RandomSampler", "num_samples", self.num_samples)

    @property
    def num_samples(self):
        """How many indices a pass gives; follows the data set if it grows."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(draw_seed(None))
        block = REPLACEMENT_BLOCK if self.replacement else n
        whole, rest = divmod(self.num_samples, block)
        for count in chain(repeat(block, whole), [rest]):
            if self.replacement:
                yield from randint(n, (count,), generator=generator).tolist()
            else:
                yield from randperm(n, generator=generator).tolist()[:count]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Some given indices, in a new random order each time.

    Parameters
    ----------
    indices : sequence of int
    generator : Generator, the default one if not given

    Examples
    --------
    >>> sorted(SubsetRandomSampler([3, 5, 7]))
    [3, 5, 7]
    """

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with probabilities in proportion to given weights.

    Parameters
    ----------
    weights : sequence of float, one for each sample; they need not sum to 1
    num_samples : int, how many indices
    replacement : bool, whether an index may come again
    generator : Generator, the default one if not given

    Raises
    ------
    ValueError
        If `num_samples` is not a positive integer, `replacement` not a bool, or `weights` not one row; without
        replacement also if fewer samples have a weight than are to be drawn.

    Examples
    --------
    >>> set(WeightedRandomSampler([0.0, 0.5, 0.5], 100))
    {1, 2}
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        check_positive("WeightedRandomSampler", "num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"WeightedRandomSampler: replacement is {replacement!r}; expected a bool"
            )
        self.weights = as_tensor(weights, dtype=FLOAT64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"WeightedRandomSampler: weights has shape {tuple(self.weights.shape)}; expected one row"
            )
        with_weight = int((self.weights > 0).sum())
        if not replacement and with_weight < num_samples:
            raise ValueError(
                f"WeightedRandomSampler: num_samples is {num_samples}, but only {with_weight} of the "
                f"{len(self.weights)} weights are above 0. Draw fewer, or give replacement=True"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of indices that another sampler gives.

    Parameters
    ----------
    sampler : iterable of int
    batch_size : int, indices in each list
    drop_last : bool, whether to leave out a last list that is shorter

    Raises
    ------
    ValueError
        If `batch_size` is not a positive integer or `drop_last` not a bool.

    Examples
    --------
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        check_positive("BatchSampler", "batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler: drop_last is {drop_last!r}; expected a bool")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = begun(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        extra = 0 if self.drop_last else self.batch_size - 1
        return (len(self.sampler) + extra) // self.batch_size


def begun(iterable):
    """Return an iterator over an iterable that asks it only now to begin.

    `islice` and others that take from it call `iter` again each time. A class that is its own iterator may begin anew
    then; an iterator of this function goes on.
    """
    iterator = iter(iterable)
    if isinstance(getattr(type(iterator), "__iter__", None), WrapperDescriptorType):
        return iterator  # of C, such as a generator: `iter` returns it as it is
    return map(next, repeat(iterator))


def draw_seed(generator):
    """Draw a seed for another generator: one number of 63 bits."""
    return empty((), dtype=int).random_(generator=generator).item()


def check_positive(name, option, value):
    """Raise ValueError unless an option is an integer above 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(f"{name}: {option} is {value!r}; expected a positive integer")
