"""How does the cost of an operation grow with its size, and how far from the machine's limit does it stay?

    python benchmarks/growth.py [--rounds 5] [NAME ...]

Seven workloads, from small to large, in tensorlab, PyTorch and NumPy, with one thread and with one for each core.
Every library has a process of its own, round after round in turns, so that no pool of threads waits beside
another's and a machine that slows down slows all. A round's time is the best of a few loops; what is recorded are
the fastest round and the middle one, in seconds.

The limit of a workload is the time that its floating-point operations take at the peak of FMAs in registers, or that
its compulsory bytes take at the speed at which this machine copies as many bytes, whichever is longer: so it counts
what must be done, not what a program does. Sorting has no such limit but the bytes that it reads and writes once.

Without names it writes `growth.json` into the folders of the chapters that draw these pictures (05, 11, 12, 13);
with names it prints a table of those workloads alone.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = {"tensorlab": "tensorlab", "PyTorch": "torch", "NumPy": "numpy"}
CHAPTERS = {
    "05-layout-and-caches": ("softmax", "sort"),
    "11-matmul": ("matmul", "attention"),
    "12-convolution": ("conv",),
    "13-threads": ("mlp", "loader"),
}
ROW, CHANNELS, BATCH, HEADS, FEATURES, LAYERS = 1000, 64, 8, 8, 64, (784, 256, 10)


def floats(*shape, seed=0):
    import numpy

    return numpy.random.default_rng(seed).standard_normal(shape, dtype="float32")


# ------------------------------------------------------------------------------------------------ the workloads
# Each takes a library and a size, and returns the call that is timed. NumPy's are the formulas of a textbook.
def matmul(T, n):
    a, b = tensors(T, floats(n, n), floats(n, n, seed=1))
    return lambda: a @ b


def softmax(T, n):
    (x,) = tensors(T, floats(n, ROW))
    if T.__name__ != "numpy":
        return lambda: T.softmax(x, 1)

    def call():
        shares = T.exp(x - x.max(1, keepdims=True))
        return shares / shares.sum(1, keepdims=True)

    return call


def sort(T, n):
    (x,) = tensors(T, floats(n))
    return (lambda: T.sort(x)) if T.__name__ == "numpy" else (lambda: T.msort(x))


def conv(T, side):
    x, w = tensors(T, floats(BATCH, CHANNELS, side, side), floats(CHANNELS, CHANNELS, 3, 3))
    if T.__name__ != "numpy":
        return lambda: T.nn.functional.conv2d(x, w, padding=1)
    from numpy.lib.stride_tricks import sliding_window_view

    def call():  # one product with all windows, the batch inside
        windows = sliding_window_view(T.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
        return T.tensordot(w, windows, ((1, 2, 3), (1, 4, 5)))

    return call


def attention(T, length):
    q, k, v = tensors(T, *(floats(1, HEADS, length, FEATURES, seed=seed) for seed in range(3)))
    if T.__name__ != "numpy":
        return lambda: T.nn.functional.scaled_dot_product_attention(q, k, v)

    def call():
        scores = q @ k.swapaxes(-1, -2) / FEATURES**0.5
        shares = T.exp(scores - scores.max(-1, keepdims=True))
        return shares / shares.sum(-1, keepdims=True) @ v

    return call


def mlp(T, batch):
    """A step of SGD: forward, cross-entropy, backward, update."""
    images = floats(batch, LAYERS[0])
    labels = images[:, : LAYERS[2]].argmax(1)
    if T.__name__ == "numpy":
        return mlp_by_hand(T, images, labels)
    x, y = tensors(T, images, labels)
    network = T.nn.Sequential(T.nn.Linear(*LAYERS[:2]), T.nn.ReLU(), T.nn.Linear(*LAYERS[1:]))
    optimizer = T.optim.SGD(network.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        T.nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()

    return step


def mlp_by_hand(T, x, labels):
    n, rows = len(x), T.arange(len(x))
    w, v = floats(*LAYERS[:2]) / 28, floats(*LAYERS[1:]) / 16
    b, c = T.zeros(LAYERS[1], "float32"), T.zeros(LAYERS[2], "float32")

    def step():
        hidden = T.maximum(x @ w + b, 0)
        scores = hidden @ v + c
        grad = T.exp(scores - scores.max(1, keepdims=True))
        grad /= grad.sum(1, keepdims=True)
        grad[rows, labels] -= 1
        grad /= n
        grad_hidden = grad @ v.T * (hidden > 0)
        for parameter, slope in (
            (v, hidden.T @ grad), (c, grad.sum(0)), (w, x.T @ grad_hidden), (b, grad_hidden.sum(0))
        ):  # fmt: skip
            parameter -= 0.01 * slope

    return step


def loader(T, samples):
    """All batches of 64 shuffled samples of 784 numbers."""
    images, labels = tensors(T, floats(samples, LAYERS[0]), floats(samples)[:, None])
    if T.__name__ == "numpy":
        random = T.random.default_rng(0)

        def call():
            order = random.permutation(samples)
            for at in range(0, samples, 64):
                _ = images[order[at : at + 64]], labels[order[at : at + 64]]

        return call
    data = T.utils.data.TensorDataset(images, labels)
    batches = T.utils.data.DataLoader(data, batch_size=64, shuffle=True)

    def call():
        for _ in batches:
            pass

    return call


def tensors(T, *arrays):
    return arrays if T.__name__ == "numpy" else [T.from_numpy(array) for array in arrays]


# name: (workload, sizes, what a size counts, floating-point operations, bytes that are read and written once)
WEIGHTS = LAYERS[0] * LAYERS[1] + LAYERS[1] * LAYERS[2]
WORKLOADS = {
    "matmul": (
        matmul, (4, 8, 16, 32, 64, 128, 256, 512, 1024), "n, of n by n matrices",
        lambda n: 2 * n**3, lambda n: 12 * n**2,
    ),
    "softmax": (
        softmax, (1, 4, 16, 64, 256, 1024, 4096, 16384), f"rows of {ROW:,} numbers",
        lambda n: 25 * n * ROW, lambda n: 8 * n * ROW,
    ),
    "sort": (
        sort, (10, 100, 1000, 10_000, 100_000, 1_000_000), "numbers",
        lambda n: 0, lambda n: 8 * n,
    ),
    "conv": (
        conv, (2, 4, 8, 16, 32, 64), f"side of images, {BATCH} of them with {CHANNELS} channels",
        lambda n: 18 * BATCH * CHANNELS**2 * n**2, lambda n: 8 * BATCH * CHANNELS * n**2,
    ),
    "attention": (
        attention, (4, 16, 64, 256, 1024, 2048), f"positions, {HEADS} heads of {FEATURES} features",
        lambda n: 4 * HEADS * FEATURES * n**2, lambda n: 16 * HEADS * FEATURES * n,
    ),
    "mlp": (
        mlp, (1, 4, 16, 64, 256, 1024, 4096), "samples of a batch",
        lambda n: 6 * n * WEIGHTS - 2 * n * LAYERS[0] * LAYERS[1],
        lambda n: 4 * (4 * WEIGHTS + 2 * n * sum(LAYERS)),
    ),
    "loader": (
        loader, (64, 256, 1024, 4096, 16384), f"samples of {LAYERS[0]} numbers, in batches of 64",
        lambda n: 0, lambda n: 8 * n * (LAYERS[0] + 1),
    ),
}  # fmt: skip


# ------------------------------------------------------------------------------------------------ measuring
def best_seconds(call, seconds=0.01, loops=3):
    """Seconds of one call: the best of some loops, each of `seconds` or of a single call."""
    call()
    start = time.perf_counter()
    call()
    n = max(1, int(seconds / (time.perf_counter() - start)))
    times = []
    for _ in range(loops):
        start = time.perf_counter()
        for _ in range(n):
            call()
        times.append((time.perf_counter() - start) / n)
    return min(times)


def measure(library, threads, names):
    """One round of one library: seconds by workload and size."""
    import threadpoolctl

    T = __import__(LIBRARIES[library])
    if library == "NumPy":
        threadpoolctl.threadpool_limits(threads)
    else:
        T.set_num_threads(threads)
    return {
        name: [best_seconds(WORKLOADS[name][0](T, n)) for n in WORKLOADS[name][1]] for name in names
    }


def copy_seconds(nbytes, threads):
    """Seconds to read and write so many bytes in all, half of them read: a thread copies a part of its own.

    Fewer bytes than 64 KiB are taken to move as fast as these, so that no call is counted.
    """
    import threading

    import numpy

    if nbytes < 65536:
        return copy_seconds(65536, threads) * nbytes / 65536
    count = nbytes // 8 // threads
    parts = [(numpy.zeros(count, "float32"), numpy.ones(count, "float32")) for _ in range(threads)]
    repeats = max(1, 50_000_000 // nbytes)

    def copy(part):
        for _ in range(repeats):
            numpy.copyto(*part)

    times = []
    for _ in range(3):
        team = [threading.Thread(target=copy, args=(part,)) for part in parts[1:]]
        start = time.perf_counter()
        for one in team:
            one.start()
        copy(parts[0])
        for one in team:
            one.join()
        times.append((time.perf_counter() - start) / repeats)
    return min(times)


def peak_flops():
    """Floating-point operations that one core does in a second at most; nan without a C compiler."""
    sys.path.insert(0, str(ROOT / "chapters/11-matmul"))
    from tiny_matmul import peak

    return peak() * 1e9


def limits(names, threads):
    """The limit of each workload at each size, in seconds."""
    peak, found = peak_flops() * threads, {}
    for name in names:
        _, sizes, _, operations, nbytes = WORKLOADS[name]
        found[name] = [max(operations(n) / peak, copy_seconds(nbytes(n), threads)) for n in sizes]
    return found


def in_a_process(*arguments):
    """What a worker prints: JSON."""
    command = [sys.executable, __file__, *arguments]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def record(names, rounds):
    """{threads: {workload: {library or "limit": (fastest, middle) at each size}}}"""
    found = {}
    for threads in sorted({1, os.cpu_count() or 1}):
        runs = {who: [] for who in ("limit", *LIBRARIES)}
        for _ in range(rounds):
            for who in runs:
                runs[who].append(in_a_process("--worker", who, "--threads", str(threads), *names))
        found[str(threads)] = {
            name: {
                who: [
                    summary(times) for times in zip(*(one[name] for one in all_rounds), strict=True)
                ]
                for who, all_rounds in runs.items()
            }
            for name in names
        }
    return found


def summary(times):
    """The fastest and the middle one, in three digits."""
    return [float(f"{one:.3g}") for one in (min(times), statistics.median(times))]


def machine():
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":")[1].strip() if lines else model
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": model,
        "cores": os.cpu_count(),
        "versions": {name: __import__(module).__version__ for name, module in LIBRARIES.items()},
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=", ".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    names = asked.names or list(WORKLOADS)
    if asked.worker:
        took = (
            limits(names, asked.threads)
            if asked.worker == "limit"
            else measure(asked.worker, asked.threads, names)
        )
        print(json.dumps(took))
        return
    found = record(names, asked.rounds)
    for threads, results in found.items():
        for name, times in results.items():
            print(
                f"{name}, {threads} thread{'s' if threads != '1' else ''}: microseconds over {WORKLOADS[name][2]}"
            )
            for at, n in enumerate(WORKLOADS[name][1]):
                print(
                    f"{n:9}",
                    *(f"{who} {1e6 * both[at][0]:11.2f}" for who, both in times.items()),
                    sep="  ",
                )
    if asked.names:
        return
    for chapter, drawn in CHAPTERS.items():
        growth = {
            name: {"size": WORKLOADS[name][2], "sizes": WORKLOADS[name][1]}
            | {threads: results[name] for threads, results in found.items()}
            for name in drawn
        }
        text = json.dumps({"machine": machine()} | growth, ensure_ascii=False)
        text = text.replace(', "', ',\n"')
        (ROOT / "chapters" / chapter / "growth.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
