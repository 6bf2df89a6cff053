"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from typing import Any
from tensorlab.autograd.function import Function
from tensorlab import Tensor

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "GraphExecGroup",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

def check_backward_validity(inputs: Any) -> Any: ...
def checkpoint(function: Any, *args: Any, use_reentrant: Any=None, context_fn: Any=..., determinism_check: str='default', debug: builtins.bool=False, early_stop: builtins.bool=True, **kwargs: Any) -> Any: ...
def checkpoint_sequential(functions: Any, segments: Any, input: Any, use_reentrant: Any=None, **kwargs: Any) -> Any: ...
def detach_variable(inputs: Any) -> Any: ...
def noop_context_fn() -> Any: ...
def set_checkpoint_debug_enabled(enabled: Any) -> Any: ...
def set_checkpoint_early_stop(enable: Any) -> Any: ...


class CheckpointError(RuntimeError): ...

class CheckpointFunction(Function):
    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any: ...
    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: Any, *args: Any) -> Tensor: ...

class GraphExecGroup:
    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> None: ...
