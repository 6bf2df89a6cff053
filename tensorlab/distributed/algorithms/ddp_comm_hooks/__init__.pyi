"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from enum import Enum
from typing import Any
from tensorlab.nn import Module

__all__ = [
    "DDPCommHookType",
    "register_ddp_comm_hook",
]

def register_ddp_comm_hook(comm_hook_type: Any, model: Module, state: Any=None) -> None: ...


class DDPCommHookType(Enum):
    ALLREDUCE = 'allreduce'
    FP16_COMPRESS = 'fp16_compress'
    BF16_COMPRESS = 'bf16_compress'
    POWER_SGD = 'power_sgd'
    POWER_SGD_RANK2 = 'power_sgd_rank2'
    BATCHED_POWER_SGD = 'batched_power_sgd'
    BATCHED_POWER_SGD_RANK2 = 'batched_power_sgd_rank2'
    NOOP = 'noop'
