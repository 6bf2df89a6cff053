"""What does attention cost? Forward and backward of scaled_dot_product_attention against PyTorch, and memory.

    python benchmarks/bench_attention.py [--rounds 15] [--threads 1 2]

Printed for each shape, causal or not: our milliseconds and the ratio to PyTorch's (below 1 we are faster); then our
peak memory, in blocks and by the formula, as the sequence grows: twice as long, twice or four times as much.
"""

import argparse
import time
from statistics import median

from comparing import modules

SHAPES = [(8, 8, 128, 64), (2, 8, 1024, 64), (4, 4, 64, 32), (2, 4, 16, 16)]


def make_step(M, shape, is_causal):
    """A function that runs attention forward and backward."""
    inputs = [M.randn(shape, requires_grad=True) for _ in range(3)]
    grad = M.randn(shape)

    def step():
        out = M.nn.functional.scaled_dot_product_attention(*inputs, is_causal=is_causal)
        out.backward(grad)
        for x in inputs:
            x.grad = None

    return step


def seconds(step):
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def peak_bytes(T, step):
    before = T.memory_stats()["allocated_bytes"]
    T.reset_peak_memory_stats()
    step()
    return T.memory_stats()["peak_bytes"] - before


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    for threads in args.threads:
        T, torch = modules(threads)
        for shape in SHAPES:
            for is_causal in (False, True):
                steps = [make_step(M, shape, is_causal) for M in (T, torch)]
                times = [[seconds(step) for step in steps] for _ in range(args.rounds + 3)][3:]
                ours, theirs = (min(column) for column in zip(*times, strict=True))
                ratio = median(one / other for one, other in times)
                name = "causal" if is_causal else "full"
                print(
                    f"{threads} threads {shape!s:18} {name:6} {1e3 * ours:8.3f} ms {ratio:5.2f} of PyTorch's"
                )
    attention = T.nn.attention
    for length in (512, 1024, 2048):
        step, found = make_step(T, (1, 8, length, 64), False), []
        for backend in (attention.SDPBackend.FLASH_ATTENTION, attention.SDPBackend.MATH):
            with attention.sdpa_kernel(backend):
                step()
                found.append(peak_bytes(T, step) / 2**20)
        print(
            f"length {length:5} in blocks {found[0]:6.1f} MiB, by the formula {found[1]:6.1f} MiB"
        )
