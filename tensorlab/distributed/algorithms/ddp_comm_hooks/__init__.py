"""Functions that reduce the buckets of a data parallel module instead of a plain all_reduce."""

import enum

from tensorlab import _missing
from tensorlab.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class DDPCommHookType(enum.Enum):
    """The hooks that `register_ddp_comm_hook` knows by name."""

    ALLREDUCE = "allreduce"
    FP16_COMPRESS = "fp16_compress"
    BF16_COMPRESS = "bf16_compress"
    POWER_SGD = "power_sgd"
    POWER_SGD_RANK2 = "power_sgd_rank2"
    BATCHED_POWER_SGD = "batched_power_sgd"
    BATCHED_POWER_SGD_RANK2 = "batched_power_sgd_rank2"
    NOOP = "noop"


# For each name the hook, and the rank of its matrices where it needs a PowerSGDState.
HOOKS = {
    DDPCommHookType.ALLREDUCE: (default_hooks.allreduce_hook, None),
    DDPCommHookType.FP16_COMPRESS: (default_hooks.fp16_compress_hook, None),
    DDPCommHookType.BF16_COMPRESS: (default_hooks.bf16_compress_hook, None),
    DDPCommHookType.POWER_SGD: (powerSGD_hook.powerSGD_hook, 1),
    DDPCommHookType.POWER_SGD_RANK2: (powerSGD_hook.powerSGD_hook, 2),
    DDPCommHookType.BATCHED_POWER_SGD: (powerSGD_hook.batched_powerSGD_hook, 1),
    DDPCommHookType.BATCHED_POWER_SGD_RANK2: (powerSGD_hook.batched_powerSGD_hook, 2),
    DDPCommHookType.NOOP: (debugging_hooks.noop_hook, None),
}


def register_ddp_comm_hook(comm_hook_type, model, state=None):
    """Register one of the hooks with a data parallel module.

    Parameters
    ----------
    comm_hook_type : DDPCommHookType
    model : DistributedDataParallel
    state : ProcessGroup, or None for all ranks

    Raises
    ------
    TypeError
        If the first argument is no DDPCommHookType.

    Examples
    --------
    >>> from tensorlab import distributed as dist, nn
    >>> def register(rank):
    ...     model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    ...     register_ddp_comm_hook(DDPCommHookType.BF16_COMPRESS, model)
    >>> dist.threads.spawn(register, nprocs=1)
    [None]
    """
    if not isinstance(comm_hook_type, DDPCommHookType):
        raise TypeError(
            f"register_ddp_comm_hook: comm_hook_type is {comm_hook_type!r}; expected a "
            "DDPCommHookType, such as DDPCommHookType.BF16_COMPRESS"
        )
    hook, rank = HOOKS[comm_hook_type]
    state = state if rank is None else powerSGD_hook.PowerSGDState(state, rank)
    model.register_comm_hook(state, hook)


__getattr__ = _missing.refusing(__name__)
