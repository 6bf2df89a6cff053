"""How accurate and how fast are the functions of tl_math.h?

    python benchmarks/math_accuracy.py [--step 997] [--sizes 1000000 100000]

prints, for float32, the largest error in units in the last place (ULP) over every `step`-th of the
2**32 bit patterns (`--step 1` takes an hour), and for float32 and float64 the microseconds a call
takes one thread, beside NumPy's and, where it is installed, PyTorch's.

The header is compiled by itself, so that the figures are of the functions alone: no dispatch, no
allocation, 64-byte aligned memory, results written into a buffer that exists.
tests/core/test_tl_math.py uses the same machinery.
"""

import argparse
import ctypes
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import special
from tensorlab._core.dispatch.op import REGISTRY

from tensorlab._core.loops import scalar

HEADER = Path(__file__).resolve().parents[1] / "tensorlab" / "_core" / "loops" / "tl_math.h"
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
SUFFIX = {np.dtype(np.float32): "f", np.dtype(np.float64): ""}


def gelu(x):
    """x * Phi(x), with the limit -0 at -inf."""
    return np.where(x < -40, -0.0, x * special.ndtr(np.where(x < -40, 0, x)))


REFERENCES = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "erf": special.erf,
    "gelu": gelu,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "softplus": lambda x: np.logaddexp(0, x),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "erfinv": special.erfinv,
    "lgamma": special.gammaln,
}
WITHIN_ONE = ("asin", "acos", "erfinv")  # they have no value outside of [-1, 1]
POSITIVE = ("log", "log1p", "sqrt", "rsqrt", "lgamma")  # timed with positive arguments
GUARDED = [
    "exp",
    "log",
    "sin",
    "cos",
    "lgamma",
]  # their loops look for unusual arguments first, as the ops' do
PLAIN = [name for name in REFERENCES if name not in GUARDED]


def loops_source():
    """C source, one function a line: `void expf_loop(const float *x, float *out, ptrdiff_t n)`."""
    lines = ['#include "tl_math.h"', '#include "scalar_loops.h"']
    for real, suffix, dtype in (("float", "f", "float32"), ("double", "", "float64")):
        bodies = {
            name: f"for (ptrdiff_t i = 0; i < count; i++) out[i] = tl_{name}{suffix}(x[i]);"
            for name in PLAIN
        }
        for name in GUARDED:
            formula = scalar.expression_of(REGISTRY[name].scalar, dtype)
            text = scalar.loop_body(formula, dtype, ["x"])
            bodies[name] = " ".join(text.split())
        lines += [
            f"void {name}{suffix}_loop(const {real} *x, {real} *out, ptrdiff_t count) {{ {body} }}"
            for name, body in bodies.items()
        ]
    return "\n".join(lines) + "\n"


def find_compiler():
    """Path of $CC, cc, gcc or clang, whichever is found first, or None."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


class MathLibrary:
    """tl_math.h, compiled into a shared library in `folder`: call it with a name and an array.

    `messages` holds what the compiler said.
    """

    def __init__(self, folder, name, flags=(*FLAGS, "-march=native")):
        source, target = Path(folder) / f"{name}.c", Path(folder) / f"{name}.so"
        source.write_text(loops_source())
        command = [find_compiler(), *flags, "-shared", "-fPIC", f"-I{HEADER.parent}", source]
        result = subprocess.run(
            [*map(str, command), "-o", str(target), "-lm"], capture_output=True, text=True
        )
        self.messages = result.stderr
        if result.returncode:
            raise RuntimeError(f"cannot compile tl_math.h:\n{result.stderr}")
        self._library = ctypes.CDLL(str(target))

    def bind(self, name, x, out):
        """Function without arguments that computes `out = name(x)`; both are contiguous."""
        function = getattr(self._library, f"{name}{SUFFIX[x.dtype]}_loop")
        pointers = (ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data))
        size = ctypes.c_ssize_t(x.size)
        return lambda: function(*pointers, size)

    def __call__(self, name, x):
        out = np.empty_like(x)
        self.bind(name, x, out)()
        return out


def error_in_ulp(result, exact):
    """Distance of float32 `result` from float64 `exact`, in units in the last place of a float32.

    inf where one of them is nan or infinite and the other is not the same.
    """
    rounded = exact.astype(np.float32)
    with np.errstate(invalid="ignore"):
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        error = np.abs(result - exact) / unit
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    special_value = ~np.isfinite(rounded) | ~np.isfinite(result)
    return np.where(special_value, np.where(same, 0, np.inf), error)


def float32_patterns(step, chunk=2**26):
    """Every `step`-th of all float32 bit patterns, some millions at a time."""
    for start in range(0, 2**32, chunk * step):
        stop = min(2**32, start + chunk * step)
        yield np.arange(start, stop, step, dtype=np.uint64).astype(np.uint32).view(np.float32)


def largest_error(function, name, step):
    """Largest error of `function(x)` in ULP; for gelu where x > -1, as the header promises."""
    worst = 0.0
    for x in float32_patterns(step, chunk=2**20):
        if name == "gelu":
            x = x[~(x <= -1)]
        if x.size:
            exact = REFERENCES[name](x.astype(np.float64))
            worst = max(worst, error_in_ulp(function(x), exact).max())
    return worst


def aligned(values, dtype):
    """Copy of `values` that begins at a multiple of 64 bytes, as tensorlab's storages do."""
    size = values.size * np.dtype(dtype).itemsize
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    result = memory[start : start + size].view(dtype)
    result[:] = values
    return result


def best_us(function, calls, repeats=7):
    """Fastest mean time of `calls` calls, in microseconds, over `repeats` repeats."""
    function()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, time.perf_counter() - start)
    return best / calls * 1e6


def arguments(name, size, dtype):
    """Random arguments in [-4, 4], or in [-1, 1]; positive ones where the function needs them."""
    end = 1 if name in WITHIN_ONE else 4
    x = np.random.default_rng(0).uniform(-end, end, size)
    return aligned(np.abs(x) + 1e-6 if name in POSITIVE else x, dtype)


def torch_functions():
    """PyTorch's functions of (x, out), by our names; empty where PyTorch is missing."""
    try:
        import torch
    except ImportError:
        return None, {}
    torch.set_num_threads(1)
    functions = {name: getattr(torch, name) for name in REFERENCES if hasattr(torch, name)}
    return torch, functions | {"gelu": torch._C._nn.gelu, "softplus": torch._C._nn.softplus}


def print_errors(library, torch, oracle, step):
    print(f"float32: largest error in ULP over every {step}-th bit pattern")
    for name in REFERENCES:
        ours = largest_error(functools.partial(library, name), name, step)
        row = f"{name:9s} ours {ours:5.2f}"
        if name in oracle:
            theirs = largest_error(
                lambda x, f=oracle[name]: f(torch.from_numpy(x)).numpy(), name, step
            )
            row += f"   torch {theirs:.3g}"
        print(row, flush=True)


def print_speed(library, torch, oracle, sizes):
    for dtype in (np.float32, np.float64):
        counts = " and ".join(map(str, sizes))
        print(f"{dtype.__name__}: microseconds for {counts} elements, 1 thread")
        for name, reference in REFERENCES.items():
            row = f"{name:9s}"
            for size in sizes:
                x = arguments(name, size, dtype)
                out = aligned(np.zeros(size), dtype)
                calls = max(1, 3_000_000 // size)
                ours = best_us(library.bind(name, x, out), calls)
                numpy = best_us(functools.partial(reference, x), max(1, calls // 10))
                row += f"   ours {ours:7.1f}  numpy {numpy:8.1f} ({numpy / ours:5.1f}x)"
                if name in oracle:
                    function, tx, tout = oracle[name], torch.from_numpy(x), torch.from_numpy(out)
                    theirs = best_us(lambda f=function, x=tx, out=tout: f(x, out=out), calls)
                    row += f"  torch {theirs:7.1f} ({theirs / ours:4.1f}x)"
            print(row, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--step", type=int, default=997, help="try every STEP-th bit pattern")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 100_000])
    options = parser.parse_args()
    if find_compiler() is None:
        sys.exit("math_accuracy: no C compiler found; install one, or name it in the variable CC")
    torch, oracle = torch_functions()
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        library = MathLibrary(folder, "native")
        print_errors(library, torch, oracle, options.step)
        print_speed(library, torch, oracle, options.sizes)


if __name__ == "__main__":
    main()
