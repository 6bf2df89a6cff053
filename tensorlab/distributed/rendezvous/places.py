"""Who this process is among the ranks, and where they meet: from arguments and the environment."""

import dataclasses
import os
import re
import socket
import stat
from urllib.parse import parse_qs, urlsplit

from tensorlab.distributed.stores import FileStore

# How launchers number ranks, the first that says so wins.
NUMBERS = (
    ("RANK", "WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
PORT = 29500


@dataclasses.dataclass
class Place:
    """Where one rank meets the others.

    Attributes
    ----------
    rank, size : int
    host, port : str and int, where rank 0 or the launcher serves, or None
    store : Store or None, in which rank 0 leaves the address instead
    file : str or None, the store's file, which no one needs once all have met
    """

    rank: int
    size: int
    host: str | None = None
    port: int | None = None
    store: object = None
    file: str | None = None


def find(init_method, rank, size, store):
    """Return the Place that arguments and environment tell, which -1 and None leave open.

    Raises
    ------
    ValueError
        If rank, world size or address are nowhere to be found, or make no sense.
    """
    address = urlsplit(init_method or "env://")
    query = parse_qs(address.query)
    rank = known(rank, query.get("rank"))
    size = known(size, query.get("world_size"))
    rank, size = from_environment(rank, size)
    if not 0 <= rank < size:
        raise ValueError(f"init_process_group: rank {rank} is not in a world of {size} ranks")
    if store is not None:
        return Place(rank, size, store=store)
    if address.scheme == "file":
        if not address.path:
            raise ValueError(f"init_process_group: {init_method!r} names no file: file:///tmp/run1")
        return Place(rank, size, store=FileStore(address.path, size), file=address.path)
    if address.scheme == "tcp":
        if not address.hostname or not address.port:
            raise ValueError(
                f"init_process_group: {init_method!r} is not of the form tcp://host:port"
            )
        return Place(rank, size, address.hostname, address.port)
    if address.scheme == "env":
        return Place(rank, size, *master(size))
    raise ValueError(
        f"init_process_group: {init_method!r} is no way to meet; use env://, tcp://host:port "
        "or file:///path"
    )


def known(value, given):
    """Return a number that an argument or an address gives, or -1."""
    if value is not None and value >= 0:
        return value
    return int(given[0]) if given else -1


def from_environment(rank, size):
    """Return rank and size, from the environment where they aren't known."""
    for rank_name, size_name in NUMBERS:
        if rank < 0 and rank_name in os.environ:
            rank = number_in(rank_name)
        if size < 0 and size_name in os.environ:
            size = number_in(size_name)
        if rank >= 0 and size >= 0:
            return rank, size
    missing = (
        ("RANK" if rank < 0 else "WORLD_SIZE")
        if (rank < 0) != (size < 0)
        else "RANK and WORLD_SIZE"
    )
    raise ValueError(
        f"init_process_group: {missing} is not known: neither arguments nor the environment "
        "say. Start the program with `tensorlab run --nproc-per-node=2 program.py` or mpiexec, "
        "or give rank= and world_size="
    )


def number_in(name):
    """Return the whole number that a variable of the environment holds."""
    try:
        return int(os.environ[name])
    except ValueError:
        raise ValueError(
            f"init_process_group: {name}={os.environ[name]!r} is not a number"
        ) from None


def master(size):
    """Return the address at which ranks meet, from the environment."""
    environment = os.environ
    host, port = environment.get("MASTER_ADDR"), environment.get("MASTER_PORT")
    if "SLURM_PROCID" in environment:
        host = host or first_host(environment.get("SLURM_STEP_NODELIST") or "localhost")
        port = port or 20000 + int(environment.get("SLURM_JOB_ID", 0)) % 20000
    if size == 1:
        host, port = host or "localhost", port or 0
    if host is None:
        raise ValueError(
            "init_process_group: MASTER_ADDR is not set, so the ranks don't know where to "
            "meet. Set it to rank 0's machine, such as localhost, and MASTER_PORT to a free "
            "port; `tensorlab run` does both"
        )
    return host, PORT if port is None else (
        port if isinstance(port, int) else number_in("MASTER_PORT")
    )


def first_host(nodes):
    """Return the first host of a list as SLURM writes it.

    >>> first_host("node[03-05,9],other"), first_host("a,b")
    ('node03', 'a')
    """
    match = re.match(r"([^\[,]+)(?:\[(\d+)[^\]]*\])?", nodes)
    return match[1] + (match[2] or "") if match else nodes


def is_in_mpi(rank, size):
    """Return whether this process was started by mpiexec, or by others that know how to start MPI.

    A process that a rank has started inherits the variables, but not the descriptor; and a
    program may mean other ranks than mpiexec's, whose number then differs.
    """
    environment = os.environ
    if "PMI_FD" in environment:
        try:
            is_open = stat.S_ISSOCK(os.fstat(int(environment["PMI_FD"])).st_mode)
        except (OSError, ValueError):
            is_open = False
        if not is_open:
            return False
    elif not {"PMI_PORT", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"} & environment.keys():
        return False
    numbers = [number_in(name) for _, name in NUMBERS[1:4] if name in environment]
    return size < 0 or not numbers or numbers[0] == size


def own_address():
    """Return an address of this machine that others may reach."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
