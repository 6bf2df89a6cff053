"""How does the engine's cost grow with depth? Chains built, run and freed; a million nodes on a small stack.

python benchmarks/bench_deep_graphs.py [--million]
"""

import argparse
import threading
import time

import tensorlab as T


def chain(x, n):
    for _ in range(n // 2):
        x = x * 1.0001
        x = x + 0.0001
    return x


def measure(n):
    """Nanoseconds for each node to build, run backward and free (unused: without backward)."""
    x = T.ones(8, requires_grad=True)
    start = time.perf_counter()
    y = chain(x, n)
    built = time.perf_counter()
    y.backward(T.ones(8))
    ran = time.perf_counter()
    del y
    freed = time.perf_counter()
    unused = chain(x, n)
    before = time.perf_counter()
    del unused
    dropped = time.perf_counter()
    return [
        1e9 * seconds / n for seconds in (built - start, ran - built, freed - ran, dropped - before)
    ]


def million():
    """One million nodes built, run backward and freed in a thread whose stack is 256 KiB."""
    leaf = T.ones(1, requires_grad=True)

    def work():
        y = chain(leaf, 1_000_000)
        y.backward()
        del y
        unused = chain(leaf, 1_000_000)
        del unused

    live = T.live_tensors()
    threading.stack_size(256 * 1024)
    thread = threading.Thread(target=work)
    start = time.perf_counter()
    thread.start()
    thread.join()
    seconds = time.perf_counter() - start
    print(
        f"1,000,000 nodes, 256 KiB of stack: {seconds:.1f} s, gradient {leaf.grad.item():.4g}, "
        f"{T.live_tensors() - live} tensors more than before (the gradient)"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true")
    print(
        f"{'nodes':>8s} {'build':>9s} {'backward':>9s} {'free':>9s} {'drop unrun':>11s}   ns a node"
    )
    for size in (100, 1_000, 10_000, 100_000):
        runs = [measure(size) for _ in range(3)]
        print(f"{size:8d} " + " ".join(f"{min(column):9.0f}" for column in zip(*runs, strict=True)))
    if parser.parse_args().million:
        million()
