"""A checkpoint that all ranks write. Start it with: tensorlab run --nproc-per-node 2 checkpoint.py FOLDER"""

import sys

import tensorlab as torch
import tensorlab.distributed as dist
import tensorlab.distributed.checkpoint as dcp
from tensorlab import nn
from tensorlab.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from tensorlab.distributed.fsdp import fully_shard


class Training:
    """A model and its optimizer, as a checkpoint sees them."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        weights, state = get_state_dict(self.model, self.optimizer)
        return {"model": weights, "optimizer": state}

    def load_state_dict(self, saved):
        set_state_dict(self.model, self.optimizer, model_state_dict=saved["model"],
                       optim_state_dict=saved["optimizer"])  # fmt: skip


def training(seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
    fully_shard(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    return Training(model, optimizer)


def main(folder):
    """Save a training, load it into another one; return whether both have the same weights."""
    dist.init_process_group("gloo")
    first, second = training(0), training(1)
    dcp.save({"training": first}, checkpoint_id=folder)
    dcp.load({"training": second}, checkpoint_id=folder)
    pairs = zip(first.model.parameters(), second.model.parameters(), strict=True)
    same = all(torch.equal(a.to_local(), b.to_local()) for a, b in pairs)
    if dist.get_rank() == 0:
        print("the same weights:", same)
    dist.destroy_process_group()
    return same


if __name__ == "__main__":
    main(sys.argv[1])
