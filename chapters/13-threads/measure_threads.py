"""The measurements of this chapter, each in a process of its own: python measure_threads.py NAME

Prints JSON. Times are microseconds, as lower quartile, median and upper quartile.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy

import tensorlab as torch

F = torch.nn.functional
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def microseconds(run):
    """Return how long a call takes."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e6


def quartiles(times):
    """Return the lower quartile, the median and the upper quartile, or nan if there are no times."""
    times = sorted(times) or [float("nan")]
    return [round(times[len(times) * k // 4], 2) for k in (1, 2, 3)]


def in_threads(*works):
    """Call each of the functions in a Python thread of its own; return the microseconds."""
    start = threading.Barrier(len(works) + 1)

    def body(work):
        start.wait()
        work()

    threads = [threading.Thread(target=body, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    start.wait()
    begin = time.perf_counter()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - begin) * 1e6


def run(name, blas_threads=None):
    """Run a measurement in a fresh process, whose BLAS (that of NumPy) has so many threads."""
    command = [sys.executable, __file__, name]
    done = subprocess.run(command, env=limited(blas_threads), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def limited(blas_threads):
    """Return an environment in which BLAS starts so many threads, whichever BLAS it is."""
    names = ("OPENBLAS", "MKL", "VECLIB_MAXIMUM", "OMP")
    return os.environ | {f"{one}_NUM_THREADS": str(blas_threads or CORES) for one in names}


def some_counts():
    """Return numbers of threads to try, up to twice the processors."""
    most = 2 * CORES
    return sorted(n for n in {1, 2, 3, 4, CORES // 2, CORES, 3 * CORES // 2, most} if 0 < n <= most)


# ---------------------------------------------------------------- the grain


def grain():
    """Return times of exp with 1 and 2 threads in turn: in rows of calls, and after pauses."""
    found = {"sizes": [1024 * 2**k for k in range(10)]}
    for kind, rounds, calls, pause in (("busy", 15, 12, 0), ("paused", 40, 1, 0.001)):
        found |= {f"{threads} {kind}": [] for threads in (1, 2)}
        for n in found["sizes"]:
            x, out, times = torch.ones(n), torch.empty(n), {1: [], 2: []}
            for threads in [1, 2] * rounds:
                torch.set_num_threads(threads)
                for call in range(calls):
                    time.sleep(pause)
                    passed = microseconds(lambda x=x, out=out: torch.exp(x, out=out))
                    if call or pause:  # the first of a row finds the helper asleep
                        times[threads].append(passed)
            for threads, column in times.items():
                found[f"{threads} {kind}"].append(quartiles(column))
    return found


# ---------------------------------------------------------------- two pools


def after_product():
    """Return times of loops in the quarter of a second after one product by NumPy."""
    matrix = numpy.ones((512, 512), "float32")
    x, out = torch.ones(200_000), torch.empty(200_000)
    bins = [[] for _ in range(25)]
    for _ in range(3):
        time.sleep(0.2)  # until every thread sleeps
        for _ in range(50):
            torch.exp(x, out=out)
        matrix @ matrix
        base = time.perf_counter()
        while (at := time.perf_counter() - base) < 0.25:
            bins[int(at * 100)].append(microseconds(lambda: torch.exp(x, out=out)))
    return [quartiles(times) for times in bins]


def pools():
    """Return `after_product` with all of NumPy's threads, and with one."""
    return {str(n): run("after_product", n) for n in (CORES, 1)}


# ---------------------------------------------------------------- Amdahl


def training_step(batch):
    """Return a training step of a small network."""
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(784, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, target = torch.randn(batch, 784), torch.randint(0, 10, (batch,))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), target).backward()
        optimizer.step()

    return step


def independent(threads):
    """Return the microseconds of `threads` Python threads, each with loops of its own."""
    pairs = [(torch.ones(300_000), torch.empty(300_000)) for _ in range(threads)]

    def loops(x, out):
        for _ in range(4):
            torch.exp(x, out=out)

    return in_threads(*(lambda x=x, out=out: loops(x, out) for x, out in pairs))


def speedups(rounds=11):
    """Return times of training steps for each number of threads, and of the control."""
    counts = some_counts()
    steps = {batch: training_step(batch) for batch in (4, 64, 1024)}
    times = {f"batch {batch}": [[] for _ in counts] for batch in steps}
    times["control"] = [[] for _ in counts]
    for _ in range(rounds):
        for batch, step in steps.items():
            for column, threads in zip(times[f"batch {batch}"], counts, strict=True):
                torch.set_num_threads(threads)
                step()
                column.append(min(microseconds(step) for _ in range(2)))
        torch.set_num_threads(1)
        for column, threads in zip(times["control"], counts, strict=True):
            column.append(independent(threads) / threads)  # a thread's share
    return {"counts": counts} | {
        name: [quartiles(column) for column in columns] for name, columns in times.items()
    }


# ---------------------------------------------------------------- Python threads


def python_threads(rounds=9):
    """Return times of the same number of elements in calls of different sizes."""
    torch.set_num_threads(1)
    counts = [n for n in some_counts() if n <= CORES]
    found = {"counts": counts}
    for n in (1000, 8000, 300_000):
        x = torch.ones(n)

        def calls(x=x, n=n):
            out = torch.empty(n)
            for _ in range(1_200_000 // n):
                torch.exp(x, out=out)

        found[str(n)] = [
            quartiles([in_threads(*[calls] * c) / c for _ in range(rounds)]) for c in counts
        ]
    return found


# ---------------------------------------------------------------- one cache line

COUNTER = "void count(volatile long *x, long n) { for (long i = 0; i < n; i++) *x += 1; }"


def sharing(times=5_000_000, rounds=7):
    """Return times of two threads that count, by the distance of their counters in bytes."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    memory = torch.zeros(64, dtype=torch.int64)
    base = memory.data_ptr() + -memory.data_ptr() % 128
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "count.c"), Path(folder, "count.so")
        source.write_text(COUNTER)
        subprocess.run(
            [compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True
        )
        count = ctypes.CDLL(str(library)).count
    count.argtypes = (ctypes.c_void_p, ctypes.c_long)

    def both(distance):
        return in_threads(lambda: count(base, times), lambda: count(base + distance, times))

    found = {str(distance): [] for distance in (0, 8, 128)}
    kept = 1.0
    for _ in range(rounds):
        for distance, column in found.items():
            memory.zero_()
            column.append(both(int(distance)))
            if distance == "0":
                kept = min(kept, memory.sum().item() / (2 * times))
    alone = quartiles([in_threads(lambda: count(base, times)) for _ in range(rounds)])
    return {name: quartiles(column) for name, column in found.items()} | {
        "alone": alone,
        "kept": kept,
    }


# ---------------------------------------------------------------- too many threads


PRODUCTS = """
import time
import numpy

matrix = numpy.ones((192, 192), "float32")
matrix @ matrix
print("ready", flush=True)
input()
wall, processor, count = time.perf_counter(), time.process_time(), 0
while count < 200 and time.perf_counter() < wall + 0.2:
    matrix @ matrix
    count += 1
print((time.perf_counter() - wall) / count, (time.process_time() - processor) / count)
"""


def crowd(processes, threads):
    """Run PRODUCTS in several processes at once; return the mean of their times."""
    command = [sys.executable, "-c", PRODUCTS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen(command, env=limited(threads), **pipes) for _ in range(processes)]
    for worker in workers:
        worker.stdout.readline()
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    results = [worker.communicate()[0].split() for worker in workers]
    return [sum(map(float, column)) / processes * 1e6 for column in zip(*results, strict=True)]


def crowds(rounds=1):
    """Return wall and processor time of a product, by processes and threads of each."""
    found = {}
    for processes in (1, max(2, min(CORES, 4))):
        for threads in sorted({1, CORES}):
            times = [crowd(processes, threads) for _ in range(rounds)]
            found[f"{processes} x {threads}"] = sorted(times)[rounds // 2]
    return found


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
