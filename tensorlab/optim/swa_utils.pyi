"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from tensorlab import _Device
from tensorlab.optim.lr_scheduler import LRScheduler
from tensorlab.nn import Module
from tensorlab.optim import Optimizer
from tensorlab import Tensor

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

def get_ema_avg_fn(decay: builtins.float=0.999) -> Callable[[Tensor, Tensor, Any], Tensor]: ...
def get_ema_multi_avg_fn(decay: builtins.float=0.999) -> Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]: ...
def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]: ...
def get_swa_multi_avg_fn() -> Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]: ...
def update_bn(loader: Iterable[Any], model: Module, device: _Device | None=None) -> None: ...


class AveragedModel(Module):
    avg_fn: Callable[[Tensor, Tensor, Tensor], Tensor] | None
    multi_avg_fn: Callable[[Sequence[Tensor], Sequence[Tensor], Tensor], None] | None
    use_buffers: builtins.bool
    def __init__(self, model: Module, device: _Device | None=None, avg_fn: Callable[[Tensor, Tensor, Tensor], Tensor] | None=None, multi_avg_fn: Callable[[Sequence[Tensor], Sequence[Tensor], Tensor], None] | None=None, use_buffers: builtins.bool=False) -> None: ...
    def forward(self, *args: Any, **kwargs: Any) -> Tensor: ...
    def update_parameters(self, model: Module) -> None: ...

class SWALR(LRScheduler):
    anneal_epochs: builtins.int
    def __init__(self, optimizer: Optimizer, swa_lr: builtins.float | Sequence[builtins.float], anneal_epochs: builtins.int=10, anneal_strategy: str='cos', last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> list[builtins.float]: ...
