"""Models whose parameters are shared out over processes: still to come."""

from tensorlab import _missing, _planned

__all__ = []

globals().update(
    _planned.names(
        __name__,
        """BackwardPrefetch CPUOffload CPUOffloadPolicy FSDPModule FullOptimStateDictConfig
        FullStateDictConfig FullyShardedDataParallel LocalOptimStateDictConfig
        LocalStateDictConfig MixedPrecision MixedPrecisionPolicy OffloadPolicy
        OptimStateDictConfig OptimStateKeyType ShardedOptimStateDictConfig
        ShardedStateDictConfig ShardingStrategy StateDictConfig StateDictSettings StateDictType
        UnshardHandle fully_shard register_fsdp_forward_method share_comm_ctx""",
        until="run one process with the model as it is.",
        chapter="54-sharding-and-failures",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
