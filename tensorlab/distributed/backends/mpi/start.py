"""Starting MPI in a process: by mpiexec or srun, if that has started it, or through the server."""

import atexit
import contextlib
import ctypes
import faulthandler
import os
import sys

from tensorlab.distributed.stores.connection import Connection
from tensorlab.errors import DistBackendError, MissingExtra

OF_PMI = ("PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMI_ID")
SHARED = "/dev/shm/mpich_shm_"
broken: list = []  # errors of calls that were given up, which MPI's end would wait for
lines: list = []  # connections to the server's PMI, which MPI holds to its end


def library():
    """Return mpi4py's module MPI, without starting MPI.

    Raises
    ------
    MissingExtra
        If mpi4py isn't installed, or finds no MPI.
    """
    try:
        import mpi4py

        mpi4py.rc.initialize = mpi4py.rc.finalize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise MissingExtra(
            f"distributed: ranks that are processes need mpi4py and an MPI ({error}); install "
            "them "
            'with: pip install "tensorlab-book[distributed]"'
        ) from error
    return MPI


@contextlib.contextmanager
def ended_after(seconds):
    """End the process where what is inside takes longer, even if it holds the interpreter's lock.

    So it is with MPI's start, if a rank hangs in the middle of it. The traceback shows the
    place.
    """
    try:
        faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__)
    except (AttributeError, OSError, ValueError, RuntimeError):
        yield  # there is no standard error to write to
        return
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def by_environment():
    """Start MPI in a process that mpiexec or srun has started, and end it with the process."""
    MPI = library()
    MPI.Init_thread(MPI.THREAD_MULTIPLE)
    atexit.register(finalize)


def finalize():
    """End MPI, where no error ends the process: with one, mpiexec is to end the other ranks."""
    if getattr(sys, "last_value", None) is None and not broken:
        library().Finalize()


def init_thread(MPI):
    """Start MPI as mpi4py's Init_thread does, but without the interpreter's lock, so that the watcher can run."""
    try:
        function = ctypes.CDLL(MPI.__file__).MPI_Init_thread
    except (AttributeError, OSError):  # an MPI that is linked in
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
        return
    code = function(None, None, MPI.THREAD_MULTIPLE, ctypes.byref(ctypes.c_int()))
    if code:
        raise DistBackendError(f"init_process_group: MPI could not start: error {code}")
    for comm in (MPI.COMM_SELF, MPI.COMM_WORLD):
        comm.Set_errhandler(MPI.ERRORS_RETURN)


def end_process(rank, reason):
    """End this process, as a rank is lost for which MPI's start would wait forever, or crash."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    with contextlib.suppress(Exception):
        text = (
            f"init_process_group: rank {rank} is gone ({reason}) while MPI was starting. MPI's "
            "start can't be given up, so this process ends; start all ranks anew\n"
        )
        print(text, end="", file=sys.__stderr__, flush=True)
    unlink_shared()
    os._exit(1)


def through_server(host, port, world, rank, size, seconds, watcher):
    """Start MPI in a process that no mpiexec has started; return mpi4py's module.

    MPI finds the others through the server, to which it gets a connection that is open already.
    """
    MPI = library()
    line = Connection(host, port, seconds)
    hello = {"what": "pmi", "world": world, "rank": rank, "timeout": seconds}
    line.greet(hello, seconds + 10)
    line.socket.setblocking(True)  # MPI knows no other way to read it
    lines.append(line)
    kept = {name: os.environ.pop(name, None) for name in OF_PMI}
    os.environ.update(PMI_FD=str(line.socket.fileno()), PMI_RANK=str(rank), PMI_SIZE=str(size))
    try:
        with ended_after(seconds), watcher.calling(end_process):
            init_thread(MPI)
    except MPI.Exception as error:
        raise DistBackendError(
            f"init_process_group: MPI could not start ({error}); a rank has failed meanwhile, "
            "or the machines can't reach each other"
        ) from error
    finally:
        for name in OF_PMI:  # processes that this one starts are not ranks of this MPI
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in kept.items() if value is not None})
    return MPI


def unlink_shared():
    """Remove the name of the memory that MPI shares: it lives on as long as its processes do."""
    try:
        with open("/proc/self/maps") as maps:
            names = {line.split(maxsplit=5)[-1].strip() for line in maps if SHARED in line}
    except OSError:
        return
    for name in names:
        try:
            os.unlink(name)
        except OSError:
            pass  # another rank was first
