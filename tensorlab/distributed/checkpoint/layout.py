"""What a checkpoint of several ranks holds: which piece of which tensor is in which file.

A tensor may be cut over ranks, or be the same at several of them. Its *chunks* say where in the
whole tensor a rank's piece lies, so a checkpoint can be read by any number of ranks: each takes
what overlaps with its own pieces.
"""

import dataclasses

from tensorlab._tensor import Tensor
from tensorlab.distributed.membership import ProcessGroup, is_initialized, the_group
from tensorlab.errors import DistError


def flatten(values, path=()):
    """Yield (path, value) for everything in nested dicts, and in lists that hold tensors or dicts."""
    if isinstance(values, dict):
        items = values.items()
    elif isinstance(values, (list, tuple)) and any(isinstance(x, (Tensor, dict)) for x in values):
        items = enumerate(values)
    else:
        yield path, values
        return
    empty = True
    for key, value in items:
        empty = False
        yield from flatten(value, (*path, key))
    if empty:
        yield path, values


def key_of(path):
    """Return the key of a path: its parts, joined by dots."""
    return ".".join(map(str, path))


def put(values, path, value):
    """Write a value to its place in nested dicts and lists."""
    for part in path[:-1]:
        values = values[part]
    values[path[-1]] = value


@dataclasses.dataclass
class Piece:
    """The part of a tensor that this rank has.

    Attributes
    ----------
    size : tuple, of the whole tensor
    offsets : tuple, where the part begins
    local : Tensor
    """

    size: tuple
    offsets: tuple
    local: Tensor


def piece_of(x):
    """Return this rank's piece of a tensor: all of it, or the local part of a DTensor."""
    if not hasattr(x, "placements"):
        return Piece(tuple(x.shape), (0,) * x.dim(), x.detach())
    from tensorlab.distributed.tensor.layouts import compute_local_shape_and_global_offset

    if any(one.is_partial() for one in x.placements):
        raise DistError(
            "checkpoint: a tensor is Partial; redistribute it to Shard or Replicate before"
        )
    _, offsets = compute_local_shape_and_global_offset(x.shape, x.device_mesh, x.placements)
    return Piece(tuple(x.shape), offsets, x.to_local().detach())


def overlap(first, first_size, second, second_size):
    """Return where two boxes overlap, as slices into each of them, or None."""
    inside_first, inside_second = [], []
    for a, n, b, m in zip(first, first_size, second, second_size, strict=True):
        begin, end = max(a, b), min(a + n, b + m)
        if begin >= end:
            return None
        inside_first.append(slice(begin - a, end - a))
        inside_second.append(slice(begin - b, end - b))
    return tuple(inside_first), tuple(inside_second)


def group_or_alone(group, no_dist):
    """Return the process group of a save or load, or None for one process."""
    if no_dist or (group is None and not is_initialized()):
        return None
    if group is not None and not isinstance(group, ProcessGroup):
        raise TypeError(
            f"checkpoint: process_group is a {type(group).__name__}; expected a ProcessGroup"
        )
    return the_group(group)
