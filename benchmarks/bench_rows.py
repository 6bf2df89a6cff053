"""Reductions of short rows, and over the first dimension, with what stands around them: compiled over eager.

    python benchmarks/bench_rows.py [--short N] [--threads N]

Best of nine: processor time with one thread, elapsed time with more. With --short 0 all rows are folded one at a time.
"""

import argparse
import time

import tensorlab
from tensorlab.compiler.lowering import side_by_side
from tensorlab.nn import functional as F

SHAPES = ((32768, 10), (8192, 3), (4096, 64), (512, 17), (64, 128), (256, 256), (4096, 512))
FUNCTIONS = {
    "sum(1)": lambda g, y: (g * y * (1 - y)).sum(1),
    "mean(1)": lambda g, y: (g * y).mean(1),
    "amax(1)": lambda g, y: (g * y).amax(1),
    "var(1)": lambda g, y: (g + y).var(1),
    "softmax(1)": lambda g, y: F.softmax(g * y, 1),
    "log_softmax(1)": lambda g, y: F.log_softmax(g + y, 1),
    "logsumexp(1)": lambda g, y: tensorlab.logsumexp(g + y, 1),
    "sum(0)": lambda g, y: (g * y * (1 - y)).sum(0),
    "amax(0)": lambda g, y: (g * y).amax(0),
}


def seconds(function, g, y):
    clock = time.process_time if tensorlab.get_num_threads() == 1 else time.perf_counter
    calls = max(1, 200_000 // g.numel())
    start = clock()
    for _ in range(calls):
        function(g, y)
    return clock() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", type=int, default=side_by_side.SHORT)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    side_by_side.SHORT = arguments.short
    tensorlab.set_num_threads(arguments.threads)
    print(f"{'':12}", *(f"{name:>14}" for name in FUNCTIONS))
    for shape in SHAPES:
        g, y = tensorlab.randn(shape), tensorlab.rand(shape)
        row = []
        for function in FUNCTIONS.values():
            tensorlab.compiler.reset()
            compiled = tensorlab.compile(lambda g, y, function=function: function(g, y))
            compiled(g, y)
            pairs = [(seconds(compiled, g, y), seconds(function, g, y)) for _ in range(9)]
            fast, slow = (min(times) for times in zip(*pairs, strict=True))
            row.append(f"{fast / slow:14.2f}")
        print(f"{shape[0]:>6} x {shape[1]:<4}", *row, flush=True)


if __name__ == "__main__":
    main()
