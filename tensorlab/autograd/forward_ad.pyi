"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from collections.abc import Callable
from typing import Any, NamedTuple
from typing_extensions import TypeVar
from tensorlab import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_F = TypeVar('_F', bound=Callable[..., Any])

def enter_dual_level() -> builtins.int: ...
def exit_dual_level(*, level: builtins.int | None=None) -> None: ...
def make_dual(tensor: Tensor, tangent: Tensor, *, level: builtins.int | None=None) -> Tensor: ...
def unpack_dual(tensor: Tensor, *, level: builtins.int | None=None) -> UnpackedDualTensor: ...


class UnpackedDualTensor(NamedTuple):
    primal: Tensor
    tangent: Tensor | None
    def __repr__(self) -> str: ...

class dual_level:
    def __enter__(self) -> builtins.int: ...
    def __exit__(self, cls: Any, error: Any, trace: Any) -> None: ...
    def __call__(self, func: _F) -> _F: ...
