"""Compiled pointwise programs without a C compiler, whose ops run in blocks, against eager ops and against generated C.

    python benchmarks/bench_blocks.py [--rounds 9] [--threads 1] [--sizes 8 1000] [--row-bytes 4096] [--dtype float64]

Printed for each program and size: microseconds of a call as Python, compiled but op by op, in blocks, and as C; then
how many times as fast as Python the last three are. With one thread it is processor time, else elapsed time.
"""

import argparse
import os
import time
import warnings
from statistics import median

import tensorlab as torch
from tensorlab.compiler.lowering import blocks

ELEMENTS = 2_000_000  # of a round, at least
MOST_CALLS = 2000


def cheap(x, y):
    """Eight ops that a processor needs no time for."""
    return ((((x * y + 0.5) * x - y).relu() * 0.25 + x) - 1.5) * y


def gelu(x, y):
    """Nine ops, of which one is costly."""
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def chain(x, y):
    return ((x * 2 + 1).tanh() * x - 0.5).sigmoid() * x


def forward(function, x, y):
    return function(x, y)


def forward_and_backward(function, x, y):
    function(x, y).backward(y)
    x.grad = None


def compiled(function, way, work, x, y):
    """A compiled function that has been called as often as it takes to replay it."""
    before = os.environ.get("TENSORLAB_CC")
    if way != "C":
        os.environ["TENSORLAB_CC"] = "/no/such/cc"
    made = torch.compile(function, options={"code": way != "calls"})
    for _ in range(3):
        work(made, x, y)
    os.environ.pop("TENSORLAB_CC", None)
    if before is not None:
        os.environ["TENSORLAB_CC"] = before
    return made


def measure(function, work, size, dtype, rounds, clock):
    """Medians of the seconds of a call: as Python, by calls, in blocks, as C. They take turns."""
    x, y = torch.randn(size, dtype=dtype), torch.randn(size, dtype=dtype)
    x.requires_grad_(work is forward_and_backward)
    forms = [function] + [compiled(function, way, work, x, y) for way in ("calls", "blocks", "C")]
    count = max(1, min(MOST_CALLS, ELEMENTS // size))
    times = [[] for _ in forms]
    for _ in range(rounds):
        for one, spent in zip(forms, times, strict=True):
            start = clock()
            for _ in range(count):
                work(one, x, y)
            spent.append((clock() - start) / count)
    return [median(spent) for spent in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    sizes = [8, 4096, 100_000, 1_000_000, 10_000_000]
    parser.add_argument("--sizes", type=int, nargs="*", default=sizes)
    parser.add_argument("--row-bytes", type=int, default=blocks.ROW_BYTES)
    parser.add_argument("--dtype", default="float32")
    arguments = parser.parse_args()
    blocks.ROW_BYTES, dtype = arguments.row_bytes, getattr(torch, arguments.dtype)
    torch.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore")
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    print(
        f"{'':16}{'size':>10}  eager    calls   blocks        C  (us)   calls  blocks     C  (times as fast)"
    )
    for name, function, work in (
        ("cheap", cheap, forward),
        ("gelu", gelu, forward),
        ("chain, backward", chain, forward_and_backward),
    ):
        for size in arguments.sizes:
            times = measure(function, work, size, dtype, arguments.rounds, clock)
            spent = " ".join(f"{one * 1e6:8.1f}" for one in times)
            ratios = " ".join(f"{times[0] / one:7.2f}" for one in times[1:])
            print(f"{name:16}{size:10,} {spent}       {ratios}", flush=True)


if __name__ == "__main__":
    main()
