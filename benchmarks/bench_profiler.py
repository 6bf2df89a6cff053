"""What does a profile cost: nothing while it is off, and how much for each event while it is on?

    python benchmarks/bench_profiler.py

A step of a small network on one thread, the median of 1,000 steps; PyTorch, if it is installed, beside it.
"""

import time

import tensorlab

try:
    import torch
except ImportError:
    torch = None

STEPS = 1000
OPTIONS = ({}, {"with_stack": True}, {"record_shapes": True}, {"profile_memory": True})


def step_of(library):
    """A function that trains a network of three layers for a step."""
    library.set_num_threads(1)
    nn = library.nn
    model = nn.Sequential(
        nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
    )
    optimizer = library.optim.SGD(model.parameters(), lr=0.01)
    x, y = library.randn(128, 64), library.randint(0, 10, (128,))

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def median_microseconds(step):
    """The median time of a step."""
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return sorted(times)[STEPS // 2] * 1e6


def main():
    print(f"{'':<12}{'options':<24}{'off':>10}{'on':>10}{'events':>10}{'an event':>10}")
    for library in filter(None, (tensorlab, torch)):
        step = step_of(library)
        median_microseconds(step)
        off = median_microseconds(step)
        for options in OPTIONS:
            with library.profiler.profile(**options) as prof:
                on = median_microseconds(step)
            events = len(prof.events()) / STEPS
            print(
                f"{library.__name__:<12}{', '.join(options) or 'none':<24}{off:>10.1f}{on:>10.1f}{events:>10.0f}"
                f"{(on - off) / events:>10.2f}"
            )


if __name__ == "__main__":
    main()
