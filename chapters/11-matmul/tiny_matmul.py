"""Matrix products: loop orders in Python to look at, and those of tiny_matmul.c to time."""

import contextlib
import ctypes
import functools
import itertools
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import tensorlab as torch

SOURCE = Path(__file__).with_name("tiny_matmul.c")
WAYS = ("ijk", "jki", "ijk_along", "ikj", "tiled", "registers", "packed")


def steps(order, m, n, k):
    """Yield (i, j, p) of each step c[i][j] += a[i][p] * b[p][j]; order is "ijk", "ikj", ..."""
    sizes = {"i": m, "j": n, "k": k}
    for place in itertools.product(*(range(sizes[letter]) for letter in order)):
        at = dict(zip(order, place, strict=True))
        yield at["i"], at["j"], at["k"]


def multiply(a, b, order="ijk"):
    """Multiply two lists of rows."""
    c = [[0.0] * len(b[0]) for _ in a]
    for i, j, p in steps(order, len(a), len(b[0]), len(b)):
        c[i][j] += a[i][p] * b[p][j]
    return c


# ---------------------------------------------------------------- the C file
def compilers():
    """Return the commands of C compilers that exist here, as lists of words."""
    named = [shlex.split(name) for name in (os.environ.get("CC", ""), "cc", "gcc", "clang")]
    return [words for words in named if words and shutil.which(words[0])]


@functools.cache
def library():
    """Compile tiny_matmul.c into a temporary folder and load it; None where that doesn't work."""
    choices = itertools.product(compilers(), ("-march=native", "-mcpu=native", "-O3"))
    for command, processor in choices:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            file = str(Path(folder) / "tiny_matmul.so")
            flags = ["-O3", processor, "-ffp-contract=fast", "-shared", "-fPIC"]
            with contextlib.suppress(subprocess.SubprocessError, OSError):
                subprocess.run(
                    [*command, *flags, str(SOURCE), "-o", file], check=True, capture_output=True
                )
                return declare(ctypes.CDLL(file))
    return None


def declare(found):
    """Tell ctypes the types of the functions."""
    size, pointer = ctypes.c_ssize_t, ctypes.c_void_p
    found.repeat.argtypes = [pointer] * 4 + [size] * 4
    found.chains.argtypes = [size, ctypes.c_float, ctypes.c_float, size]
    found.chains.restype = ctypes.c_float
    for name in ("lanes", "tile_rows"):
        getattr(found, name).restype = size
    return found


def product(way, a, b, times=1):
    """Multiply two contiguous float32 matrices by one of WAYS, several times if asked."""
    n = b.shape[0] if way == "ijk_along" else b.shape[1]
    c = torch.empty(a.shape[0], n)
    places = [tensor.data_ptr() for tensor in (c, a, b)]
    function = ctypes.cast(getattr(library(), way), ctypes.c_void_p)
    library().repeat(function, *places, a.shape[0], n, a.shape[1], times)
    return c


# ---------------------------------------------------------------- measuring
def race(calls, rounds=7):
    """Time some calls in turn; return {name: seconds of each round, best first}."""
    seconds = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: sorted(found) for name, found in seconds.items()}


def peak(chains=12, steps=100_000, rounds=30):
    """Return GFLOP/s of one core with this many sums side by side; nan without a compiler."""
    if library() is None:
        return float("nan")
    best = race({"peak": lambda: library().chains(chains, 0.5, 1.0, steps)}, rounds)["peak"][0]
    return 2 * library().lanes() * chains * steps / best / 1e9
