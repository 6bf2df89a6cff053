"""Distributions: what a density and a draw cost, over PyTorch's time.

    python benchmarks/bench_distributions.py [threads] [--plain]

A batch of `n` distributions, or one that draws `n` times; Categorical has 10 classes. By default arguments are
checked, as in most programs; with --plain, `validate_args=False`. Draws are PyTorch's, number by number.
"""

import argparse
import statistics

from comparing import best_seconds, loop_of, modules

SIZES = (1, 100, 100_000, 1_000_000)
CLASSES = 10
FAMILIES = {
    "Normal": lambda T, n: {"loc": T.randn(n), "scale": T.rand(n) + 0.5},
    "Categorical": lambda T, n: {"logits": T.randn(n, CLASSES)},
    "Gamma": lambda T, n: {"concentration": 3 * T.rand(n) + 0.5, "rate": T.rand(n) + 0.5},
}


def statements(T, family, n, validate):
    """Yield (what it does, statement, names) for a family and a size."""
    T.manual_seed(0)
    make = getattr(T.distributions, family)
    batch = make(**FAMILIES[family](T, n), validate_args=validate)
    single = make(
        **{name: value[0] for name, value in FAMILIES[family](T, 1).items()}, validate_args=validate
    )
    names = {"batch": batch, "single": single, "value": batch.sample(), "shape": (n,)}
    yield "log_prob", "batch.log_prob(value)", names
    yield "sample", "batch.sample()", names
    yield "sample of one", "single.sample(shape)", names


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("threads", type=int, nargs="?", default=1)
    parser.add_argument("--plain", action="store_true", help="without checks of arguments")
    options = parser.parse_args()
    both = modules(options.threads)
    print(f"ours / PyTorch, {options.threads} threads, median (lowest-highest) of 5")
    print(f"{'':26}", *(f"{f'n = {n}':>26}" for n in SIZES))
    for family in FAMILIES:
        cells = {}
        for n in SIZES:
            each = [statements(T, family, n, not options.plain) for T in both]
            for (what, statement, names), (_, _, their_names) in zip(*each, strict=True):
                loops = [loop_of(statement, names), loop_of(statement, their_names)]
                pairs = [[best_seconds(loop) for loop in loops] for _ in range(5)]
                ratios = [ours / theirs for ours, theirs in pairs]
                ours = statistics.median(ours for ours, _ in pairs) * 1e6
                low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
                cell = f"{ours:9.1f}us {middle:4.2f} ({low:.2f}-{high:.2f})"
                cells.setdefault(what, []).append(cell)
        for what, row in cells.items():
            print(f"{family + ' ' + what:26}", *(f"{cell:>26}" for cell in row), flush=True)


if __name__ == "__main__":
    main()
