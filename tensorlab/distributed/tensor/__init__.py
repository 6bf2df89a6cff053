"""DTensor: tensors that the ranks of a mesh hold together, and compute with as if they were one.

A DTensor is sharded or replicated along each dimension of its mesh (`Shard`, `Replicate`), or
its values are a sum that the ranks have not formed yet (`Partial`). `distribute_tensor` makes
one of a Tensor, `DTensor.from_local` of parts; `redistribute` brings it to other placements.
What tensor parallel training needs, `parallelize_module` and its styles, is in
`tensor.parallel`.
"""

from tensorlab._on_demand import on_demand
from tensorlab.distributed.tensor.creation import empty, full, ones, rand, randn, zeros
from tensorlab.distributed.tensor.modules import distribute_module
from tensorlab.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from tensorlab.distributed.tensor.tensors import DTensor, distribute_tensor

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "ones",
    "rand",
    "randn",
    "zeros",
]

__getattr__, __dir__ = on_demand(
    __name__, ("debug", "device_mesh", "experimental", "parallel", "placement_types")
)
