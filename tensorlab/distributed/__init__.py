"""Processes that train together: still to come. What programs ask before they use them has its
answer: there are none.

`multiprocessing.spawn` starts processes that share memory; `utils.data.DistributedSampler` is
here."""

import os

from tensorlab import _missing, _planned
from tensorlab.distributed import fsdp

__all__ = [
    "fsdp",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
]

globals().update(
    _planned.names(
        __name__,
        """Backend DeviceMesh DistBackendError DistError DistNetworkError DistStoreError
        FileStore GradBucket GroupMember HashStore P2POp PrefixStore ProcessGroup ReduceOp Store
        TCPStore Work algorithms all_gather all_gather_coalesced all_gather_into_tensor
        all_gather_object all_reduce all_reduce_coalesced all_to_all all_to_all_single barrier
        batch_isend_irecv broadcast broadcast_object_list checkpoint destroy_process_group
        device_mesh elastic gather gather_object get_backend get_backend_config get_debug_level
        get_default_backend_for_device get_global_rank get_group_rank get_node_local_rank
        get_process_group_ranks get_rank get_world_size group init_device_mesh
        init_process_group irecv isend monitored_barrier new_group new_subgroups
        new_subgroups_by_enumeration nn optim pipelining recv recv_object_list reduce reduce_op
        reduce_scatter reduce_scatter_tensor rendezvous rpc run scatter scatter_object_list send
        send_object_list set_debug_level split_group tensor""",
        until="run one process, and leave this out where distributed.is_initialized() is False.",
        chapter="52-collectives",
        get_rank="the rank is 0 where distributed.is_initialized() is False.",
        get_world_size="the world size is 1 where distributed.is_initialized() is False.",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def is_available() -> bool:
    """False: no process groups can be made yet."""
    return False


def is_initialized() -> bool:
    """False: there is no process group."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether a launcher such as torchrun has started this process: it names its run in
    TORCHELASTIC_RUN_ID."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_backend_available(backend) -> bool:
    """False for every backend, given by its name, such as "gloo"."""
    return False


def is_gloo_available() -> bool:
    """False: the backend gloo is not here."""
    return False


def is_mpi_available() -> bool:
    """False: the backend mpi is still to come."""
    return False


def is_nccl_available() -> bool:
    """False: the backend nccl is for CUDA devices, and there are none."""
    return False


def is_ucc_available() -> bool:
    """False: the backend ucc is not here."""
    return False


def is_xccl_available() -> bool:
    """False: the backend xccl is for Intel's accelerators, and there are none."""
    return False
