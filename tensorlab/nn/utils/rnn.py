"""Sequences of different lengths as one tensor."""

from ... import _missing
from ..._tensor import Tensor
from ...ops.joining import stack
from ..functional import pad

__all__ = ["pad_sequence", "unpad_sequence"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)


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
    """Return the list of sequences that `pad_sequence` was given, from it and their lengths."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [
        sequence[: int(length)] for sequence, length in zip(padded_sequences, lengths, strict=True)
    ]
