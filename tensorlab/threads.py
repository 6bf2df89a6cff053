"""How many threads large operations use, loops and matrix products alike.

There is one pool of threads (_core/loops/parallel.pyx). BLAS computes in it, too; its own
threads belong to the rest of the process.
"""

from tensorlab._core.loops.parallel import get_threads, set_threads
from tensorlab.errors import ArgumentTypeError, NumberOutOfRange


def set_num_threads(num_threads):
    """Let large operations use `num_threads` threads.

    Parameters
    ----------
    num_threads : int, at least 1

    Raises
    ------
    ArgumentTypeError
        If it is not an int.
    RuntimeError
        If it is less than 1.
    NumberOutOfRange
        If it does not fit in 32 bits.

    >>> import tensorlab
    >>> tensorlab.set_num_threads(2)
    >>> tensorlab.get_num_threads()
    2
    """
    if not isinstance(num_threads, int) or isinstance(num_threads, bool):
        raise ArgumentTypeError(
            f"set_num_threads: num_threads must be an int, not {type(num_threads).__name__}"
        )
    if not -(2**31) <= num_threads < 2**31:
        raise NumberOutOfRange(f"set_num_threads: {num_threads} does not fit in 32 bits")
    if num_threads < 1:
        raise RuntimeError(f"set_num_threads: at least 1 thread is needed, not {num_threads}")
    set_threads(num_threads)


def get_num_threads():
    """How many threads large operations may use; at first, the processors that the process may run on.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.get_num_threads() >= 1
    True
    """
    return get_threads()
