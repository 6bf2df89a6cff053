"""How many threads tensorlab uses: its own loops (OpenMP) and BLAS (threads of its own) together.

BLAS is told through threadpoolctl, and only once it has been loaded: looking for its libraries takes milliseconds.
"""

import os

from tensorlab._core.iterator import get_loop_threads, set_loop_threads

_blas_libraries = None  # threadpoolctl's controllers, one for each BLAS in the process


def _available_processors():
    """Processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_num_threads(num_threads):
    """Let large operations use `num_threads` threads.

    Parameters
    ----------
    num_threads : int, at least 1

    Raises
    ------
    TypeError
        If it is no int.
    RuntimeError
        If it is less than 1.

    >>> import tensorlab
    >>> tensorlab.set_num_threads(2)
    >>> tensorlab.get_num_threads()
    2
    """
    if not isinstance(num_threads, int) or isinstance(num_threads, bool):
        raise TypeError(
            f"set_num_threads: num_threads must be an int, not {type(num_threads).__name__}"
        )
    if num_threads < 1:
        raise RuntimeError(f"set_num_threads: at least 1 thread is needed, not {num_threads}")
    set_loop_threads(num_threads)
    restore_blas()


def get_num_threads():
    """How many threads large operations may use; at first, the processors that the process may run on."""
    return get_loop_threads()


def blas_is_loaded():
    """Find the BLAS libraries of the process; called when one has been loaded."""
    global _blas_libraries
    from threadpoolctl import ThreadpoolController

    _blas_libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    restore_blas()


def limit_blas(num_threads):
    """Let BLAS use `num_threads` threads until `restore_blas`."""
    for library in _blas_libraries or ():
        library.set_num_threads(num_threads)


def restore_blas():
    """Let BLAS use as many threads as tensorlab."""
    limit_blas(get_loop_threads())


set_loop_threads(_available_processors())
