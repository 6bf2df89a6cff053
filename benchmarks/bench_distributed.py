"""Collectives between processes: tensorlab on MPI against PyTorch on gloo, and what runs in the background.

    python benchmarks/bench_distributed.py [ranks]

The first table has the time of one all_reduce in microseconds, the best of five rounds, as all ranks wait for the
slowest. The second shows how much of an all_reduce of 20 MB hides behind other work: 1 is all that can be hidden.
Work that keeps every processor busy leaves nothing to hide behind, as copying bytes is work as well; a rank that
sleeps, or has processors to itself, leaves all.
"""

import importlib
import os
import socket
import subprocess
import sys
import time

SIZES = {"1 KB": 1 << 10, "10 KB": 10 << 10, "100 KB": 100 << 10, "1 MB": 1 << 20, "10 MB": 10 << 20,
         "100 MB": 100 << 20}  # fmt: skip
HIDDEN = 20 << 20


def best(call, times, dist, rounds=5):
    """Return the shortest time of a call in microseconds, in rounds that all ranks begin together."""
    shortest = float("inf")
    for _ in range(rounds):
        dist.barrier()
        begun = time.perf_counter()
        for _ in range(times):
            call()
        shortest = min(shortest, (time.perf_counter() - begun) / times)
    return shortest * 1e6


def rank_of(package):
    """Measure in one rank; rank 0 prints its numbers, one a line."""
    T = importlib.import_module(package)
    dist = importlib.import_module(f"{package}.distributed")
    T.set_num_threads(1)
    dist.init_process_group("gloo")
    seconds = []
    for size in SIZES.values():
        x = T.zeros(size // 4)
        times = max(2, min(300, 20_000_000 // size))
        seconds.append(best(lambda x=x: dist.all_reduce(x), times, dist))
    x, y, w = T.zeros(HIDDEN // 4), T.zeros(HIDDEN // 4), T.rand(400, 400)
    reducing = best(lambda: dist.all_reduce(x), 1, dist)

    def products():
        for _ in range(8):
            w @ w

    for work in (lambda: time.sleep(0.02), products):
        alone = best(work, 1, dist)

        def both(work=work):
            pending = dist.all_reduce(y, async_op=True)
            work()
            pending.wait()

        seconds.append((alone + reducing - best(both, 1, dist)) / min(alone, reducing))
    if dist.get_rank() == 0:
        print(*seconds, sep="\n")
    dist.barrier()
    dist.destroy_process_group()


def measured(package, count):
    """Return what rank 0 measures, in a run of its own."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = str(sock.getsockname()[1])
    where = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "rank", package],
            env=os.environ | where | {"RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for rank in range(count)
    ]
    outputs = [process.communicate()[0] for process in processes]
    return [float(line) for line in outputs[0].split()]


def main(count):
    ours, theirs = measured("tensorlab", count), measured("torch", count)
    print(f"all_reduce of float32, {count} ranks: microseconds")
    print(f"{'':10}{'tensorlab':>12}{'PyTorch':>12}{'ratio':>8}")
    for name, a, b in zip(SIZES, ours, theirs, strict=False):
        print(f"{name:10}{a:12.1f}{b:12.1f}{a / b:8.2f}")
    print("\nhidden of an all_reduce of 20 MB")
    for name, a, b in zip(("by sleep", "by products"), ours[-2:], theirs[-2:], strict=True):
        print(f"{name:14}{a:8.2f}{b:12.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        rank_of(sys.argv[2])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
