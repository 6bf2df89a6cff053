"""How one parameter is cut over ranks, and what it is put together of again.

dp mesh (shard=4)        Shard(0)                     each rank has a fourth of the rows
(replicate=2, shard=4)   Replicate(), Shard(0)        the same in both halves of the ranks
with tensor parallel     _StridedShard(0), Shard(0)   a fourth of the rows that its tp rank has
"""

from tensorlab.distributed.tensor.layouts import Spec, chunk_sizes, contiguous_strides
from tensorlab.distributed.tensor.placement_types import Replicate, Shard, _StridedShard
from tensorlab.distributed.tensor.redistribution import part, redistribute_local
from tensorlab.distributed.tensor.tensors import DTensor
from tensorlab.nn.parameter import Parameter
from tensorlab.ops.joining import cat


class Ranks:
    """The ranks that share the parameters of a module out.

    Parameters
    ----------
    mesh : DeviceMesh of one dimension, along which parameters are cut, or of two: (replicate,
        shard)
    shards : bool; False replicates along the one dimension

    Attributes
    ----------
    shard_group, replicate_group : ProcessGroup or None
    size, rank : int, how many parts there are, and which is this rank's
    """

    def __init__(self, mesh, shards=True):
        if mesh.ndim not in (1, 2):
            raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
        self.mesh, self.shards = mesh, shards
        self.shard_group = mesh.get_group(mesh.ndim - 1) if shards else None
        replicates = mesh.ndim == 2 or not shards
        self.replicate_group = mesh.get_group(0) if replicates else None
        self.size = self.shard_group.size() if shards else 1
        self.rank = self.shard_group.rank() if shards else 0

    def placements(self, dim):
        """Return how a parameter that is cut in dimension `dim` is placed on the mesh."""
        if not self.shards:
            return [Replicate()] * self.mesh.ndim
        return [Replicate()] * (self.mesh.ndim - 1) + [Shard(dim)]


class ShardedParameter:
    """One parameter of a module, of which this rank keeps a part.

    Parameters
    ----------
    places : list of (module, name), where it stands; a shared one in several
    param : Parameter, the whole; or a DTensor that tensor parallel has made
    ranks : Ranks
    dim : int, the dimension that is cut

    Attributes
    ----------
    shape : tuple of int, of what this rank computes with
    sizes : list of int, how many rows each rank has
    spec : Spec of the part; `whole_spec` that of a tensor-parallel whole, or None
    """

    def __init__(self, places, param, ranks, dim=0):
        self.places, self.ranks, self.dim = places, ranks, dim
        self.whole_spec = param._spec if isinstance(param, DTensor) else None
        local = param._local_tensor if self.whole_spec else param.detach()
        self.shape, self.dtype = tuple(local.shape), local.dtype
        if ranks.size > 1 and not local.dim():
            raise ValueError(
                f"fully_shard doesn't support scalar parameters: {places[0][1]} has no "
                "dimension to be cut; make it a tensor of shape (1,)"
            )
        self.sizes = chunk_sizes(local.shape[dim], ranks.size) if local.dim() else [1]
        self.spec = self.spec_of_part(param)
        kept = part(local, dim, self.sizes, ranks.rank) if local.dim() else local.clone()
        made = Parameter(DTensor(kept, self.spec), requires_grad=param.requires_grad)
        made.__dict__.update({
            name: value for name, value in vars(param).items()
            if name not in ("_local_tensor", "_spec", "_is_param")
        })  # fmt: skip
        self.sharded = made
        self.put(made)

    def spec_of_part(self, param):
        """Return the specification of the part as a DTensor."""
        placements, mesh = self.ranks.placements(self.dim), self.ranks.mesh
        if self.whole_spec is not None:
            mesh = joined_mesh(mesh, self.whole_spec.mesh)
            within = self.whole_spec.placements
            cut = [one for one, size in zip(within, self.whole_spec.mesh.shape, strict=True)
                   if one.is_shard(self.dim) and size > 1]  # fmt: skip
            if cut and self.ranks.shards:
                placements[-1] = _StridedShard(self.dim, split_factor=self.whole_spec.mesh.size())
            placements = [*placements, *within]
        shape = tuple(param.shape)
        return Spec(mesh, tuple(placements), param.shape, contiguous_strides(shape), param.dtype)

    def put(self, value):
        """Put a tensor in the parameter's place in the modules."""
        for module, name in self.places:
            module._parameters[name] = value

    def refresh(self):
        """Take the part from the module: a conversion such as `model.double()` may have replaced it."""
        module, name = self.places[0]
        now = module._parameters[name]
        if not isinstance(now, DTensor) or now._spec.mesh != self.spec.mesh:
            return  # the whole is there
        changed = now is not self.sharded
        self.sharded, self.spec, self.dtype = now, now._spec, now.dtype
        if changed:
            self.put(now)

    def numel_at(self, rank):
        """Return how many elements a rank keeps."""
        count = 1
        for dim, n in enumerate(self.shape):
            count *= self.sizes[rank] if dim == self.dim else n
        return count

    def pieces(self, x):
        """Yield for each rank its part of a tensor of the whole's shape, flat."""
        if not self.shape:
            yield x.reshape(-1)
            return
        for place in range(len(self.sizes)):
            yield x.narrow(self.dim, sum(self.sizes[:place]), self.sizes[place]).reshape(-1)

    def joined(self, pieces):
        """Return the whole of the flat parts of all ranks."""
        if not self.shape:
            return pieces[0].view(()).clone()
        shaped = [
            piece.view([n if dim != self.dim else size for dim, n in enumerate(self.shape)])
            for piece, size in zip(pieces, self.sizes, strict=True)
        ]
        return cat(shaped, self.dim) if len(shaped) > 1 else shaped[0].clone()

    def as_whole(self, x):
        """Return a gathered tensor as what the module computes with: a DTensor under tensor parallel."""
        if self.whole_spec is None:
            return x
        return DTensor(x, Spec(**{**vars_of(self.whole_spec), "dtype": x.dtype}))

    def local_gradient(self, grad):
        """Return the gradient of the whole as a Tensor, of the shape that this rank computes with."""
        if self.whole_spec is None:
            return grad.detach()
        return redistribute_local(grad._local_tensor, grad._spec, self.whole_spec.placements)

    def part_of_gradient(self, flat):
        """Return this rank's part of the reduced gradient, as a DTensor."""
        shape = [
            n if dim != self.dim else self.sizes[self.ranks.rank]
            for dim, n in enumerate(self.shape)
        ]
        return DTensor(flat.view(shape), self.spec)


def vars_of(spec):
    """Return the fields of a Spec."""
    return {
        name: getattr(spec, name) for name in ("mesh", "placements", "shape", "stride", "dtype")
    }


def joined_mesh(data, tensor):
    """Return the mesh of the dimensions of data parallel and then of tensor parallel.

    Raises
    ------
    ValueError
        If the two aren't cut out of one mesh with names.
    """
    root = data.root or data
    if root != (tensor.root or tensor) or not data.mesh_dim_names or not tensor.mesh_dim_names:
        raise ValueError(
            "FSDP requires the DP and model parallel TP/EP mesh to have the same parent mesh "
            f"but got: DP's {data} and TP/EP's {tensor}; make one mesh with names, and give "
            "mesh['dp'] and mesh['tp']"
        )
    return root[(*data.mesh_dim_names, *tensor.mesh_dim_names)]
