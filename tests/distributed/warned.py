"""Hear the warnings of rank-threads. Filters are the process's own, so only the main thread sets them."""

import warnings

from tensorlab import distributed as dist


def spawn_and_hear(program, args=(), nprocs=2):
    """Return the results of the ranks, and the texts of all warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        results = dist.threads.spawn(program, args, nprocs)
    return results, [str(one.message) for one in seen]
