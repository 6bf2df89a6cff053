"""How ranks find each other, and how MPI starts in them."""

import os
import socket
import time

from tensorlab import _missing
from tensorlab.distributed.backends import mpi
from tensorlab.distributed.backends.mpi import start
from tensorlab.distributed.flight_recorder import FlightRecorder
from tensorlab.distributed.server import starting
from tensorlab.distributed.stores import TCPStore
from tensorlab.errors import DistBackendError, DistStoreError

from . import places
from .watcher import Watcher

served: dict = {}  # (host, port): the server that this process has started there
met = 0  # how many worlds this process has been in


def meet(backend, init_method, rank, world_size, store, timeout_seconds):
    """Meet the other ranks, and return this one's end of the world.

    Parameters
    ----------
    backend : str, "mpi"
    init_method : None, "env://", "tcp://host:port" or "file:///path"
    rank, world_size : int, or -1 where the environment says
    store : Store or None, in which to leave the address
    timeout_seconds : float

    Returns
    -------
    Transport
        Its `store` is shared by all ranks; its `recorder` keeps this rank's calls.

    Raises
    ------
    ValueError
        If nothing says who this rank is or where to meet.
    DistStoreError
        If ranks don't come in time.
    DistNetworkError
        If the port is in use, or nothing answers.
    MissingExtra
        If mpi4py isn't installed.
    """
    global met
    MPI = start.library()
    recorder = FlightRecorder()
    name = "/".join(
        [
            os.environ.get("TORCHELASTIC_RUN_ID", "none"),
            os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"),
            str(met),
        ]
    )
    own = bool(start.lines)  # whether MPI runs already, through our own server
    if not own and not MPI.Is_initialized() and places.is_in_mpi(rank, world_size):
        start.by_environment()
    if MPI.Is_initialized():
        check_same(MPI, rank, world_size)
        rank, world_size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    if MPI.Is_initialized() and not own:
        place = place_in_mpi(MPI, rank, world_size, timeout_seconds)
    else:
        place = places.find(init_method, rank, world_size, store)
        if place.store is not None:
            address_by_store(place, name, timeout_seconds)
        elif place.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
            place.port = serve(place.host, place.port).port
    hello = {
        "what": "watch",
        "world": name,
        "rank": place.rank,
        "size": place.size,
        "pid": os.getpid(),
        "host": socket.gethostname(),
    }
    watcher = Watcher(place.host, place.port, hello, recorder, timeout_seconds)
    watcher.await_all(timeout_seconds, place.size)
    if place.file is not None and place.rank == 0:
        os.unlink(place.file)
    if not MPI.Is_initialized():
        start.through_server(
            place.host, place.port, name, place.rank, place.size, timeout_seconds, watcher
        )
    watcher.say({"running": True})
    met += 1
    shared = TCPStore._of_world(place.host, place.port, name, timeout_seconds)
    world = mpi.World(MPI, watcher, recorder, shared, place, timeout_seconds)
    return world.transport


def serve(host, port):
    """Start the server at a port of this machine, or use the one that this process has there.

    It ends with the processes that it serves.
    """
    server = served.get((host, port))
    if server is None or server.has_ended():
        server = starting.Process(starting.listen(host, port))
        served[host, server.port] = server
    return server


def address_by_store(place, name, seconds):
    """Leave the server's address in a store, at rank 0, or read it there."""
    key = f"tensorlab/{name}"
    if place.rank == 0:
        place.host, place.port = places.own_address(), serve("", 0).port
        place.store.set(key, f"{place.host}:{place.port}")
        return
    try:
        place.store.wait([key], seconds)
    except DistStoreError:
        raise DistStoreError(
            f"init_process_group: rank 0 did not come within {seconds:g} s: the store has no "
            "address of it. Look whether it was started, or failed before init_process_group"
        ) from None
    host, _, port = place.store.get(key).decode().rpartition(":")
    place.host, place.port = host, int(port)


def place_in_mpi(MPI, rank, size, seconds):
    """Return the Place of a rank that mpiexec started; rank 0 starts the server, and sends its address."""
    comm = MPI.COMM_WORLD
    address = bytearray(256)
    if comm.rank == 0:
        local = os.environ.get("MPI_LOCALNRANKS") or os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE")
        host = "127.0.0.1" if local == str(comm.size) else places.own_address()
        text = f"{host}:{serve(host, 0).port}".encode()
        address[: len(text)] = text
    request = comm.Ibcast([address, MPI.BYTE], root=0)
    until = time.monotonic() + seconds
    while not request.Test():
        if time.monotonic() > until:
            raise DistStoreError(
                f"init_process_group: rank 0 of {comm.size} did not come within {seconds:g} s; "
                "look whether it calls init_process_group, too"
            )
        time.sleep(0.001)
    host, _, port = address.rstrip(b"\0").decode().rpartition(":")
    return places.Place(comm.rank, comm.size, host, int(port))


def check_same(MPI, rank, size):
    """Refuse to be another rank than the one that MPI has started as."""
    comm = MPI.COMM_WORLD
    if rank not in (-1, comm.rank) or size not in (-1, comm.size):
        raise DistBackendError(
            f"init_process_group: MPI runs as rank {comm.rank} of {comm.size}, and can't "
            f"become rank {rank} of {size}: it starts once in a process. Start new processes, "
            "or keep rank and world_size. If mpiexec has not started this program, something "
            "has imported mpi4py.MPI, which starts MPI for itself: set mpi4py.rc.initialize = "
            "False before that"
        )


__getattr__ = _missing.refusing(__name__)
