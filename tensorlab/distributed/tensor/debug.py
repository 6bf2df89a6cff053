"""What a program exchanges: CommDebugMode counts it, and visualize_sharding shows who has what."""

import collections

from tensorlab.distributed.process_groups import the_group
from tensorlab.distributed.tensor.layouts import local_range

__all__ = ["CommDebugMode", "visualize_sharding"]


class CommDebugMode:
    """A block in which this rank's collectives are counted.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Replicate, Shard, distribute_tensor
    >>> def count(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     x = distribute_tensor(tensorlab.ones(4, 4), mesh, [Shard(1)])
    ...     y = distribute_tensor(tensorlab.ones(4, 4), mesh, [Shard(0)])
    ...     with CommDebugMode() as mode:
    ...         (x @ y).redistribute(placements=[Replicate()])
    ...     return mode.get_comm_counts()
    >>> dist.threads.spawn(count, nprocs=2)[0]
    {'all_reduce': 1}
    """

    def __init__(self):
        self.calls = []

    def __enter__(self):
        self.calls, self.recorder = [], the_group(None, "CommDebugMode").transport.recorder
        note = self.recorder.note

        def count(call):
            self.calls.append(call)
            note(call)

        self.recorder.note = count
        return self

    def __exit__(self, *exception):
        del self.recorder.note

    def get_comm_counts(self):
        """Return how often each kind of collective was called, as a dict."""
        return dict(collections.Counter(call.kind for call in self.calls))

    def get_total_counts(self):
        """Return how many collectives were called."""
        return len(self.calls)

    def generate_comm_debug_tracing_table(self, noise_level=3):
        """Return the calls as text, one a line."""
        return "\n".join(call.what() for call in self.calls)


def visualize_sharding(dtensor, header="", use_rich=False):
    """Print which rows and columns of a DTensor each rank has, for one or two dimensions.

    Parameters
    ----------
    dtensor : DTensor
    header : str, printed before
    use_rich : bool, accepted for PyTorch's sake

    Raises
    ------
    RuntimeError
        If it has more dimensions.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Shard, zeros
    >>> def show(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     x = zeros(3, 2, device_mesh=mesh, placements=[Shard(0)])
    ...     if rank == 0:
    ...         visualize_sharding(x)
    >>> _ = dist.threads.spawn(show, nprocs=2)
    rows 0-1, columns 0-1: ranks 0
    rows 2-2, columns 0-1: ranks 1
    """
    spec = dtensor._spec
    if spec.ndim > 2:
        raise RuntimeError(
            f"visualize_sharding: it shows tensors of 1 or 2 dimensions, not of {spec.ndim}"
        )
    places = collections.defaultdict(list)
    for place, rank in enumerate(spec.mesh.ranks):
        coordinate, left = [], place
        for size in reversed(spec.mesh.shape):
            left, at = divmod(left, size)
            coordinate.insert(0, at)
        box = []
        for dim, (n, name) in enumerate(zip(spec.shape, ("rows", "columns"), strict=False)):
            first, count = local_range(n, dim, spec.mesh, spec.placements, coordinate)
            box.append(f"{name} {first}-{first + count - 1}" if count else f"no {name}")
        places[", ".join(box)].append(rank)
    if header:
        print(header)
    for box, ranks in places.items():
        print(f"{box}: ranks {', '.join(map(str, ranks))}")
