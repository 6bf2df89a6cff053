"""Data parallel training. Start it with: tensorlab run --nproc-per-node 2 data_parallel.py"""

import tensorlab as torch
import tensorlab.distributed as dist
from tensorlab import nn
from tensorlab.nn.parallel import DistributedDataParallel as DDP
from tensorlab.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    """Fit a line to noisy points; return the slope, which is the same on all ranks."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    points = torch.Generator().manual_seed(0)
    x = torch.randn(256, 1, generator=points)
    y = 3 * x + 0.1 * torch.randn(256, 1, generator=points)
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    model = DDP(nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(5):
        sampler.set_epoch(epoch)
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        if rank == 0:
            print(f"epoch {epoch}: loss {mean.item():.4f}")
    slope = model.module.weight.item()
    dist.destroy_process_group()
    return slope


if __name__ == "__main__":
    main()
