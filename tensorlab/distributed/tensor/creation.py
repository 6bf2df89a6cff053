"""DTensors that are made as such: zeros, ones, empty, full, rand and randn."""

from tensorlab.distributed.tensor.layouts import checked_placements, local_shape, spec_of
from tensorlab.distributed.tensor.placement_types import Replicate
from tensorlab.distributed.tensor.redistribution import redistribute_local
from tensorlab.distributed.tensor.tensors import DTensor, checked_mesh
from tensorlab.ops import creation, random_factories

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def size_of(size):
    """Return the sizes, which are given one by one or as one sequence."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        return tuple(size[0])
    return size


def made(where, size, make, dtype, requires_grad, device_mesh, placements, same_everywhere=True):
    """Make a DTensor of parts that `make(shape, dtype=dtype)` makes.

    Parameters
    ----------
    same_everywhere : bool; False has `make` make the whole tensor, of which a part is kept
    """
    mesh = checked_mesh(device_mesh, where)
    placed = checked_placements(placements, mesh, len(size), where)
    if any(one.is_partial() for one in placed):
        raise ValueError(f"{where}: a new tensor is sharded or replicated, not {placed}")
    shape = local_shape(size, mesh, placed)
    if same_everywhere or mesh.get_coordinate() is None:
        local = make(shape, dtype=dtype)
    else:
        whole = make(size, dtype=dtype)
        everywhere = spec_of(whole, mesh, (Replicate(),) * mesh.ndim)
        local = redistribute_local(whole, everywhere, placed)
    return DTensor(local, spec_of(local, mesh, placed, size), requires_grad=requires_grad)


def zeros(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None):
    """Return a DTensor of zeros.

    Parameters
    ----------
    size : ints, or one sequence of them: the shape of the whole
    requires_grad : bool
    dtype : dtype, by default the default floating type
    layout : accepted for PyTorch's sake
    device_mesh : DeviceMesh, by default that of the block `with mesh:`
    placements : list of Placement, by default Replicate()

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Shard
    >>> def shapes(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     x = zeros(3, 4, device_mesh=mesh, placements=[Shard(0)])
    ...     return tuple(x.shape), tuple(x.to_local().shape)
    >>> dist.threads.spawn(shapes, nprocs=2)
    [((3, 4), (2, 4)), ((3, 4), (1, 4))]
    """
    return made(
        "zeros", size_of(size), creation.zeros, dtype, requires_grad, device_mesh, placements
    )


def ones(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None):
    """Return a DTensor of ones; see `zeros` for the arguments.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Shard, ones
    >>> def make(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     return tuple(ones(4, 3, device_mesh=mesh, placements=[Shard(0)]).to_local().shape)
    ...
    >>> dist.threads.spawn(make, nprocs=2)
    [(2, 3), (2, 3)]
    """
    return made("ones", size_of(size), creation.ones, dtype, requires_grad, device_mesh, placements)


def empty(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None):
    """Return a DTensor with any values; see `zeros` for the arguments.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Shard, empty
    >>> def make(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     return tuple(empty(4, 3, device_mesh=mesh, placements=[Shard(1)]).to_local().shape)
    ...
    >>> dist.threads.spawn(make, nprocs=2)
    [(4, 2), (4, 1)]
    """
    return made(
        "empty", size_of(size), creation.empty, dtype, requires_grad, device_mesh, placements
    )


def full(
    size, fill_value, *, dtype=None, layout=None, requires_grad=False, device_mesh=None,
    placements=None,
):  # fmt: skip
    """Return a DTensor in which each element is `fill_value`; see `zeros` for the arguments.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Shard, full
    >>> def make(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     return full((4,), 7.0, device_mesh=mesh, placements=[Shard(0)]).to_local().tolist()
    ...
    >>> dist.threads.spawn(make, nprocs=2)
    [[7.0, 7.0], [7.0, 7.0]]
    """

    def make(shape, dtype):
        return creation.full(shape, fill_value, dtype=dtype)

    return made("full", tuple(size), make, dtype, requires_grad, device_mesh, placements)


def rand(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None):
    """Return a DTensor of random numbers between 0 and 1; see `zeros` for the arguments.

    They are those that one process draws with the same seed: each rank draws them all, and
    keeps its part.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Shard, rand
    >>> def make(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     return tuple(rand(4, 3, device_mesh=mesh, placements=[Shard(0)]).to_local().shape)
    ...
    >>> dist.threads.spawn(make, nprocs=2)
    [(2, 3), (2, 3)]
    """
    return made(
        "rand",
        size_of(size),
        random_factories.rand,
        dtype,
        requires_grad,
        device_mesh,
        placements,
        False,
    )


def randn(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None):
    """Return a DTensor of normal random numbers, which are those of one process with the same
    seed; see `zeros` for the arguments.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Replicate, randn
    >>> def make(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     return randn(4, device_mesh=mesh, placements=[Replicate()]).to_local().tolist()
    ...
    >>> first, second = dist.threads.spawn(make, nprocs=2)
    >>> first == second  # the same numbers on both ranks
    True
    """
    return made(
        "randn",
        size_of(size),
        random_factories.randn,
        dtype,
        requires_grad,
        device_mesh,
        placements,
        False,
    )
