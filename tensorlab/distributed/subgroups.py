"""Groups of some of the ranks, made from a group that stands."""

import os

from tensorlab.distributed import world
from tensorlab.distributed.backends.names import checked_backend
from tensorlab.distributed.membership import (
    GroupMember,
    ProcessGroup,
    get_global_rank,
    is_member,
    the_group,
)
from tensorlab.distributed.work import seconds_of
from tensorlab.errors import DistBackendError

__all__ = [
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "split_group",
]


def new_group(
    ranks=None,
    timeout=None,
    backend=None,
    pg_options=None,
    use_local_synchronization=False,
    group_desc=None,
    device_id=None,
    sort_ranks=True,
):
    """Make a process group of some of the ranks.

    All ranks of the default group call it, those that aren't in the new one as well.

    Parameters
    ----------
    ranks : list of int, ranks of the default group; None means all
    timeout : timedelta; by default as in the default group
    backend : str, accepted where it is the default group's
    pg_options, device_id : accepted for PyTorch's sake
    use_local_synchronization : bool; True means that only the members call it
    group_desc : str, a description
    sort_ranks : bool, whether places in the group follow the ranks; else they follow `ranks`

    Returns
    -------
    ProcessGroup, or GroupMember.NON_GROUP_MEMBER at a rank that isn't in it

    Raises
    ------
    ValueError
        If there is no default group, or `ranks` holds one twice or one that isn't there.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> def add(rank):
    ...     pair = dist.new_group([0, 1])  # every rank calls it, those outside, too
    ...     x = tensorlab.full((1,), 1.0 + rank)
    ...     if rank in (0, 1):
    ...         dist.all_reduce(x, group=pair)
    ...     return x.item()
    ...
    >>> dist.threads.spawn(add, nprocs=3)
    [3.0, 3.0, 3.0]
    """
    everyone = the_group(None, "new_group")
    members = list(range(everyone.size())) if ranks is None else list(ranks)
    members = sorted(members) if sort_ranks else members
    check_ranks(members, everyone, "new_group")
    if backend is not None:
        checked_backend(backend)
    return make_group(everyone, members, timeout, group_desc, backend)


def make_group(parent, members, timeout, desc, backend=None):
    """Make the group of `members`, ranks of the default group; not to be called by others alone."""
    ours = world.current()
    if parent.ranks[parent.rank()] not in members:
        return GroupMember.NON_GROUP_MEMBER
    stem = ",".join(map(str, members))
    again = ours.made.get(stem, 0)  # the same at all members, whatever else they have made
    ours.made[stem] = again + 1
    name = f"{stem}#{again}" if again else stem
    seconds = seconds_of(timeout, parent.timeout)
    transport = parent.transport.split(tuple(parent.place_of[one] for one in members), name)
    made = ProcessGroup(transport, members, name, backend or parent.backend, seconds, desc)
    ours.groups[name] = made
    return made


def check_ranks(members, parent, where):
    """Raise ValueError for a list of ranks that makes no group."""
    if not members:
        raise ValueError(f"{where}: the list of ranks is empty; a group has at least one")
    if len(set(members)) != len(members):
        raise ValueError(f"{where}: {members} names a rank twice")
    strange = [one for one in members if one not in parent.place_of]
    if strange:
        raise ValueError(
            f"{where}: The new group's rank should be within the world_size set by "
            f"init_process_group: {strange} is not in {list(parent.ranks)}"
        )


def new_subgroups(
    group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None
):
    """Cut a group into subgroups of `group_size` neighbouring ranks.

    Returns
    -------
    the subgroup of this rank, and the list of all of them

    Raises
    ------
    ValueError
        If the size doesn't divide the number of ranks.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def number(rank):
    ...     own, every = dist.new_subgroups(2)
    ...     return own.rank(), len(every)
    ...
    >>> dist.threads.spawn(number, nprocs=4)
    [(0, 2), (1, 2), (0, 2), (1, 2)]
    """
    whole = the_group(group, "new_subgroups")
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", whole.size()))
    if not 0 < group_size <= whole.size() or whole.size() % group_size:
        raise ValueError(
            f"new_subgroups: the world size ({whole.size()}) must be divisible by "
            f"group_size={group_size}"
        )
    lists = [
        list(whole.ranks[first : first + group_size])
        for first in range(0, whole.size(), group_size)
    ]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None
):
    """Make a subgroup of each list of ranks; no rank may be in two of them.

    Returns
    -------
    the subgroup of this rank, or None if it is in none, and the list of all of them

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def number(rank):
    ...     own, every = dist.new_subgroups_by_enumeration([[0, 2], [1, 3]])
    ...     return own.rank()
    ...
    >>> dist.threads.spawn(number, nprocs=4)
    [0, 0, 1, 1]
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    everyone = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(everyone)) != len(everyone):
        twice = sorted({rank for rank in everyone if everyone.count(rank) > 1})
        raise ValueError(f"new_subgroups_by_enumeration: ranks {twice} are in two subgroups")
    made = [new_group(list(ranks), timeout, backend, group_desc=group_desc, sort_ranks=False)
            for ranks in ranks_per_subgroup_list]  # fmt: skip
    own = next((one for one in made if is_member(one)), None)
    return own, made


def split_group(
    parent_pg=None,
    split_ranks=None,
    timeout=None,
    pg_options=None,
    group_desc=None,
    group_name=None,
):
    """Split a group into several, and return the one that this rank is in, or None.

    Parameters
    ----------
    parent_pg : ProcessGroup, by default the group of all ranks; all of its ranks call this
    split_ranks : list of lists of int, places in `parent_pg`

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def number(rank):
    ...     own = dist.split_group(split_ranks=[[0, 2], [1, 3]])
    ...     return own.rank()
    ...
    >>> dist.threads.spawn(number, nprocs=4)
    [0, 0, 1, 1]
    """
    parent = the_group(parent_pg, "split_group")
    if not split_ranks:
        raise ValueError("split_group: split_ranks cannot be None or empty")
    own = None
    for places in split_ranks:
        members = [get_global_rank(parent, place) for place in sorted(places)]
        check_ranks(members, parent, "split_group")
        made = make_group(parent, members, timeout, group_desc)
        if is_member(made):
            if own is not None:
                raise DistBackendError("split_group: a rank is in two of the lists")
            own = made
    return own
