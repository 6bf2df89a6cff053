"""Are numbers computed as fast as by NumPy, from a hundred to a million?

    python benchmarks/bench_against_numpy.py [NAME ...]

Float32, contiguous, one thread, results allocated on both sides. Each round times both, in turns; a ratio is
tensorlab's time divided by NumPy's: below 1 we are faster. NumPy has loops of its own for AVX-512, so that the
ratios of one processor say little about another; `python -m tensorlab doctor` says what this build uses.
"""

import statistics
import sys

import numpy
from comparing import best_seconds, loop_of

import tensorlab

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
POINTWISE = ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh")
STATEMENTS = {  # name: (tensorlab, NumPy)
    **{name: (f"T.{name}(x)", f"T.{name}(x)") for name in POINTWISE},
    "add": ("x + x", "x + x"),
    "sum": ("x.sum()", "x.sum()"),
    "max": ("x.max()", "x.max()"),
    "argmax": ("x.argmax()", "x.argmax()"),
    "cumsum": ("x.cumsum(0)", "x.cumsum(0)"),
    "sort": ("T.msort(x)", "T.sort(x)"),
    "argsort": ("x.argsort()", "x.argsort(kind='stable')"),
    "unique": ("T.unique(x)", "T.unique(x)"),
    "median": ("x.median()", "T.median(x)"),
    "quantile": ("T.quantile(x, 0.3)", "T.quantile(x, 0.3)"),
}


def compare(name, size, rounds=5):
    """The median ratio, the lowest, the highest, and our median seconds."""
    x = numpy.random.default_rng(0).random(size, dtype=numpy.float32) + 0.01
    ours = loop_of(STATEMENTS[name][0], {"T": tensorlab, "x": tensorlab.from_numpy(x.copy())})
    theirs = loop_of(STATEMENTS[name][1], {"T": numpy, "x": x})
    seconds = [(best_seconds(ours), best_seconds(theirs)) for _ in range(rounds)]
    ratios = [mine / other for mine, other in seconds]
    return (
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        statistics.median(next(zip(*seconds, strict=True))),
    )


def main(names):
    tensorlab.set_num_threads(1)
    print(f"{'':10s} {'size':>8s} {'ours':>10s} {'ratio':>7s} {'lowest':>7s} {'highest':>7s}")
    ratios = []
    for name in names or STATEMENTS:
        for size in SIZES:
            ratio, lowest, highest, seconds = compare(name, size)
            ratios.append(ratio)
            print(
                f"{name:10s} {size:8d} {seconds * 1e6:8.2f}us {ratio:7.3f} {lowest:7.3f} {highest:7.3f}",
                flush=True,
            )
    print(f"{'geometric mean':30s} {statistics.geometric_mean(ratios):7.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
