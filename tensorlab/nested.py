"""Nested tensors, rows of different lengths in one tensor: still to come."""

from tensorlab import _missing, _planned

__all__ = []

globals().update(
    _planned.names(
        __name__,
        """as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged
        to_padded_tensor""",
        until="pad the rows with nn.utils.rnn.pad_sequence, and mask what was added.",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
