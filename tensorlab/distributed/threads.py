"""Run a program of several ranks as threads of this process: for notebooks, tests and a first try.

Nothing else changes in the program: `init_process_group`, collectives and everything built on
them work as between processes, but that module globals and `os.environ` are shared. Each rank
draws random numbers from a default generator of its own.
"""

import functools
import threading
import traceback

from tensorlab import random
from tensorlab.distributed import world
from tensorlab.distributed.backends.threads import House
from tensorlab.distributed.process_groups import (
    destroy_process_group,
    init_process_group,
    is_initialized,
)
from tensorlab.errors import DistBackendError, DistError

__all__ = ["RankFailed", "spawn"]


class RankFailed(DistError):
    """A rank of `threads.spawn` failed; the text holds its traceback.

    Attributes
    ----------
    rank : int
    """

    def __init__(self, message, rank=None):
        super().__init__(message)
        self.rank = rank


class Place:
    """Where a rank-thread is.

    Attributes
    ----------
    house : House
    rank : int
    has_group : bool, whether `spawn` has made a default group that the program may yet ask for
    """

    def __init__(self, house, rank):
        self.house, self.rank, self.has_group = house, rank, False


def spawn(fn, args=(), nprocs=2, *, seed=None, timeout=None, init=True):
    """Call `fn(rank, *args)` for each rank, in threads of their own; return what they return.

    Parameters
    ----------
    fn : function
    args : tuple, its arguments after the rank
    nprocs : int, how many ranks
    seed : int, optional: what each rank's default stream of random numbers starts with; by
        default each rank starts where the caller's stream is, as ranks do that call
        `manual_seed` with one number
    timeout : timedelta or seconds, how long a rank waits for another one
    init : bool; False leaves `init_process_group` to `fn`, as programs for several processes
        do it. With True, a program may still call it

    Returns
    -------
    list of the results, by rank

    Raises
    ------
    RankFailed
        If a rank raises: the error is its cause, and the other ranks have ended.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> spawn(lambda rank: (rank, dist.get_world_size()), nprocs=3)
    [(0, 3), (1, 3), (2, 3)]
    """
    if not isinstance(nprocs, int) or isinstance(nprocs, bool) or nprocs < 1:
        raise ValueError(
            f"threads.spawn: nprocs is {nprocs!r}; expected the number of ranks, at least 1"
        )
    house = House(nprocs)
    results, failures = [None] * nprocs, []
    state = random.get_rng_state() if seed is None else None

    def run(rank):
        world.OF_THREAD.world = world.World()
        place = world.OF_THREAD.place = Place(house, rank)
        reason = "it has returned"
        try:
            with random.own_stream(state, seed):
                if init:
                    init_process_group(timeout=timeout)
                    place.has_group = True
                results[rank] = fn(rank, *args)
        except BaseException as error:
            failures.append((rank, error))
            reason = f"it raised {type(error).__name__}: {error}".splitlines()[0]
        finally:
            house.leave(rank, reason)
            if is_initialized():
                destroy_process_group()

    threads = [
        threading.Thread(target=functools.partial(run, rank), name=f"rank {rank}", daemon=True)
        for rank in range(nprocs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise_first(failures)
    return results


def raise_first(failures):
    """Raise the failure that caused the others: the first one that isn't about a lost rank."""
    rank, error = next(
        (failure for failure in failures if not isinstance(failure[1], DistBackendError)),
        failures[0],
    )
    if not isinstance(error, Exception):
        raise error  # KeyboardInterrupt, SystemExit
    text = "".join(traceback.format_exception(error)).rstrip()
    raise RankFailed(
        f"rank {rank} raised {type(error).__name__}: {error}\n\n{text}", rank
    ) from error
