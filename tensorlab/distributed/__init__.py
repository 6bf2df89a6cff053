"""Ranks that work together: processes joined by MPI, or threads of one process.

A program starts several times, each time with another *rank*; `init_process_group` lets the
ranks meet. From then on they call *collectives* together: `all_reduce` adds a tensor over all
ranks, `broadcast` copies one, and so on. Data parallel training (`nn.parallel`), sharded models
(`distributed.fsdp`, `distributed.tensor`) and checkpoints (`distributed.checkpoint`) are made
of nothing else.

What lies where, from the bottom: a `Call` (calls.py) is carried by a `Transport` (backends/);
process_groups.py says who calls; collectives.py, point_to_point.py and objects.py are the
functions. `threads.spawn` runs ranks as threads, and `python -m tensorlab.distributed.run` as
processes.
"""

import importlib.util
import os

from tensorlab._on_demand import on_demand
from tensorlab.distributed import threads
from tensorlab.distributed.collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
)
from tensorlab.distributed.debugging import (
    DebugLevel,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from tensorlab.distributed.grad_bucket import GradBucket
from tensorlab.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from tensorlab.distributed.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from tensorlab.distributed.process_groups import (
    Backend,
    GroupMember,
    ProcessGroup,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    split_group,
)
from tensorlab.distributed.reduce_ops import ReduceOp, reduce_op
from tensorlab.distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore
from tensorlab.distributed.work import Work
from tensorlab.errors import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    QueueEmptyError,
)

__all__ = [
    "Backend",
    "DebugLevel",
    "DeviceMesh",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GradBucket",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "QueueEmptyError",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "default_pg_timeout",
    "destroy_process_group",
    "device_mesh",
    "fsdp",
    "gather",
    "gather_object",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "split_group",
    "tensor",
    "threads",
]

# What needs networks or optimizers, which stand higher, comes when a program asks for it.
__getattr__, __dir__ = on_demand(
    __name__,
    (
        "_functional_collectives",
        "algorithms",
        "checkpoint",
        "device_mesh",
        "fsdp",
        "nn",
        "optim",
        "pipelining",
        "run",
        "simulate",
        "tensor",
    ),
    {"DeviceMesh": "device_mesh", "init_device_mesh": "device_mesh"},
)


def is_available() -> bool:
    """Return whether process groups can be made: True.

    Examples
    --------
    >>> is_available()
    True
    """
    return True


def is_torchelastic_launched() -> bool:
    """Return whether a launcher such as torchrun has started this process: it names its run in
    TORCHELASTIC_RUN_ID."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_backend_available(backend) -> bool:
    """Return whether there is a backend of this name: "threads", and "mpi" and "gloo" where
    mpi4py is installed.

    Examples
    --------
    >>> is_backend_available("threads"), is_backend_available("nccl")
    (True, False)
    """
    name = str(backend).lower()
    return name == "threads" or (name in ("mpi", "gloo") and is_mpi_available())


def is_gloo_available() -> bool:
    """Return whether the name "gloo" can be used: it stands for MPI here.

    Examples
    --------
    >>> is_gloo_available() == is_mpi_available()
    True
    """
    return is_mpi_available()


def is_mpi_available() -> bool:
    """Return whether mpi4py is installed, which joins processes."""
    return importlib.util.find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """Return False: the backend nccl is for CUDA devices, and there are none.

    Examples
    --------
    >>> is_nccl_available()
    False
    """
    return False


def is_ucc_available() -> bool:
    """Return False: the backend ucc is not here.

    Examples
    --------
    >>> is_ucc_available()
    False
    """
    return False


def is_xccl_available() -> bool:
    """Return False: the backend xccl is for Intel's accelerators, and there are none.

    Examples
    --------
    >>> is_xccl_available()
    False
    """
    return False
