"""Nested tensors: sequences of different lengths in one tensor, without padding."""

from tensorlab import _missing
from tensorlab.nested import gradients, inner, pointwise, shapes
from tensorlab.nested.creation import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
    to_padded_tensor,
)

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
