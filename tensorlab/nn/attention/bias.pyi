"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from enum import IntEnum
from typing import Any
from tensorlab import Tensor

__all__ = [
    "CausalBias",
    "CausalVariant",
    "causal_lower_right",
    "causal_upper_left",
]

def causal_lower_right(*size: Any) -> Any: ...
def causal_upper_left(*size: Any) -> Any: ...


class CausalBias(Tensor):
    variant: Any
    seq_len_q: Any
    seq_len_kv: Any
    def __init__(self, variant: Any, seq_len_q: Any, seq_len_kv: Any) -> None: ...
    def __repr__(self, *, tensor_contents: Any=None) -> str: ...
    def options(self, is_causal: Any, device: Any) -> Any: ...

class CausalVariant(IntEnum):
    UPPER_LEFT = 1
    LOWER_RIGHT = 2
