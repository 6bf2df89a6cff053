"""Collectives for Python objects: pickled, and sent as tensors of bytes, after their lengths.

As with every pickle, an object from another rank can run code: ranks must trust each other.
"""

import pickle

import numpy as np

from tensorlab._core.dtypes import BY_NAME
from tensorlab._core.interop.arrays import from_numpy
from tensorlab.distributed import arguments, collectives, point_to_point
from tensorlab.distributed.process_groups import get_group_rank, is_member, the_group
from tensorlab.ops.creation import empty, zeros

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]

BYTE = BY_NAME["uint8"]


def packed(value):
    """Return an object as a tensor of bytes."""
    return from_numpy(np.frombuffer(bytearray(pickle.dumps(value)), np.uint8))


def unpacked(data):
    """Return the object of a tensor of bytes."""
    return pickle.loads(data.numpy().tobytes())


def lengths_of(data, group):
    """Return the number of bytes that each rank has."""
    own = from_numpy(np.array([data.numel()]))
    every = zeros(group.size(), dtype=own.dtype)
    collectives.all_gather_into_tensor(every, own, group)
    return every.tolist()


def all_gather_object(object_list, obj, group=None):
    """Bring an object of each rank to all ranks.

    Parameters
    ----------
    object_list : list with a place for each rank, which are written
    obj : any object that can be pickled

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def tell(rank):
    ...     names = [None, None]
    ...     dist.all_gather_object(names, f"I am {rank}")
    ...     return names
    >>> dist.threads.spawn(tell, nprocs=2)[1]
    ['I am 0', 'I am 1']
    """
    if arguments.outside(group, "all_gather_object"):
        return
    group = the_group(group, "all_gather_object")
    check_places(object_list, group, "all_gather_object", "object_list")
    data = packed(obj)
    parts = [empty(n, dtype=data.dtype) for n in lengths_of(data, group)]
    collectives.all_gather(parts, data, group)
    object_list[:] = [unpacked(part) for part in parts]


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Bring an object of each rank to one rank.

    Parameters
    ----------
    obj : any object that can be pickled
    object_gather_list : list with a place for each rank, at `dst` alone, which are written
    dst : int, a rank of the default group, by default 0; or `group_dst`, a place in `group`

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def collect(rank):
    ...     names = [None, None] if rank == 0 else None
    ...     dist.gather_object(f"rank {rank}", names, dst=0)
    ...     return names
    ...
    >>> dist.threads.spawn(collect, nprocs=2)
    [['rank 0', 'rank 1'], None]
    """
    if arguments.outside(group, "gather_object"):
        return
    group = the_group(group, "gather_object")
    dst = group.ranks[0] if dst is None and group_dst is None else dst
    root = arguments.root_of(group, dst, group_dst, "gather_object", "dst")
    is_root = group.rank() == root
    if is_root:
        check_places(object_gather_list, group, "gather_object", "object_gather_list")
    data = packed(obj)
    longest = max(lengths_of(data, group))
    padded = zeros(longest, dtype=data.dtype)
    padded[: data.numel()] = data
    parts = [empty(longest, dtype=data.dtype) for _ in range(group.size())] if is_root else None
    collectives.gather(padded, parts, group=group, group_dst=root)
    if is_root:  # a pickle says itself where it ends
        object_gather_list[:] = [unpacked(part) for part in parts]


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Replace the objects of a list by those of one rank.

    Parameters
    ----------
    object_list : list, equally long at all ranks
    src : int, a rank of the default group, by default 0; or `group_src`, a place in `group`
    device : accepted for PyTorch's sake

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def tell(rank):
    ...     settings = [{"lr": 0.1}] if rank == 0 else [None]
    ...     dist.broadcast_object_list(settings, src=0)
    ...     return settings[0]
    ...
    >>> dist.threads.spawn(tell, nprocs=2)
    [{'lr': 0.1}, {'lr': 0.1}]
    """
    if arguments.outside(group, "broadcast_object_list"):
        return
    group = the_group(group, "broadcast_object_list")
    src = group.ranks[0] if src is None and group_src is None else src
    root = arguments.root_of(group, src, group_src, "broadcast_object_list", "src")
    is_root = group.rank() == root
    data = packed(list(object_list)) if is_root else None
    length = from_numpy(np.array([data.numel() if is_root else 0]))
    collectives.broadcast(length, group=group, group_src=root)
    data = data if is_root else empty(length.item(), dtype=BYTE)
    collectives.broadcast(data, group=group, group_src=root)
    if not is_root:
        replace(object_list, unpacked(data), "broadcast_object_list")


def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
):
    """Give each rank one of the objects of one rank.

    Parameters
    ----------
    scatter_object_output_list : list with at least one place; the first one is written
    scatter_object_input_list : list with an object for each rank, at `src` alone
    src : int, a rank of the default group, by default 0; or `group_src`, a place in `group`

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def hand_out(rank):
    ...     mine = [None]
    ...     dist.scatter_object_list(mine, ["first", "second"] if rank == 0 else None)
    ...     return mine[0]
    ...
    >>> dist.threads.spawn(hand_out, nprocs=2)
    ['first', 'second']
    """
    where = "scatter_object_list"
    if arguments.outside(group, where):
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            f"{where}: Expected argument scatter_object_output_list to be a list of size at "
            "least 1."
        )
    group = the_group(group, where)
    src = group.ranks[0] if src is None and group_src is None else src
    root = arguments.root_of(group, src, group_src, where, "src")
    objects = list(scatter_object_input_list or [])
    if group.rank() == root and len(objects) != group.size():
        raise ValueError(f"{where}: there are {len(objects)} objects for {group.size()} ranks")
    everything = objects if group.rank() == root else [None] * group.size()
    broadcast_object_list(everything, group=group, group_src=root)
    scatter_object_output_list[0] = everything[group.rank()]


def send_object_list(
    object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False
):
    """Send the objects of a list to another rank.

    Parameters
    ----------
    object_list : list of objects that can be pickled
    dst : int, a rank of the default group; or `group_dst`, a place in `group`
    device, use_batch : accepted for PyTorch's sake

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def talk(rank):
    ...     words = ["hello"] if rank == 0 else [None]
    ...     if rank == 0:
    ...         dist.send_object_list(words, dst=1)
    ...     else:
    ...         dist.recv_object_list(words, src=0)
    ...     return words[0]
    ...
    >>> dist.threads.spawn(talk, nprocs=2)
    ['hello', 'hello']
    """
    if not is_member(group):
        return
    data = packed(list(object_list))
    length = from_numpy(np.array([data.numel()]))
    point_to_point.send(length, dst, group, group_dst=group_dst)
    point_to_point.send(data, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list, src=None, group=None, device=None, group_src=None, use_batch=False
):
    """Replace the objects of a list by those that another rank sends; return its rank.

    Parameters
    ----------
    object_list : list, as long as the sender's
    src : int, a rank of the default group, or `group_src`, a place in `group`; without either,
        the message of any rank is taken
    device, use_batch : accepted for PyTorch's sake

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def talk(rank):
    ...     words = ["hello"] if rank == 0 else [None]
    ...     if rank == 0:
    ...         dist.send_object_list(words, dst=1)
    ...     else:
    ...         dist.recv_object_list(words, src=0)
    ...     return words[0]
    ...
    >>> dist.threads.spawn(talk, nprocs=2)
    ['hello', 'hello']
    """
    if not is_member(group):
        return -1
    length = from_numpy(np.array([0]))
    source = point_to_point.recv(length, src, group, group_src=group_src)
    data = empty(length.item(), dtype=BYTE)
    point_to_point.recv(data, group=group, group_src=get_group_rank(group, source))
    replace(object_list, unpacked(data), "recv_object_list")
    return source


def check_places(places, group, where, name):
    if not isinstance(places, list) or len(places) != group.size():
        given = (
            f"{len(places)} places" if isinstance(places, list) else f"a {type(places).__name__}"
        )
        raise ValueError(
            f"{where}: {name} is {given}; expected a list of {group.size()}, one place a rank"
        )


def replace(places, objects, where):
    if len(places) != len(objects):
        raise ValueError(
            f"{where}: the sender's list has {len(objects)} objects, and this one {len(places)}"
        )
    places[:] = objects
