"""How the small networks are made parallel."""

from tensorlab import distributed as dist
from tensorlab.distributed.fsdp import fully_shard
from tensorlab.distributed.tensor import Replicate
from tensorlab.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


def plan_of(case):
    """Return the styles of the parts of a network."""
    if case == "mlp":
        return {"up": ColwiseParallel(), "down": RowwiseParallel()}
    rows = {"input_layouts": Replicate()}
    plan = {"tokens": RowwiseParallel(**rows), "places": RowwiseParallel(**rows)}
    plan["scores"] = ColwiseParallel(output_layouts=Replicate())
    for name in ("query", "key", "value"):
        plan[f"blocks.*.attention.{name}"] = ColwiseParallel()
    plan["blocks.*.attention.out"] = RowwiseParallel()
    plan["blocks.*.think.up"] = ColwiseParallel()
    plan["blocks.*.think.down"] = RowwiseParallel()
    return plan


def shard(model, **settings):
    """Shard a network from the inside out."""
    parts = list(getattr(model, "blocks", [])) or [model.up]
    for part in parts:
        fully_shard(part, **settings)
    return fully_shard(model, **settings)


def data_and_tensor(model, case, data, tensor):
    """Make a network tensor parallel, and then share it out; return this rank's place."""
    mesh = dist.init_device_mesh("cpu", (data, tensor), mesh_dim_names=("dp", "tp"))
    parallelize_module(model, mesh["tp"], plan_of(case))
    shard(model, mesh=mesh["dp"])
    return mesh.get_local_rank("dp")
