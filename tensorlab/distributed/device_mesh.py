"""DeviceMesh: the ranks laid out as a grid, with a process group along each of its dimensions.

    mesh (dp=2, tp=4)      tp = 0  1  2  3
                     dp=0       0  1  2  3
                     dp=1       4  5  6  7

Rank 6 stands at the coordinate (1, 2). Along `tp` it works with ranks 4 to 7, along `dp` with
2. `mesh["tp"]` is the row of the grid that a rank is in, a mesh of one dimension.
"""

import math
import threading

from tensorlab._core.dtypes import BY_NAME
from tensorlab._core.interop.exchange import tensor
from tensorlab._tensor import Tensor
from tensorlab.distributed import world
from tensorlab.distributed.process_groups import (
    ProcessGroup,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_group,
)

__all__ = ["DeviceMesh", "init_device_mesh"]

INT32 = BY_NAME["int32"]
ENTERED = threading.local()  # .meshes: those of the `with` blocks that this thread is in


class DeviceMesh:
    """A grid of ranks.

    All ranks of the default group make it together; one that isn't in it has no coordinate.

    Parameters
    ----------
    device_type : str, "cpu"
    mesh : Tensor of int or nested lists: the grid of ranks
    mesh_dim_names : tuple of str, optional: a name for each dimension, to slice by

    Raises
    ------
    RuntimeError
        If the device has an index, a rank isn't there or stands twice, or the names don't fit.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def place(rank):
    ...     mesh = DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp"))
    ...     return mesh.get_coordinate(), mesh["tp"].mesh.tolist()
    >>> dist.threads.spawn(place, nprocs=4)[2]
    ((1, 0), [2, 3])
    """

    def __init__(
        self,
        device_type,
        mesh=None,
        *,
        mesh_dim_names=None,
        backend_override=None,
        _init_backend=True,
    ):
        check_device_type(device_type)
        if mesh is None:
            raise TypeError("DeviceMesh: the grid of ranks is missing: give it as `mesh`")
        if not is_initialized():
            init_process_group()
        grid = mesh.detach() if isinstance(mesh, Tensor) else tensor(mesh)
        ranks = grid.flatten().tolist()
        if len(set(ranks)) != len(ranks):
            raise RuntimeError(f"DeviceMesh: {grid.tolist()} names a rank twice")
        if len(ranks) > get_world_size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {get_world_size()}, but "
                f"found {len(ranks)} ranks!"
            )
        if ranks and not 0 <= min(ranks) <= max(ranks) < get_world_size():
            raise RuntimeError(
                f"DeviceMesh: {grid.tolist()} names a rank that isn't there: "
                f"there are 0 to {get_world_size() - 1}"
            )
        names = checked_names(mesh_dim_names, grid.dim())
        self.build(device_type, grid.to(INT32), names)
        if _init_backend and self.coordinate is not None:
            self.groups = [self.make_group(dim) for dim in range(self.ndim)]

    def build(self, device_type, grid, names, root=None, groups=None):
        """Set the fields; meshes that are cut out of others are made by it alone."""
        self.device_type, self.mesh, self.mesh_dim_names = device_type, grid, names
        self.shape, self.ndim = tuple(grid.shape), grid.dim()
        self.ranks = tuple(grid.flatten().tolist())
        self.rank = get_rank()
        self.coordinate = coordinate_of(self.rank, self.ranks, self.shape)
        self.root, self.groups, self.flattened = root, groups or [], {}
        self.key = self.device_type, self.shape, self.ranks, self.mesh_dim_names
        return self

    def make_group(self, dim):
        """Make the process group of the ranks that differ from this one in one coordinate."""
        place = tuple(slice(None) if k == dim else at for k, at in enumerate(self.coordinate))
        return group_of(self.mesh[place].tolist())

    def __repr__(self):
        sizes = self.shape
        if self.mesh_dim_names:
            named = zip(self.mesh_dim_names, self.shape, strict=True)
            sizes = f"({', '.join(f'{name}={size}' for name, size in named)})"
        strides = tuple(math.prod(self.shape[dim + 1 :]) for dim in range(self.ndim))
        if self.root is not None:
            strides = self.mesh.stride()
        shown = tuple(
            () if size == 1 else step for size, step in zip(self.shape, strides, strict=True)
        )
        return f"DeviceMesh({sizes}, '{self.device_type}', stride={shown})"

    def __eq__(self, other):
        return isinstance(other, DeviceMesh) and (self is other or self.key == other.key)

    def __hash__(self):
        return hash(self.key)

    def __enter__(self):
        ENTERED.__dict__.setdefault("meshes", []).append(self)
        return self

    def __exit__(self, *exception):
        ENTERED.meshes.pop()

    # ------------------------------------------------------------ parts of it
    def __getitem__(self, mesh_dim_names):
        """Return the part of the mesh along some of its dimensions that this rank is in.

        Raises
        ------
        RuntimeError
            If the dimensions have no names.
        KeyError
            If there is none of that name.
        """
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self.mesh_dim_names:
            return self
        flattened = (self.root or self).flattened
        if len(names) == 1 and names[0] in flattened:
            return flattened[names[0]]
        known = list(self.mesh_dim_names)
        if not set(names) <= set(known) or len(set(names)) < len(names):
            raise KeyError(
                f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are "
                f"{known + list(flattened)}."
            )
        dims = [known.index(name) for name in names]
        if self.coordinate is None:
            grid = self.mesh.permute(*dims, *(k for k in range(self.ndim) if k not in dims))
            grid = grid.reshape(*(self.shape[k] for k in dims), -1)[..., 0]
            return DeviceMesh.__new__(DeviceMesh).build(
                self.device_type, grid, names, self.root or self
            )
        place = tuple(slice(None) if k in dims else at for k, at in enumerate(self.coordinate))
        grid = self.mesh[place]  # its dimensions are in the order of the mesh
        order = sorted(dims)
        grid = grid.permute(*(order.index(dim) for dim in dims))
        groups = [self.groups[dim] for dim in dims]
        return DeviceMesh.__new__(DeviceMesh).build(
            self.device_type, grid, names, self.root or self, groups
        )

    def _flatten(self, mesh_dim_name=None, backend_override=None):
        """Return the same ranks as a mesh of one dimension, which the mesh that this one was cut
        out of knows by its name from now on."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        name = mesh_dim_name or "_".join(self.mesh_dim_names)
        root = self.root or self
        if name in root.mesh_dim_names:
            raise ValueError(
                f"_flatten: {name!r} is a dimension of {root} already; choose another name"
            )
        if name not in root.flattened:
            groups = self.groups if self.ndim == 1 else []
            if self.coordinate is not None and not groups:
                groups = [group_of(list(self.ranks))]
            root.flattened[name] = DeviceMesh.__new__(DeviceMesh).build(
                self.device_type, self.mesh.flatten(), (name,), root, groups
            )
        return root.flattened[name]

    @staticmethod
    def from_group(group, device_type, mesh=None, *, mesh_dim_names=None):
        """Return the mesh whose dimensions are process groups that exist already.

        Parameters
        ----------
        group : ProcessGroup, or a list of one for each dimension
        device_type : str
        mesh : the grid of ranks; with one group, by default its ranks
        mesh_dim_names : tuple of str, optional
        """
        check_device_type(device_type)
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        if not groups:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            if len(groups) > 1:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            mesh = get_process_group_ranks(groups[0])
        grid = mesh.detach() if isinstance(mesh, Tensor) else tensor(mesh)
        if grid.dim() != len(groups):
            raise ValueError(
                f"Expects mesh with ndim equal to number of ProcessGroups but got mesh "
                f"{grid.tolist()} and {len(groups)} ProcessGroups"
            )
        names = checked_names(mesh_dim_names, grid.dim())
        made = DeviceMesh.__new__(DeviceMesh)
        return made.build(device_type, grid.to(INT32), names, None, groups)

    # ------------------------------------------------------------ where this rank is
    def size(self, mesh_dim=None):
        """Return how many ranks there are, in all or along a dimension."""
        return len(self.ranks) if mesh_dim is None else self.shape[self.dimension(mesh_dim)]

    def dimension(self, mesh_dim):
        """Return the number of a dimension that is given by its number or its name."""
        if isinstance(mesh_dim, str):
            if mesh_dim not in (self.mesh_dim_names or ()):
                raise KeyError(
                    f"Mesh dimension '{mesh_dim}' does not exist. Available mesh dimensions "
                    f"are: mesh_dim_names={self.mesh_dim_names}"
                )
            return self.mesh_dim_names.index(mesh_dim)
        if not -self.ndim <= mesh_dim < self.ndim:
            raise IndexError(f"DeviceMesh: there is no dimension {mesh_dim} in {self}")
        return mesh_dim % self.ndim

    def the_dimension(self, mesh_dim, where):
        """Return a dimension that may be left out where there is but one."""
        if mesh_dim is None and self.ndim != 1:
            raise RuntimeError(
                f"{where}: Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg "
                f"`mesh_dim` needs to be specified when device_mesh.ndim > 1."
            )
        return 0 if mesh_dim is None else self.dimension(mesh_dim)

    def get_group(self, mesh_dim=None):
        """Return the process group along a dimension, given by number or name.

        Raises
        ------
        RuntimeError
            If there are several dimensions and none is named, or this rank isn't in the mesh.
        """
        dim = self.the_dimension(mesh_dim, "get_group")
        if not self.groups:
            raise RuntimeError(f"get_group: rank {self.rank} is not in {self}")
        return self.groups[dim]

    def get_all_groups(self):
        """Return the process groups of all dimensions, as a list."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def get_local_rank(self, mesh_dim=None):
        """Return this rank's place along a dimension, given by number or name."""
        dim = self.the_dimension(mesh_dim, "get_local_rank")
        if self.coordinate is None:
            raise RuntimeError(f"get_local_rank: rank {self.rank} is not in {self}")
        return self.coordinate[dim]

    def get_coordinate(self):
        """Return where this rank stands in the grid, a tuple; or None if it isn't in it."""
        return self.coordinate

    def get_rank(self):
        """Return this rank's number in the default group."""
        return self.rank


def check_device_type(device_type):
    """Raise an error for a device that has no ranks here."""
    if not isinstance(device_type, str):
        raise TypeError(
            f"DeviceMesh: device_type is a {type(device_type).__name__}; expected 'cpu'"
        )
    if ":" in device_type:
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. If you maintained "
            "a 'torch.device' object, it's recommended to pass in 'device.type'."
        )
    if device_type != "cpu":
        raise RuntimeError(f"DeviceMesh: ranks work on the cpu; there is no {device_type!r} here")


def checked_names(names, ndim):
    """Return the names of the dimensions as a tuple, or None if they have none."""
    if names is None:
        return None
    names = tuple(names)
    if len(set(names)) != len(names):
        raise RuntimeError(
            "Each mesh_dim_name must be unique. Found repeated mesh_dim_name in "
            f"mesh_dim_names {names}"
        )
    if len(names) != ndim:
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
            f"{len(names)} and len(mesh_shape):{ndim}."
        )
    return names


def coordinate_of(rank, ranks, shape):
    """Return where a rank stands in the grid, or None."""
    if rank not in ranks:
        return None
    place, found = ranks.index(rank), []
    for size in reversed(shape):
        place, at = divmod(place, size)
        found.append(at)
    return tuple(reversed(found))


def group_of(ranks):
    """Return a process group of these ranks in their order; the default one if it is the same."""
    if ranks == list(range(get_world_size())):
        return world.current().default
    return new_group(ranks, sort_ranks=False)


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    """Lay the first ranks out as a grid, row by row; initialise the default group if need be.

    Parameters
    ----------
    device_type : str, "cpu"
    mesh_shape : tuple of int
    mesh_dim_names : tuple of str, optional: a name for each dimension
    backend_override : accepted for PyTorch's sake

    Returns
    -------
    DeviceMesh

    Raises
    ------
    RuntimeError
        If there are fewer ranks, or the names don't fit.

    Examples
    --------
    >>> from tensorlab import distributed as dist
    >>> def show(rank):
    ...     mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    ...     return repr(mesh), mesh.get_local_rank("tp")
    >>> dist.threads.spawn(show, nprocs=4)[1]
    ("DeviceMesh((dp=2, tp=2), 'cpu', stride=(2, 1))", 1)
    """
    check_device_type(device_type)
    sizes = (mesh_shape,) if isinstance(mesh_shape, int) else tuple(mesh_shape)
    if any(size < 1 for size in sizes):
        raise RuntimeError(f"init_device_mesh: the shape {sizes} has a dimension without ranks")
    names = checked_names(mesh_dim_names, len(sizes))
    grid = tensor(list(range(math.prod(sizes)))).view(sizes)
    return DeviceMesh(device_type, grid, mesh_dim_names=names)


def active_mesh(given=None):
    """Return the mesh that a function was given, else that of the innermost `with mesh:`.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    if given is not None:
        return given
    entered = getattr(ENTERED, "meshes", [])
    if not entered:
        raise RuntimeError("No device mesh is currently active! Give one as device_mesh")
    return entered[-1]
