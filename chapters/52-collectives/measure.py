"""Run by two real processes: how long all_reduce takes, by size. Rank 0 prints it as JSON."""

import json
import time

import tensorlab as torch
from tensorlab import distributed as dist

SIZES = [1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 22, 1 << 24]  # bytes


def fastest(call, times, rounds=5):
    """Return the shortest time of a call in seconds, over rounds that all ranks begin together."""
    call()
    best = float("inf")
    for _ in range(rounds):
        dist.barrier()
        begun = time.perf_counter()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter() - begun) / times)
    return best


def main():
    torch.set_num_threads(1)
    dist.init_process_group()
    seconds = []
    for size in SIZES:
        x = torch.zeros(size // 4)
        seconds.append(fastest(lambda x=x: dist.all_reduce(x), max(1, min(50, (1 << 22) // size))))
    many, one = [torch.zeros(256) for _ in range(1000)], torch.zeros(256_000)
    apart = fastest(lambda: [dist.all_reduce(x) for x in many], 1)
    together = fastest(lambda: dist.all_reduce(one), 1)
    if dist.get_rank() == 0:
        print(
            json.dumps({"sizes": SIZES, "seconds": seconds, "apart": apart, "together": together})
        )
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
