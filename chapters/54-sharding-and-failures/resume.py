"""Run by two real processes: training that can be killed at any step, and goes on from its checkpoint.

resume.py FOLDER [STEP]: with STEP, rank 1 kills itself there, the first time that it comes by.
"""

import os
import signal
import sys

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.distributed import checkpoint
from tensorlab.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from tensorlab.distributed.fsdp import fully_shard

STEPS, EVERY = 20, 4


def batch(step, rank):
    """Return a batch that depends on the step and the rank, and on nothing that happened before."""
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(16, 8, generator=generator)


def main(folder, dies_at):
    torch.set_num_threads(1)
    dist.init_process_group()
    rank = dist.get_rank()
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    torch.manual_seed(0)
    model = fully_shard(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def state(step):
        weights, moments = get_state_dict(model, optimizer)
        return {"model": weights, "optimizer": moments, "step": step}

    begin = 0
    if os.path.exists(f"{folder}/.metadata"):
        found = state(0)
        checkpoint.load(found, checkpoint_id=folder)
        weights, moments = found["model"], found["optimizer"]
        set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=moments)
        begin = found["step"]
    if rank == 0:
        print(f"attempt {attempt} begins at step {begin}", flush=True)
    for step in range(begin, STEPS):
        if (step, rank, attempt) == (dies_at, 1, 0):
            print(f"rank 1 dies at step {step}", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        x = batch(step, rank)
        optimizer.zero_grad()
        (model(x) - x).pow(2).mean().backward()
        optimizer.step()
        if (step + 1) % EVERY == 0:
            checkpoint.save(state(step + 1), checkpoint_id=folder)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
