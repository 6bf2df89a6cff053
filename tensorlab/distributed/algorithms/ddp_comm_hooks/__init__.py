"""Functions that reduce the buckets of a data parallel module in place of a plain all_reduce."""

from tensorlab.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    powerSGD_hook,
)

__all__ = ["debugging_hooks", "default_hooks", "powerSGD_hook"]
