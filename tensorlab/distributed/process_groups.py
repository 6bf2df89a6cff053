"""Process groups: ranks that call collectives together.

`init_process_group` makes the group of all ranks. Groups of some of them are made from it, and
each has a transport of its own (backends/), so that their calls don't get mixed up.
"""

import datetime
import os

from tensorlab.autograd.grad_mode import no_grad
from tensorlab.autograd.graph import increment_version
from tensorlab.distributed import rendezvous, world
from tensorlab.distributed.backends.threads import House, ThreadTransport
from tensorlab.distributed.calls import Call
from tensorlab.distributed.work import seconds_of
from tensorlab.errors import DistBackendError

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
NO_CUDA = 'it is for CUDA devices, and there are none; use "gloo" or "mpi"'
HERE = {"mpi": "mpi", "gloo": "mpi", "cpu:gloo": "mpi", "cpu:mpi": "mpi", "threads": "threads"}


class Backend(str):
    """The name of a backend, in lower case: "mpi", "gloo" or "threads".

    Examples
    --------
    >>> Backend("GLOO") == Backend.GLOO
    True
    """

    UNDEFINED, GLOO, NCCL, UCC, MPI = "undefined", "gloo", "nccl", "ucc", "mpi"
    XCCL, THREADS = "xccl", "threads"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, THREADS]  # noqa: RUF012 - as PyTorch's

    __slots__ = ()

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError(
                f"Backend constructor parameter must be string, not {type(name).__name__}"
            )
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """Some ranks that call collectives together, as one of them sees it.

    `init_process_group` and `new_group` make them, and functions such as `all_reduce` take one.

    Attributes
    ----------
    ranks : tuple of int, the members by their rank in the default group, in the group's order
    transport : what carries its calls
    group_name, group_desc : str
    timeout : float, seconds until a wait ends with an error
    """

    def __init__(self, transport, ranks, name, backend, timeout, desc=None):
        self.transport, self.ranks = transport, tuple(ranks)
        self.group_name, self.group_desc = name, desc or name
        self.backend, self.timeout = backend, timeout
        self.place_of = {rank: place for place, rank in enumerate(self.ranks)}
        self.calls = self.messages = 0

    def __repr__(self):
        return (
            f"<ProcessGroup {self.group_name!r}: rank {self.rank()} of {self.size()}, "
            f"backend {self.backend}>"
        )

    def rank(self):
        """Return this rank's place in the group."""
        return self.transport.rank

    def size(self):
        """Return how many ranks the group has."""
        return self.transport.size

    def name(self):
        """Return the name of the backend."""
        return self.backend

    def set_timeout(self, timeout):
        """Set how long later calls wait, as a timedelta."""
        self.timeout = seconds_of(timeout, self.timeout)

    def submit(self, kind, inputs=(), outputs=(), *, timeout=None, **details):
        """Begin a call and return its Work.

        Parameters
        ----------
        kind : str, one of calls.KINDS
        inputs, outputs : sequences of tensors, of any strides
        details : other attributes of the Call
        """
        return self.transport.start(self.prepare(kind, inputs, outputs, timeout, details))

    def run(self, kind, inputs=(), outputs=(), *, timeout=None, **details):
        """Make a call and wait for its end."""
        return self.transport.run(self.prepare(kind, inputs, outputs, timeout, details))

    def prepare(self, kind, inputs, outputs, timeout, details):
        """Return a Call whose tensors are contiguous; its `finish` copies what isn't."""
        read = [plain(x) for x in inputs]
        written, copies = [], []
        for x in outputs:
            place = next((i for i, given in enumerate(inputs) if given is x), None)
            # A result that is also an operand is worked on in place.
            buffer = plain(x) if place is None else read[place]
            if not x.is_inference():
                increment_version(x)
            if buffer.data_ptr() != x.data_ptr():
                copies.append((x.detach(), buffer))
            written.append(buffer)
        if copies:
            details["finish"] = lambda: copy_all(copies)
        if kind in ("send", "recv"):
            number = self.messages = self.messages + 1
        else:
            number = self.calls = self.calls + 1
        limit = seconds_of(timeout, self.timeout)
        call = Call(kind, read, written, self.group_name, number, timeout=limit, **details)
        self.transport.recorder.note(call)
        return call


def plain(x):
    """Return a contiguous tensor that autograd doesn't follow, over the same memory if it can be."""
    x = x.detach() if x.requires_grad else x
    return x if x.is_contiguous() else x.contiguous()


def copy_all(copies):
    with no_grad():
        for target, source in copies:
            target.copy_(source)


class WorldOfGroup(type):
    """Gives `group.WORLD` and `GroupMember.WORLD` their value, which each rank has for itself."""

    @property
    def WORLD(cls):
        """The group of all ranks, or None before init_process_group."""
        return world.current().default


class group(metaclass=WorldOfGroup):
    """`group.WORLD` is the group of all ranks, or None before init_process_group."""


class GroupMember(metaclass=WorldOfGroup):
    """`GroupMember.NON_GROUP_MEMBER` is what `new_group` returns to a rank that isn't in it."""

    NON_GROUP_MEMBER = -100


def is_initialized():
    """Return whether this rank has a default process group.

    Examples
    --------
    >>> is_initialized()
    False
    """
    return world.current().default is not None


def the_group(given=None, where="distributed"):
    """Return the process group that a function was given, by default the one of all ranks.

    Raises
    ------
    ValueError
        If there is none yet.
    """
    if given is not None:
        return given
    default = world.current().default
    if default is None:
        raise ValueError(
            f"{where}: Default process group has not been initialized, please make sure to "
            "call "
            f"init_process_group: this process doesn't know its rank yet"
        )
    return default


def is_member(given):
    """Return whether this rank is in a group that it was given."""
    return given is not GroupMember.NON_GROUP_MEMBER


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
            "them with "
            f"distributed.threads.spawn(function, nprocs={world_size})"
        )
    return ThreadTransport(House(1), (0,), 0, "world")


def checked_backend(backend):
    """Return the name of a backend that is here, in lower case.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    if backend is None:
        return "threads" if world.place_of_thread() else "mpi"
    name = str(Backend(backend))
    names = [part.partition(":")[2] or part for part in name.split(",")]
    if name not in HERE and "gloo" in names:  # "cpu:gloo,cuda:nccl": the part for the CPU
        name = "gloo"
    if name not in HERE:
        why = NO_CUDA if "nccl" in names else f"known are {', '.join(HERE)}"
        raise ValueError(f"init_process_group: the backend {backend!r} is not here: {why}")
    return name


def destroy_process_group(group=None):
    """End a process group; without an argument, all groups of this rank.

    Raises
    ------
    ValueError
        If there is none.
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


def get_rank(group=None):
    """Return this rank's place in a group, or -1 if it isn't in it.

    Raises
    ------
    ValueError
        If there is no process group yet.
    """
    return the_group(group, "get_rank").rank() if is_member(group) else -1


def get_world_size(group=None):
    """Return how many ranks a group has, or -1 if this rank isn't in it.

    Raises
    ------
    ValueError
        If there is no process group yet.
    """
    return the_group(group, "get_world_size").size() if is_member(group) else -1


def get_backend(group=None):
    """Return the name of a group's backend, as it was asked for.

    Raises
    ------
    ValueError
        If there is no process group yet, or this rank isn't in it.
    """
    if not is_member(group):
        raise ValueError("get_backend: Invalid process group specified: this rank isn't in it")
    return Backend(the_group(group, "get_backend").backend)


def get_backend_config(group=None):
    """Return the backend for each type of device, such as "cpu:gloo"."""
    return f"cpu:{get_backend(group)}"


def get_default_backend_for_device(device):
    """Return the backend that fits a device, given as a string or a device: "mpi" on the cpu.

    Raises
    ------
    ValueError
        If there is none for it.
    """
    kind = str(getattr(device, "type", device)).partition(":")[0]
    if kind != "cpu":
        raise ValueError(
            f"Default backend not registered for device : {device}; there is one for the cpu"
        )
    return "mpi"


def get_process_group_ranks(group):
    """Return the members of a group, as a list of their ranks in the default group."""
    return list(the_group(group, "get_process_group_ranks").ranks)


def get_group_rank(group, global_rank):
    """Return the place in a group of a rank of the default group.

    Raises
    ------
    ValueError
        If it isn't in it.
    """
    ours = the_group(group, "get_group_rank")
    if global_rank not in ours.place_of:
        raise ValueError(
            f"Global rank {global_rank} is not part of group {ours}: it has {ours.ranks}"
        )
    return ours.place_of[global_rank]


def get_global_rank(group, group_rank):
    """Return the rank in the default group of a member that is given by its place in a group.

    Raises
    ------
    ValueError
        If the group is smaller.
    """
    ours = the_group(group, "get_global_rank")
    if not 0 <= group_rank < len(ours.ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {ours}")
    return ours.ranks[group_rank]


def get_node_local_rank(fallback_rank=None):
    """Return this process's number on its machine, which a launcher puts into LOCAL_RANK.

    Raises
    ------
    RuntimeError
        If it isn't set, and no fallback is given.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "get_node_local_rank: LOCAL_RANK is not in the environment; start the program with "
        "python -m tensorlab.distributed.run, or give a fallback"
    )


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
