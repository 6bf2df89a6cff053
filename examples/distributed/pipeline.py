"""Stages of a model on several ranks. Start it with: tensorlab run --nproc-per-node 2 pipeline.py"""

import tensorlab as torch
import tensorlab.distributed as dist
from tensorlab import nn
from tensorlab.distributed.pipelining import Schedule1F1B, SplitPoint, pipeline


def main():
    """Train four layers as two stages; return the losses, which the last rank knows."""
    dist.init_process_group("gloo")
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    torch.manual_seed(0)
    model = nn.Sequential(
        *[nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(2 * (last + 1))]
    )
    x = torch.randn(32, 8)
    y = x.roll(1, 1)
    cuts = {str(2 * stage): SplitPoint.BEGINNING for stage in range(1, last + 1)}
    stage = pipeline(model, (x[:4],), split_spec=cuts).build_stage(rank)
    schedule = Schedule1F1B(stage, n_microbatches=8, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.Adam(stage.submod.parameters(), lr=0.01)
    means = []
    for step in range(10):
        optimizer.zero_grad()
        losses = []
        given = (x,) if rank == 0 else ()
        wanted = {"target": y, "losses": losses} if rank == last else {}
        schedule.step(*given, **wanted)
        optimizer.step()
        if rank == last:
            means.append(sum(loss.item() for loss in losses) / 8)
            print(f"step {step}: loss {means[-1]:.4f}")
    dist.destroy_process_group()
    return means


if __name__ == "__main__":
    main()
