"""The programs of tests/programs, compiled: as their models alone, and as whole steps.

    python benchmarks/bench_compile.py [--rounds 7] [--threads 1] [--only gpt vae]

Printed for each: the largest relative difference of the loss in 20 steps, how many recordings there are, how many
calls ran as Python, and the median ratio of the time of 5 steps to that without `compile` (below 1 compiling pays),
with its range. A step that can't be recorded as a whole says why.
"""

import argparse
import gc
import sys
import time
import warnings
from pathlib import Path
from statistics import geometric_mean, median

import tensorlab

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.compiler.test_training_programs import modules_alive, networks
from tests.programs import PROGRAMS

STEPS = 20


def with_models_compiled(name):
    """A step of the program, and the Compiled of each of its networks."""
    gc.collect()
    before = {id(one) for one in modules_alive()}
    step = PROGRAMS[name](tensorlab)
    models = networks(before)
    for one in models:
        one.compile()
    return step, [one._compiled_call_impl.compiled for one in models]


def as_a_whole(name):
    step = tensorlab.compile(PROGRAMS[name](tensorlab))
    return step, [step.compiled]


def seconds(step, steps=5):
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return time.perf_counter() - start


def measure(name, make, rounds):
    """A row of the table, and the median ratio, or None if a step runs as Python."""
    plain = PROGRAMS[name](tensorlab)
    expected = [float(plain()) for _ in range(STEPS)]
    step, compiled = make(name)
    found = [float(step()) for _ in range(STEPS)]  # from the same seed
    difference = max(abs(a - b) / max(abs(a), 1e-12) for a, b in zip(expected, found, strict=True))
    ratios = [seconds(step) / seconds(plain) for _ in range(rounds)]
    recorded = sum(one.counts["recorded"] for one in compiled)
    as_python = sum(one.counts["as Python"] for one in compiled)
    spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
    row = f"{difference:11.1e} {recorded:10} {as_python:10} {median(ratios):7.2f}   {spread}"
    refusals = [one for each in compiled for one in each.refusals]
    if refusals:
        return f"{row}  {refusals[-1].reason}", None
    return row, median(ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(PROGRAMS))
    arguments = parser.parse_args()
    tensorlab.set_num_threads(arguments.threads)
    warnings.simplefilter("ignore")
    for title, make in (("models", with_models_compiled), ("whole steps", as_a_whole)):
        print(f"{title:22} difference recordings  as Python   ratio")
        found = []
        for name in arguments.only:
            row, ratio = measure(name, make, arguments.rounds)
            print(f"{name:21} {row}", flush=True)
            found += [ratio] if ratio else []
        if found:
            print(f"geometric mean of {len(found)}: {geometric_mean(found):.2f}\n")


if __name__ == "__main__":
    main()
