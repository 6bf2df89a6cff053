"""ProcessGroup, and what a rank can ask: which groups it is in, and its place in them."""

import os

from tensorlab.autograd.grad_mode import no_grad
from tensorlab.autograd.graph import increment_version
from tensorlab.distributed import world
from tensorlab.distributed.calls import Call
from tensorlab.distributed.work import seconds_of

__all__ = [
    "Backend",
    "GroupMember",
    "ProcessGroup",
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
    "is_initialized",
]


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

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def show(rank):
    ...     group = dist.group.WORLD
    ...     return group.rank(), group.size(), group.name()
    ...
    >>> dist.threads.spawn(show, nprocs=2)
    [(0, 2, 'threads'), (1, 2, 'threads')]
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
    """`group.WORLD` is the group of all ranks, or None before init_process_group.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def show(rank):
    ...     return dist.group.WORLD.size()
    ...
    >>> dist.threads.spawn(show, nprocs=2)
    [2, 2]
    """


class GroupMember(metaclass=WorldOfGroup):
    """`GroupMember.NON_GROUP_MEMBER` is what `new_group` returns to a rank that isn't in it.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def show(rank):
    ...     first = dist.new_group([0])
    ...     return first is dist.GroupMember.NON_GROUP_MEMBER
    ...
    >>> dist.threads.spawn(show, nprocs=2)
    [False, True]
    """

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
            "call init_process_group: this process doesn't know its rank yet"
        )
    return default


def is_member(given):
    """Return whether this rank is in a group that it was given."""
    return given is not GroupMember.NON_GROUP_MEMBER


def get_rank(group=None):
    """Return this rank's place in a group, or -1 if it isn't in it.

    Raises
    ------
    ValueError
        If there is no process group yet.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def number(rank):
    ...     return dist.get_rank()
    ...
    >>> dist.threads.spawn(number, nprocs=2)
    [0, 1]
    """
    return the_group(group, "get_rank").rank() if is_member(group) else -1


def get_world_size(group=None):
    """Return how many ranks a group has, or -1 if this rank isn't in it.

    Raises
    ------
    ValueError
        If there is no process group yet.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def count(rank):
    ...     return dist.get_world_size()
    ...
    >>> dist.threads.spawn(count, nprocs=2)
    [2, 2]
    """
    return the_group(group, "get_world_size").size() if is_member(group) else -1


def get_backend(group=None):
    """Return the name of a group's backend, as it was asked for.

    Raises
    ------
    ValueError
        If there is no process group yet, or this rank isn't in it.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def name(rank):
    ...     return dist.get_backend()
    ...
    >>> dist.threads.spawn(name, nprocs=2)
    ['threads', 'threads']
    """
    if not is_member(group):
        raise ValueError("get_backend: Invalid process group specified: this rank isn't in it")
    return Backend(the_group(group, "get_backend").backend)


def get_backend_config(group=None):
    """Return the backend for each type of device, such as "cpu:gloo".

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_backend_config()
    'cpu:gloo'
    >>> dist.destroy_process_group()
    """
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
    """Return the members of a group, as a list of their ranks in the default group.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def ranks(rank):
    ...     return dist.get_process_group_ranks(dist.group.WORLD)
    ...
    >>> dist.threads.spawn(ranks, nprocs=2)
    [[0, 1], [0, 1]]
    """
    return list(the_group(group, "get_process_group_ranks").ranks)


def get_group_rank(group, global_rank):
    """Return the place in a group of a rank of the default group.

    Raises
    ------
    ValueError
        If it isn't in it.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def number(rank):
    ...     last = dist.new_group([1, 2])  # every rank calls it, those outside, too
    ...     return dist.get_group_rank(last, 2) if rank else None
    ...
    >>> dist.threads.spawn(number, nprocs=3)[2]
    1
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

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def number(rank):
    ...     last = dist.new_group([1, 2])  # every rank calls it, those outside, too
    ...     return dist.get_global_rank(last, 0) if rank else None
    ...
    >>> dist.threads.spawn(number, nprocs=3)[2]
    1
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

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> dist.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "get_node_local_rank: LOCAL_RANK is not in the environment; start the program with "
        "python -m tensorlab.distributed.run, or give a fallback"
    )
