"""Run by two real processes: how long a step takes, by the size of the buckets. Rank 0 prints it as JSON."""

import json
import time

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab import nn

SIZES = {"a bucket per parameter": 1e-6, "0.5 MB": 0.5, "25 MB": 25}


def network():
    torch.manual_seed(0)
    return nn.Sequential(*[nn.Sequential(nn.Linear(128, 128), nn.Tanh()) for _ in range(24)])


def median_step(model, x, steps=15):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    times = []
    for _ in range(steps):
        dist.barrier()
        begun = time.perf_counter()
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
        times.append(time.perf_counter() - begun)
    return sorted(times)[steps // 2]


def main():
    torch.set_num_threads(1)
    dist.init_process_group()
    x = torch.randn(32, 128)
    found = {"without": median_step(network(), x)}
    for name, size in SIZES.items():
        model = nn.parallel.DistributedDataParallel(network(), bucket_cap_mb=size)
        found[name] = median_step(model, x)
        found[f"calls, {name}"] = len(model.reducer.buckets)
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
