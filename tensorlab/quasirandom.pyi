"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from collections.abc import Sequence
from typing_extensions import Self
from tensorlab import _dtype
from tensorlab import Tensor

__all__ = [
    "SobolEngine",
]


class SobolEngine:
    MAXBIT: builtins.int
    MAXDIM: builtins.int
    def __init__(self, dimension: builtins.int, scramble: builtins.bool=False, seed: builtins.int | None=None) -> None: ...
    def __repr__(self) -> str: ...
    def draw(self, n: builtins.int=1, out: Tensor | Sequence[Tensor] | None=None, dtype: _dtype | None=None) -> Tensor: ...
    def draw_base2(self, m: builtins.int, out: Tensor | Sequence[Tensor] | None=None, dtype: _dtype | None=None) -> Tensor: ...
    def fast_forward(self, n: builtins.int) -> Self: ...
    def reset(self) -> Self: ...
