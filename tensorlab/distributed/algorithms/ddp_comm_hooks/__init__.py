"""Functions that reduce the buckets of a data parallel module instead of a plain all_reduce."""

import enum
import functools

from tensorlab import _missing
from tensorlab.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def with_power(rank, hook=powerSGD_hook.powerSGD_hook):
    """Return a function that registers PowerSGD with matrices of a rank."""

    def register(model, state):
        model.register_comm_hook(powerSGD_hook.PowerSGDState(state, rank), hook)

    return register


def plain(hook):
    return lambda model, state: model.register_comm_hook(state, hook)


class DDPCommHookType(enum.Enum):
    """The hooks that `register_ddp_comm_hook` knows by name."""

    ALLREDUCE = functools.partial(plain(default_hooks.allreduce_hook))
    FP16_COMPRESS = functools.partial(plain(default_hooks.fp16_compress_hook))
    BF16_COMPRESS = functools.partial(plain(default_hooks.bf16_compress_hook))
    POWER_SGD = functools.partial(with_power(1))
    POWER_SGD_RANK2 = functools.partial(with_power(2))
    BATCHED_POWER_SGD = functools.partial(with_power(1, powerSGD_hook.batched_powerSGD_hook))
    BATCHED_POWER_SGD_RANK2 = functools.partial(with_power(2, powerSGD_hook.batched_powerSGD_hook))
    NOOP = functools.partial(plain(debugging_hooks.noop_hook))


def register_ddp_comm_hook(comm_hook_type, model, state=None):
    """Register one of the hooks with a data parallel module.

    Parameters
    ----------
    comm_hook_type : DDPCommHookType
    model : DistributedDataParallel
    state : ProcessGroup, or None for all ranks
    """
    comm_hook_type.value(model, state)


__getattr__ = _missing.refusing(__name__)
