"""The names that programs call backends by, and which of them are here."""

from tensorlab.distributed import world
from tensorlab.distributed.membership import Backend

NO_CUDA = 'it is for CUDA devices, and there are none; use "gloo" or "mpi"'
HERE = {"mpi": "mpi", "gloo": "mpi", "cpu:gloo": "mpi", "cpu:mpi": "mpi", "threads": "threads"}


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
