"""Layouts: which part of a tensor a rank holds, and the specification that a DTensor carries.

Two dimensions of a mesh may cut the same dimension of a tensor. They cut one after the other,
in the order of the mesh; a `_StridedShard` comes after the others. Each cut is that of `chunk`.
"""

import dataclasses
import functools

from tensorlab._core.tensor import Size
from tensorlab.distributed.tensor.placement_types import (
    Placement,
    Replicate,
    Shard,
    _StridedShard,
)


def chunk_sizes(n, parts):
    """Return how many of `n` rows each of `parts` ranks has, as `chunk` cuts them.

    >>> chunk_sizes(10, 4), chunk_sizes(2, 4)
    ([3, 3, 3, 1], [1, 1, 0, 0])
    """
    step = -(-n // parts)
    return [max(0, min(step, n - step * place)) for place in range(parts)]


def order_of_cuts(placements):
    """Return the dimensions of the mesh in the order in which they cut."""
    strided = [i for i, one in enumerate(placements) if isinstance(one, _StridedShard)]
    return [i for i in range(len(placements)) if i not in strided] + strided


def local_range(n, dim, mesh, placements, coordinate, stop=None):
    """Return the first row and the number of rows of dimension `dim` that a rank has.

    Parameters
    ----------
    n : int, the size of the dimension
    coordinate : tuple of int, where the rank stands in the mesh
    stop : int, optional: leave out the cut of this dimension of the mesh, and later ones
    """
    first = 0
    for i in order_of_cuts(placements):
        if i == stop:
            break
        if placements[i].is_shard(dim):
            sizes = chunk_sizes(n, mesh.shape[i])
            first, n = first + sum(sizes[: coordinate[i]]), sizes[coordinate[i]]
    return first, n


def local_shape(shape, mesh, placements, coordinate=None):
    """Return the shape of the part that a rank has; of one outside of the mesh, it is empty."""
    coordinate = mesh.get_coordinate() if coordinate is None else coordinate
    if coordinate is None:
        return (0,)
    return tuple(
        local_range(n, dim, mesh, placements, coordinate)[1] for dim, n in enumerate(shape)
    )


def compute_local_shape_and_global_offset(global_shape, mesh, placements):
    """Return the shape of this rank's part, and where it begins in the tensor.

    Parameters
    ----------
    global_shape : sequence of int
    mesh : DeviceMesh
    placements : sequence of Placement

    Returns
    -------
    two tuples of int
    """
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return (0,), (0,) * len(global_shape)
    ranges = [
        local_range(n, dim, mesh, placements, coordinate) for dim, n in enumerate(global_shape)
    ]
    return tuple(n for _, n in ranges), tuple(first for first, _ in ranges)


def contiguous_strides(shape):
    """Return the strides of a tensor in row-major order."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def checked_placements(placements, mesh, ndim, where):
    """Return placements as a tuple, their dimensions counted from the front.

    Raises
    ------
    ValueError
        If there isn't one for each dimension of the mesh.
    TypeError
        If one is no Placement.
    RuntimeError
        If one shards a dimension that the tensor hasn't got.
    """
    if isinstance(placements, Placement):
        placements = (placements,)
    if placements is None:
        return (Replicate(),) * mesh.ndim
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"{where}: `placements` must have the same length as `device_mesh.ndim`! Found "
            f"placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    checked = []
    for number, one in enumerate(placements):
        if not isinstance(one, Placement):
            raise TypeError(f"{where}: placement number {number} is {one!r}; expected a Placement, "
                            f"such as Shard(0) or Replicate()")  # fmt: skip
        if one.is_shard():
            if not -ndim <= one.dim < ndim:
                raise RuntimeError(
                    f"{where}: Sharding dim {one.dim} greater than tensor ndim {ndim} for "
                    f"placement number {number}"
                )
            one = shard_at(one, one.dim % ndim)
        checked.append(one)
    return tuple(checked)


def shard_at(shard, dim):
    """Return a shard of another dimension, cut at the same time."""
    if isinstance(shard, _StridedShard):
        return _StridedShard(dim, split_factor=shard.split_factor)
    return shard if shard.dim == dim else Shard(dim)


@dataclasses.dataclass(frozen=True)
class Spec:
    """What all ranks know of a DTensor.

    Attributes
    ----------
    mesh : DeviceMesh
    placements : tuple of Placement, one for each dimension of the mesh
    shape, stride : tuple of int, of the whole tensor
    dtype : dtype
    """

    mesh: object
    placements: tuple
    shape: tuple
    stride: tuple
    dtype: object

    @property
    def ndim(self):
        return len(self.shape)

    @functools.cached_property
    def key(self):
        """What a plan for an op depends on."""
        return self.placements, self.shape, self.stride, self.dtype

    def local_shape(self):
        """Return the shape of this rank's part."""
        return local_shape(self.shape, self.mesh, self.placements)

    def with_placements(self, placements):
        """Return the specification of the same tensor held in another way."""
        return dataclasses.replace(self, placements=tuple(placements))

    def __str__(self):
        kind = str(self.dtype).removeprefix("tensorlab.")
        return f"{kind}{list(self.shape)} as {''.join(map(str, self.placements))}"


def spec_of(x, mesh, placements, shape=None, stride=None):
    """Return the specification of a tensor of the dtype of `x`, by default of its shape."""
    shape = tuple(x.shape) if shape is None else tuple(shape)
    stride = contiguous_strides(shape) if stride is None else tuple(stride)
    return Spec(mesh, tuple(placements), Size(shape), stride, x.dtype)
