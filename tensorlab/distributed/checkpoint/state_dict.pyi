"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from collections.abc import Iterable
from typing import Any
from tensorlab.nn import Module
from tensorlab.optim import Optimizer

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

def get_model_state_dict(model: Module, *, submodules: Any=None, options: StateDictOptions | None=None) -> dict[str, Any]: ...
def get_optimizer_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: Any=None, options: StateDictOptions | None=None) -> dict[str, Any]: ...
def get_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: Any=None, options: StateDictOptions | None=None) -> tuple[dict[str, Any], dict[str, Any]]: ...
def set_model_state_dict(model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None=None) -> Any: ...
def set_optimizer_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], optim_state_dict: dict[str, Any], *, options: StateDictOptions | None=None) -> None: ...
def set_state_dict(model: Module, optimizers: Optimizer | Iterable[Optimizer], *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any], options: StateDictOptions | None=None) -> Any: ...


class StateDictOptions:
    full_state_dict: builtins.bool
    cpu_offload: builtins.bool
    ignore_frozen_params: builtins.bool
    keep_submodule_prefixes: builtins.bool
    strict: builtins.bool
    broadcast_from_rank0: builtins.bool
    flatten_optimizer_state_dict: builtins.bool
    def __eq__(self, other: object) -> builtins.bool: ...
    __hash__: None  # type: ignore[assignment]
    def __init__(self, full_state_dict: builtins.bool=False, cpu_offload: builtins.bool=False, ignore_frozen_params: builtins.bool=False, keep_submodule_prefixes: builtins.bool=True, strict: builtins.bool=True, broadcast_from_rank0: builtins.bool=False, flatten_optimizer_state_dict: builtins.bool=False) -> None: ...
    def __repr__(self) -> str: ...
