"""Fully sharded data parallel: each rank keeps a part of each parameter.

`fully_shard` shards a module in place, and its parameters are DTensors from then on.
`FullyShardedDataParallel` is the older way, a module around the module.
"""

from tensorlab.distributed.fsdp.policies import (
    CPUOffloadPolicy,
    DataParallelMeshDims,
    MixedPrecisionPolicy,
    OffloadPolicy,
)
from tensorlab.distributed.fsdp.sharding import (
    FSDPModule,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
    share_comm_ctx,
)

__all__ = [
    "CPUOffloadPolicy",
    "DataParallelMeshDims",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]
