"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from collections.abc import Callable, Sequence
from typing import Any, Protocol
from typing_extensions import TypeVar
from tensorlab.autograd.graph import Node
from tensorlab import Tensor

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "InplaceFunction",
    "once_differentiable",
]

_F = TypeVar('_F', bound=Callable[..., Any])
_R = TypeVar('_R')
_R_co = TypeVar('_R_co', covariant=True)
class _StaticForward(Protocol[_R_co]):

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> _R_co:
        ...

def once_differentiable(function: _F) -> _F: ...


BackwardCFunction = FunctionCtx

class Function:
    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def vjp(ctx: Any, *args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...
    @classmethod
    def apply(cls: builtins.type[_StaticForward[_R]], *args: Any, **kwargs: Any) -> _R: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    boxed_grads_call: builtins.bool
    clear_saved_tensors_on_access: builtins.bool
    generate_vmap_rule: builtins.bool
    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any: ...
    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any: ...

class FunctionCtx(Node):
    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[builtins.bool, ...]
    def save_for_backward(self, *tensors: Tensor | None) -> None: ...
    def mark_dirty(self, *tensors: Tensor) -> None: ...
    def mark_non_differentiable(self, *tensors: Tensor) -> None: ...
    def set_materialize_grads(self, value: builtins.bool) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    @property
    def materializes(self) -> Any: ...
    def save_for_forward(self, *tensors: Tensor | Sequence[Tensor]) -> Any: ...

class InplaceFunction(Function): ...
