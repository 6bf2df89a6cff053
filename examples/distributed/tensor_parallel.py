"""Layers that are cut over ranks. Start it with: tensorlab run --nproc-per-node 2 tensor_parallel.py"""

import tensorlab as torch
import tensorlab.distributed as dist
from tensorlab import nn
from tensorlab.distributed.device_mesh import init_device_mesh
from tensorlab.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


class MLP(nn.Module):
    """Two layers: the first can be cut by columns and the second by rows, with one sum at the end."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def main():
    """Compare a step of the cut model with one of the whole model; return the largest difference."""
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    alone, cut = MLP(), MLP()
    cut.load_state_dict(alone.state_dict())
    parallelize_module(cut, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    x = torch.randn(8, 16)
    for model in (alone, cut):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(x).pow(2).mean().backward()
        optimizer.step()
    rows = cut.up.weight.to_local().shape[0]
    weight = cut.up.weight.full_tensor()
    difference = (weight - alone.up.weight).abs().max().item()
    if dist.get_rank() == 0:
        print(f"each rank has {rows} of 64 rows; largest difference after a step {difference:.1e}")
    dist.destroy_process_group()
    return difference


if __name__ == "__main__":
    main()
