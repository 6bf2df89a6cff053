"""DTensors in pickles and files: this rank's part, and words that say where it belongs.

Each rank saves a file of its own. Reading makes the mesh again, so all its ranks read.
"""

import threading

from tensorlab._core.tensor import Size
from tensorlab.distributed import world
from tensorlab.distributed.device_mesh import DeviceMesh
from tensorlab.distributed.tensor.layouts import Spec
from tensorlab.distributed.tensor.placement_types import Partial, Replicate, Shard, _StridedShard

READ = threading.local()  # .meshes: those that were made for what this rank has read


def words_of(x):
    """Return what a DTensor is made again from: plain values beside this rank's part."""
    spec, mesh = x._spec, x._spec.mesh
    placed = [(type(one).__name__, dict(vars(one))) for one in spec.placements]
    grid = mesh.device_type, mesh.mesh.tolist(), mesh.mesh_dim_names
    is_parameter = bool(getattr(x, "_is_param", False))
    sizes = tuple(spec.shape), tuple(spec.stride)
    return x._local_tensor, grid, placed, *sizes, x.requires_grad, is_parameter


def spec_from_words(grid, placed, shape, stride, dtype):
    """Return the Spec that `words_of` has described."""
    kinds = {one.__name__: one for one in (Shard, _StridedShard, Replicate, Partial)}
    placements = tuple(kinds[name](**values) for name, values in placed)
    return Spec(mesh_of(*grid), placements, Size(shape), tuple(stride), dtype)


def mesh_of(device_type, ranks, names):
    """Return a mesh, made now or for what was read before."""
    meshes = READ.__dict__.setdefault("meshes", {})
    key = world.current().default, device_type, repr(ranks), names
    if key not in meshes:
        meshes[key] = DeviceMesh(device_type, ranks, mesh_dim_names=names)
    return meshes[key]
