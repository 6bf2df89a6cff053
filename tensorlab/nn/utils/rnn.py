"""Sequences of different lengths as one tensor: padded, or packed without the padding.

    sequences       padded (steps down)     packed: the rows of one step lie together
    a b c           a d f                   data          a d f  b e  c
    d e             b e 0                   batch_sizes   3      2    1
    f               c 0 0

A recurrent layer reads a packed batch step by step, and a step has as many rows as there are sequences that are still
running. For that the longest sequence stands first; `sorted_indices` and `unsorted_indices` remember how
sequences that were in another order were moved.
"""

import itertools
from collections import namedtuple

from ... import _missing
from ..._core.interop.exchange import as_tensor
from ..._tensor import Tensor
from ...errors import DimensionError, ShapeError
from ...ops.creation import empty_like, full
from ...ops.joining import stack
from ...ops.ranges import arange
from ..functional import pad

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)


# ---------------------------------------------------------------- packed sequences
_Fields = namedtuple("_Fields", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(_Fields):
    """A batch of sequences without padding, as `pack_padded_sequence` and `pack_sequence` make it.

    Attributes
    ----------
    data : Tensor, shape (total of all lengths, *), step after step
    batch_sizes : Tensor of int64 on the CPU, shape (steps,), how many rows each step has
    sorted_indices : Tensor of int64, shape (batch,), or None: which sequence stands where, the
        longest first
    unsorted_indices : Tensor of int64, shape (batch,), or None: the inverse permutation

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.nn.utils.rnn import pack_sequence
    >>> packed = pack_sequence([tensorlab.tensor([1, 2, 3]), tensorlab.tensor([4])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError(
                    "PackedSequence: without batch_sizes, data must be a pair (data, batch_sizes), "
                    f"not {type(data).__name__}"
                )
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                f"PackedSequence: batch_sizes is on {batch_sizes.device}; expected it on the CPU. "
                "pack_sequence and pack_padded_sequence put it there"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def __repr__(self):
        fields = ", ".join(
            f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)
        )
        return f"{type(self).__name__}({fields})"

    def _with_data(self, data):
        """Return sequences like these with other data, and their indices on its device."""
        moved = [None if x is None else x.to(data.device) for x in self[2:]]
        return type(self)(data, self.batch_sizes, *moved)

    def to(self, *args, **kwargs):
        """Convert `data`, with the arguments of `Tensor.to`; the same object if there is nothing to do."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with_data(data)

    def pin_memory(self):
        """Copy data and indices to pinned memory, from which a GPU can fetch them."""
        pinned = [None if x is None else x.pin_memory() for x in self[2:]]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *pinned)

    def cpu(self, *args, **kwargs):
        """Convert `data` as `to` does, on the CPU."""
        return self.to(*args, **{"device": "cpu", **kwargs})

    def cuda(self, *args, **kwargs):
        """Convert `data` as `to` does, on a GPU."""
        return self.to(*args, **{"device": "cuda", **kwargs})

    def double(self):
        """Convert `data` to float64."""
        return self._with_type("double")

    def float(self):
        """Convert `data` to float32."""
        return self._with_type("float")

    def half(self):
        """Convert `data` to float16."""
        return self._with_type("half")

    def long(self):
        """Convert `data` to int64."""
        return self._with_type("long")

    def int(self):
        """Convert `data` to int32."""
        return self._with_type("int")

    def short(self):
        """Convert `data` to int16."""
        return self._with_type("short")

    def char(self):
        """Convert `data` to int8."""
        return self._with_type("char")

    def byte(self):
        """Convert `data` to uint8."""
        return self._with_type("byte")

    def _with_type(self, name):
        data = getattr(self.data, name)()
        return self if data is self.data else self._with_data(data)

    @property
    def is_cuda(self):
        """Whether `data` is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self):
        """Whether `data` is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation):
    """Return the permutation that undoes `permutation`, a Tensor of indices; None of None.

    >>> import tensorlab
    >>> invert_permutation(tensorlab.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = arange(permutation.numel(), device=permutation.device)
    return empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Take the padding out of a batch of sequences.

    Parameters
    ----------
    input : Tensor, shape (steps, batch, *), or (batch, steps, *) with `batch_first`
    lengths : Tensor on the CPU or list of int, shape (batch,): how many steps of each sequence count
    batch_first : bool
    enforce_sorted : bool; the lengths must fall. Otherwise the sequences are sorted, and the
        result remembers how

    Returns
    -------
    PackedSequence

    Raises
    ------
    ShapeError
        If there is not one length for each sequence, or a length is below 1 or above the number of steps, or they do
        not fall although `enforce_sorted`.

    >>> import tensorlab
    >>> x = tensorlab.tensor([[1, 2, 3], [4, 5, 0]])
    >>> pack_padded_sequence(x, [3, 2], batch_first=True).data
    tensor([1, 4, 2, 5, 3])
    """
    if not isinstance(lengths, Tensor):
        lengths = as_tensor(lengths, device="cpu")
    lengths = lengths.long()
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = lengths.sort(descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    steps_first = input.transpose(0, 1) if batch_first else input
    is_running = _running(lengths, steps_first)
    return PackedSequence(
        steps_first[: len(is_running)][is_running], is_running.sum(1), sorted_indices
    )


def _running(lengths, x):
    """Which of the sequences in x, (steps, batch, *), are running at each step: a mask (steps, batch)."""
    where = "pack_padded_sequence"
    if lengths.dim() != 1 or lengths.device.type != "cpu":
        raise ShapeError(
            f"{where}: lengths has shape {tuple(lengths.shape)} and is on {lengths.device}; expected "
            "one dimension, on the CPU"
        )
    if x.dim() < 2:
        raise DimensionError(
            f"{where}: input has {x.dim()} dimensions; expected at least 2, steps and batch"
        )
    if x.numel() == 0:
        raise ShapeError(
            f"{where}: input of shape {tuple(x.shape)} is empty; there is nothing to pack"
        )
    if len(lengths) != x.size(1):
        raise ShapeError(
            f"{where}: {len(lengths)} lengths are given for {x.size(1)} sequences; expected one for each"
        )
    numbers = lengths.tolist()
    if min(numbers) <= 0:
        raise ShapeError(f"{where}: a length is {min(numbers)}; expected lengths greater than 0")
    if any(first < second for first, second in itertools.pairwise(numbers)):
        raise ShapeError(
            f"{where}: lengths {numbers} must be in falling order; give enforce_sorted=False to have "
            "the sequences sorted"
        )
    if numbers[0] > x.size(0):
        raise ShapeError(
            f"{where}: the longest length is {numbers[0]}, but input has only {x.size(0)} steps"
        )
    return arange(numbers[0]).unsqueeze(1) < lengths


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Fill a packed batch up to sequences of equal length: the inverse of `pack_padded_sequence`.

    Parameters
    ----------
    sequence : PackedSequence
    batch_first : bool; the result is (batch, steps, *) instead of (steps, batch, *)
    padding_value : number
    total_length : int or None, the number of steps; the length of the longest sequence if None

    Returns
    -------
    (Tensor, Tensor) : the padded sequences in the order in which they were packed, and their lengths

    Raises
    ------
    ValueError
        If `total_length` is less than the longest length.
    ShapeError
        If `batch_sizes` does not fit `data`.

    Examples
    --------
    >>> import tensorlab
    >>> packed = pack_sequence([tensorlab.tensor([1, 2, 3]), tensorlab.tensor([4])])
    >>> pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 0, 0]]), tensor([3, 1]))
    """
    data, batch_sizes, _, unsorted_indices = sequence
    if batch_sizes.dim() != 1:
        raise ShapeError(
            f"pad_packed_sequence: batch_sizes has {batch_sizes.dim()} dimensions; expected 1"
        )
    steps = len(batch_sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                f"pad_packed_sequence: total_length is {total_length}, but the longest sequence has "
                f"{steps} steps; expected at least so many"
            )
        steps = total_length
    sizes = batch_sizes.tolist()
    if not sizes or sum(sizes) != data.size(0):
        raise ShapeError(
            f"pad_packed_sequence: batch_sizes is {sizes}; expected at least one size, and together "
            f"{data.size(0)}, the rows of data"
        )
    is_running = arange(sizes[0]) < batch_sizes.unsqueeze(1)
    shape = (steps, sizes[0], *data.shape[1:])
    padded = full(
        shape, data.new_tensor(padding_value).item(), dtype=data.dtype, device=data.device
    )
    padded[: len(sizes)][is_running] = data
    lengths = is_running.sum(0)
    if batch_first:
        padded = padded.transpose(0, 1)
    if unsorted_indices is None:
        return padded, lengths
    return (
        padded.index_select(0 if batch_first else 1, unsorted_indices),
        lengths[unsorted_indices.cpu()],
    )


def pack_sequence(sequences, enforce_sorted=True):
    """Pack a list of sequences, each of shape (length, *); see `pack_padded_sequence`.

    >>> import tensorlab
    >>> pack_sequence([tensorlab.tensor([1, 2, 3]), tensorlab.tensor([4])]).batch_sizes
    tensor([2, 1, 1])
    """
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """Return the list of sequences that `pack_sequence` was given.

    Examples
    --------
    >>> import tensorlab
    >>> unpack_sequence(pack_sequence([tensorlab.tensor([1, 2]), tensorlab.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


# ---------------------------------------------------------------- padded sequences


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack sequences, the shorter ones filled up to the longest.

    Parameters
    ----------
    sequences : sequence of Tensor, each of shape (length, *)
    batch_first : bool; (batch, length, *) instead of (length, batch, *)
    padding_value : number
    padding_side : "right" or "left", where the filling goes

    Returns
    -------
    Tensor, shape (longest, batch, *)

    >>> import tensorlab
    >>> pad_sequence([tensorlab.tensor([1, 2, 3]), tensorlab.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if padding_side not in ("right", "left"):
        raise RuntimeError(
            f"pad_sequence: padding_side is {padding_side!r}; expected right or left"
        )
    try:
        sequences = list(sequences)
    except TypeError:
        raise RuntimeError(
            f"pad_sequence: sequences is of type {type(sequences).__name__}; expected a sequence of "
            "tensors"
        ) from None
    if not sequences:
        raise RuntimeError("pad_sequence: there is no sequence; expected one or more")
    for position, sequence in enumerate(sequences):
        if not isinstance(sequence, Tensor):
            raise TypeError(
                f"pad_sequence: element {position} is of type {type(sequence).__name__}; expected a "
                "Tensor"
            )
    longest = max(sequence.size(0) for sequence in sequences)
    filled = []
    for sequence in sequences:
        missing = longest - sequence.size(0)
        sides = (missing, 0) if padding_side == "left" else (0, missing)
        around = (0, 0) * (sequence.dim() - 1)
        filled.append(pad(sequence, (*around, *sides), value=padding_value))
    return stack(filled, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Return the list of sequences that `pad_sequence` was given, from it and their lengths.

    Examples
    --------
    >>> import tensorlab
    >>> unpad_sequence(tensorlab.tensor([[1, 2], [3, 0]]), tensorlab.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [
        sequence[: int(length)] for sequence, length in zip(padded_sequences, lengths, strict=True)
    ]
