"""What does a checkpoint cost? A training step of a deep network, with parts of k layers, on tensorlab and on PyTorch.

    python benchmarks/bench_checkpoint.py [--depth 64] [--width 64] [--batch 512] [--rounds 9]

Printed for each k: our peak memory in activations, against n/k + k; the step's time as a ratio to the step without
checkpoints, in each package (a forward pass more is the least possible); and our time as a ratio to PyTorch's.
"""

import argparse
import importlib
import time
from statistics import median

from comparing import modules


def make_step(M, depth, width, batch):
    """A function of k that runs one training step; k = None: without checkpoints, 0: a forward pass alone."""
    checkpoint = importlib.import_module(f"{M.__name__}.utils.checkpoint").checkpoint
    M.manual_seed(0)
    layers = [M.nn.Sequential(M.nn.Linear(width, width), M.nn.Tanh()) for _ in range(depth)]
    x = M.randn(batch, width, requires_grad=True)

    def step(k):
        y = x
        if k:
            for i in range(0, depth, k):
                y = checkpoint(M.nn.Sequential(*layers[i : i + k]), y, use_reentrant=False)
        else:
            y = M.nn.Sequential(*layers)(y)
        if k != 0:
            y.sum().backward()

    return step


def activations_at_most(T, step, k, size):
    """Our peak beyond what was in use, in units of `size` bytes."""
    before = T.memory_stats()["allocated_bytes"]
    T.reset_peak_memory_stats()
    step(k)
    return (T.memory_stats()["peak_bytes"] - before) / size


def seconds(step, k):
    start = time.thread_time()
    step(k)
    return time.thread_time() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, value in {"depth": 64, "width": 64, "batch": 512, "rounds": 9}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    T, torch = modules()
    steps = [make_step(M, args.depth, args.width, args.batch) for M in (T, torch)]
    powers = [2**i for i in range(args.depth.bit_length()) if 2**i <= args.depth]
    choices = [None, 0, *powers]
    for k in choices:
        for step in steps:
            step(k)
    times = {(i, k): [] for i in range(2) for k in choices}
    for _ in range(args.rounds):
        for k in choices:
            for i, step in enumerate(steps):
                times[i, k].append(seconds(step, k))
    spent = {key: median(found) for key, found in times.items()}
    print(" k   at most   n/k + k   ours/plain   PyTorch's/plain   ours/PyTorch's")
    for k in [None, *powers]:
        peak = activations_at_most(T, steps[0], k, args.batch * args.width * 4)
        expected = args.depth / k + k if k else args.depth
        ratios = [spent[i, k] / spent[i, None] for i in range(2)]
        print(
            f"{k or '-':>2} {peak:9.1f} {expected:9.1f} {ratios[0]:12.2f} {ratios[1]:17.2f} "
            f"{spent[0, k] / spent[1, k]:16.3f}"
        )
    least = [1 + spent[i, 0] / spent[i, None] for i in range(2)]
    print(f"a forward pass more: ours {least[0]:.2f}, PyTorch's {least[1]:.2f}")
