"""How does the engine's cost grow with depth, and how long does a deep graph take to be freed?

python benchmarks/bench_deep_graphs.py [--deepest]

With --deepest: graphs of 50,000 to 1,000,000 levels of four kinds, built, run and freed in a thread whose
stack is 256 KiB; and freed after a hook has raised half-way.
"""

import argparse
import threading
import time

import tensorlab as T


# ---------------------------------------------------------------- cost and depth
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


def growth():
    print(
        f"{'nodes':>8s} {'build':>9s} {'backward':>9s} {'free':>9s} {'drop unrun':>11s}   ns a node"
    )
    for size in (100, 1_000, 10_000, 100_000):
        runs = [measure(size) for _ in range(3)]
        print(f"{size:8d} " + " ".join(f"{min(column):9.0f}" for column in zip(*runs, strict=True)))


# ---------------------------------------------------------------- freeing the deepest
class Keep(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1.0

    @staticmethod
    def backward(ctx, grad):
        (_,) = ctx.saved_tensors
        return grad


def pointwise(y):
    return y * 1.0


def custom_function(y):
    return Keep.apply(y)


def in_place_on_view(y):
    y[:1].mul_(1.0)
    return y


def nested_view(y):
    return y[0:]


LEVELS = {
    "pointwise ops": (pointwise, 1_000_000),
    "custom functions": (custom_function, 100_000),
    "in-place ops on views": (in_place_on_view, 50_000),
    "views of views": (nested_view, 100_000),
}


def build(x, level, depth, hook=None):
    y = x * 1.0
    for i in range(depth):
        y = level(y)
        if i == depth // 2 and hook is not None:
            y.register_hook(hook)
    return y


def stop(grad):
    raise ZeroDivisionError("half-way")


def seconds_of(level, depth):
    """CPU seconds to build; to free unrun; to run, freeing meanwhile; to free what has run; what a hook has stopped."""
    x = T.ones(2, requires_grad=True)
    times = []

    def take(step):
        start = time.thread_time()
        step()
        times.append(time.thread_time() - start)

    held = []
    take(lambda: held.append(build(x, level, depth)))
    take(held.clear)
    total = build(x, level, depth).sum()
    take(total.backward)
    held.append(build(x, level, depth))
    held[0].sum().backward(retain_graph=True)
    take(held.clear)
    held.append(build(x, level, depth, stop))
    try:
        held[0].sum().backward()
    except ZeroDivisionError:
        take(held.clear)
    return times


def deepest():
    print(
        f"\nCPU seconds in a thread with 256 KiB of stack; {T.live_tensors()} tensors before\n"
        f"{'a level is':22s} {'levels':>9s} {'build':>7s} {'free unrun':>11s} {'backward':>9s} "
        f"{'free kept':>10s} {'free stopped':>13s}"
    )
    for name, (level, depth) in LEVELS.items():
        found = []
        thread = threading.Thread(
            target=lambda found=found, of=(level, depth): found.extend(seconds_of(*of))
        )
        thread.start()
        thread.join()
        built, unrun, backward, kept, stopped = found
        print(
            f"{name:22s} {depth:9,d} {built:7.2f} {unrun:11.3f} {backward:9.2f} {kept:10.3f} {stopped:13.3f}"
        )
    print(f"{T.live_tensors()} tensors after")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deepest", action="store_true")
    growth()
    if parser.parse_args().deepest:
        threading.stack_size(256 * 1024)
        deepest()
