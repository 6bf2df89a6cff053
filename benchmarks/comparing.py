"""Time the same statement on tensorlab and on PyTorch, in turns, and print ratios.

A ratio is tensorlab's time divided by PyTorch's: below 1 we are faster. Both run with one thread unless said
otherwise. Each round times both, so that a machine that slows down slows both; the table shows the median ratio
and its range.
"""

import statistics
import sys
import time


def modules(threads=1):
    """(tensorlab, torch); stops with a sentence where PyTorch is missing."""
    import tensorlab

    try:
        import torch
    except ImportError:
        sys.exit("This benchmark compares with PyTorch, which is not installed: make oracle")
    for module in (tensorlab, torch):
        module.set_num_threads(threads)
    return tensorlab, torch


def loop_of(statement, names):
    """A function that runs the statement n times; compiled, so that no call is added to it."""
    scope = dict(names)
    exec(f"def loop(n):\n for _ in range(n):\n  {statement}", scope)
    return scope["loop"]


def best_seconds(loop, seconds=0.02, repeats=3):
    """Seconds for one run of the statement: the best of a few loops of about `seconds` each."""
    n = 1
    while True:
        start = time.perf_counter()
        loop(n)
        spent = time.perf_counter() - start
        if spent > seconds / 4:
            break
        n *= 4
    n = max(1, int(n * seconds / spent))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        loop(n)
        times.append((time.perf_counter() - start) / n)
    return min(times)


def compare(statement, setup, rounds=5, threads=1):
    """Median ratio, lowest, highest, and our median seconds. `setup(T)` gives the names the statement uses."""
    loops = [loop_of(statement, {"T": T, **setup(T)}) for T in modules(threads)]
    ratios, ours = [], []
    for _ in range(rounds):
        seconds = [best_seconds(loop) for loop in loops]
        ratios.append(seconds[0] / seconds[1])
        ours.append(seconds[0])
    return statistics.median(ratios), min(ratios), max(ratios), statistics.median(ours)


def table(rows, rounds=5, threads=1):
    """Print a line for each (name, statement, setup), and the geometric mean of the ratios."""
    print(f"{'':28s} {'ours':>10s} {'ratio':>7s} {'lowest':>7s} {'highest':>7s}")
    ratios = []
    for name, statement, setup in rows:
        ratio, lowest, highest, seconds = compare(statement, setup, rounds, threads)
        ratios.append(ratio)
        print(
            f"{name:28s} {seconds * 1e6:8.2f}us {ratio:7.3f} {lowest:7.3f} {highest:7.3f}",
            flush=True,
        )
    print(f"{'geometric mean':28s} {'':10s} {statistics.geometric_mean(ratios):7.3f}")
