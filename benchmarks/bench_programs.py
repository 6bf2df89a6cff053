"""The programs of tests/programs against PyTorch: losses, time of a step, and memory over many steps.

    python benchmarks/bench_programs.py [--rounds 9] [--threads 1 2] [--memory] [--only gpt vae]

Printed for each program and number of threads: the largest difference of the loss in 50 steps in float32 and float64,
then the median ratio of the times of 20 steps (below 1 we are faster) with its range. With `--memory`: how many
tensors are alive, and how many bytes they take, after 200 and after 5,000 steps; both should be equal.
"""

import argparse
import gc
import sys
import time
from pathlib import Path
from statistics import geometric_mean, median

from comparing import modules

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.programs import PROGRAMS


def difference(T, torch, name, dtype, steps=50):
    """The largest difference between the losses of both packages."""
    found = []
    for module in (T, torch):
        module.set_default_dtype(getattr(module, dtype))
        step = PROGRAMS[name](module)
        found.append([step() for _ in range(steps)])
        module.set_default_dtype(module.float32)
    return max(abs(a - b) for a, b in zip(*found, strict=True))


def seconds(step, steps=20):
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return time.perf_counter() - start


def ratios(T, torch, name, rounds):
    """Our time over PyTorch's, once per round."""
    steps = [PROGRAMS[name](module) for module in (T, torch)]
    for step in steps:
        seconds(step)
    return [seconds(steps[0]) / seconds(steps[1]) for _ in range(rounds)]


def memory(T, name, counts=(200, 5000)):
    """Tensors alive and bytes allocated after each of some numbers of steps."""
    step, done, found = PROGRAMS[name](T), 0, []
    for count in counts:
        for _ in range(count - done):
            step()
        done = count
        gc.collect()
        found.append((T.live_tensors(), T.memory_stats()["allocated_bytes"]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    T, torch = modules()
    if options.memory:
        for name in options.only:
            (tensors, size), (later, later_size) = memory(T, name)
            print(
                f"{name:22} step 200: {tensors:5} tensors {size:9} bytes; step 5000: {later:5} "
                f"tensors {later_size:9} bytes",
                flush=True,
            )
        return
    print(f"{'':22} float32  float64  threads: ratio (lowest-highest)")
    medians = {threads: [] for threads in options.threads}
    for name in options.only:
        line = f"{name:22} " + "  ".join(
            f"{difference(T, torch, name, dtype):7.1e}" for dtype in ("float32", "float64")
        )
        for threads in options.threads:
            for module in (T, torch):
                module.set_num_threads(threads)
            found = ratios(T, torch, name, options.rounds)
            medians[threads].append(median(found))
            line += f"  {threads}: {median(found):.2f} ({min(found):.2f}-{max(found):.2f})"
        print(line, flush=True)
    for threads, found in medians.items():
        print(f"geometric mean with {threads} threads: {geometric_mean(found):.3f}")


if __name__ == "__main__":
    main()
