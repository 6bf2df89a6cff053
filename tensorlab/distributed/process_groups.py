"""Process groups: ranks that call collectives together.

`init_process_group` makes the group of all ranks. Groups of some of them are made from it
(subgroups.py), and each has a transport of its own (backends/), so that their calls don't get
mixed up. What a rank asks of its groups is in membership.py.
"""

import datetime

from tensorlab.distributed import rendezvous, world
from tensorlab.distributed.backends.names import HERE, checked_backend
from tensorlab.distributed.backends.threads import House, ThreadTransport
from tensorlab.distributed.membership import (
    Backend,
    GroupMember,
    ProcessGroup,
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
    is_initialized,
)
from tensorlab.distributed.membership import is_member as is_member
from tensorlab.distributed.membership import the_group as the_group
from tensorlab.distributed.subgroups import (
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    split_group,
)
from tensorlab.distributed.work import seconds_of

__all__ = [
    "Backend",
    "GroupMember",
    "ProcessGroup",
    "default_pg_timeout",
    "destroy_process_group",
    "get_backend",
    "get_backend_config",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_initialized",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "split_group",
]

default_pg_timeout = datetime.timedelta(minutes=30)


def init_process_group(
    backend=None,
    init_method=None,
    timeout=None,
    world_size=-1,
    rank=-1,
    store=None,
    group_name="",
    pg_options=None,
    device_id=None,
):
    """Meet the other ranks, and make the process group of all of them.

    Parameters
    ----------
    backend : "mpi", "gloo" (here another name for it), "threads", or None for what fits
    init_method : str, where the ranks meet: "env://" (the default) asks MASTER_ADDR,
        MASTER_PORT, RANK and WORLD_SIZE, or what mpiexec or srun have set; "tcp://host:port"
        and "file:///path" need `rank` and `world_size`
    timeout : timedelta until a wait ends with an error; 30 minutes
    world_size, rank : int, how many processes there are and which this is
    store : Store, through which the ranks meet instead of `init_method`
    group_name, pg_options, device_id : accepted for PyTorch's sake

    Raises
    ------
    ValueError
        If there is a default group already, or an argument is missing.
    DistNetworkError
        If the ranks can't meet.
    MissingExtra
        If there are several processes, and mpi4py isn't installed.

    Examples
    --------
    >>> init_process_group("gloo", rank=0, world_size=1)
    >>> get_world_size()
    1
    >>> destroy_process_group()
    """
    ours, place = world.current(), world.place_of_thread()
    if place is not None and place.has_group and ours.default is not None:
        place.has_group = False  # threads.spawn has made the group that the program now asks for
        ours.default.timeout = seconds_of(timeout, ours.default.timeout)
        return
    if ours.default is not None:
        raise ValueError("trying to initialize the default process group twice! "
                         "Call destroy_process_group() before")  # fmt: skip
    name = checked_backend(backend)
    if init_method is not None and store is not None:
        raise ValueError("init_process_group: Cannot specify both init_method and store.")
    seconds = seconds_of(timeout, default_pg_timeout.total_seconds())
    if place is not None:
        transport = ThreadTransport(
            place.house, tuple(range(place.house.size)), place.rank, "world"
        )
    elif HERE[name] == "threads" or (rank, world_size) == (0, 1):
        transport = alone(name, rank, world_size)
    else:
        transport = rendezvous.meet(name, init_method, rank, world_size, store, seconds)
    ranks = range(transport.size)
    ours.default = ProcessGroup(transport, ranks, "world", name, seconds, desc="default_pg")
    ours.groups["world"] = ours.default


def alone(name, rank, world_size):
    """Return the transport of a group of one rank, which needs no other process."""
    if world_size not in (-1, 1):
        raise ValueError(
            f"init_process_group: the backend {name!r} joins threads of one process: start "
            f"them with distributed.threads.spawn(function, nprocs={world_size})"
        )
    return ThreadTransport(House(1), (0,), 0, "world")


def destroy_process_group(group=None):
    """End a process group; without an argument, all groups of this rank.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    ours = world.current()
    ending = the_group(group, "destroy_process_group")
    if ending is GroupMember.NON_GROUP_MEMBER:
        return
    if ours.groups.get(ending.group_name) is not ending:
        raise ValueError(
            "destroy_process_group: Invalid process group specified or has been destroyed"
        )
    if ending is not ours.default:
        del ours.groups[ending.group_name]
        ending.transport.close()
        return
    for one in reversed(ours.groups.values()):
        one.transport.close()
    ours.groups.clear()
    ours.made.clear()
    ours.default = None
