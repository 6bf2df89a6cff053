"""What does it cost when loops and matrix products share processors?

A training step of a small GPT, one of a small convolutional network, and ten products in turn with ten loops, at the
default number of threads; each package alone in a process of its own, in turns. With --busy other processes keep
processors busy meanwhile, as on a shared machine; with --threads 1,2,4 the numbers of threads are given.

    python benchmarks/bench_thread_pool.py
    python benchmarks/bench_thread_pool.py --busy 2
"""

import argparse
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import time

SECONDS = 1.5  # of each case in a process


# ---------------------------------------------------------------- cases


def gpt_step(T, layers=4, heads=4, width=128, context=64, batch=16, vocabulary=65):
    """Return a training step of a small GPT."""
    nn, F = T.nn, T.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, mask):
            parts = self.qkv(self.norm_1(x)).split(width, dim=2)
            q, k, v = (p.view(batch, context, heads, width // heads).transpose(1, 2) for p in parts)
            scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(width // heads))
            scores = F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
            x = x + self.project((scores @ v).transpose(1, 2).reshape(batch, context, width))
            return x + self.narrow(F.gelu(self.widen(self.norm_2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens, places, mask):
            x = self.token(tokens) + self.place(places)
            for block in self.blocks:
                x = block(x, mask)
            return self.head(self.norm(x))

    model = GPT()
    tokens = T.randint(0, vocabulary, (batch, context))
    places, mask = T.arange(context), T.ones(context, context).triu(1) > 0
    return step_of(T, model, (tokens, places, mask), T.randint(0, vocabulary, (batch * context,)))


def cnn_step(T):
    """Return a training step of a small convolutional network."""
    nn = T.nn
    model = nn.Sequential(
        *[nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)],
        *[nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)],
        *[nn.Flatten(), nn.Linear(32 * 7 * 7, 10)],
    )
    return step_of(T, model, (T.randn(64, 1, 28, 28),), T.randint(0, 10, (64,)))


def step_of(T, model, inputs, target):
    optimizer = T.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        out = model(*inputs)
        T.nn.functional.cross_entropy(out.view(target.shape[0], -1), target).backward()
        optimizer.step()

    return step


def turns(T, n=256):
    """Return ten products in turn with ten loops over 300,000 elements."""
    x, y, elements = T.randn(n, n), T.randn(n, n), T.ones(300_000)

    def run():
        for _ in range(10):
            x @ y
            elements.mul_(1.0)

    return run


CASES = {"GPT step": gpt_step, "CNN step": cnn_step, "ten products, ten loops": turns}


# ---------------------------------------------------------------- timing


def child(package, threads):
    """Print the milliseconds of each case, best and median, as JSON."""
    T = importlib.import_module(package)
    if threads:
        T.set_num_threads(threads)
    found = {}
    for name, make in CASES.items():
        run = make(T)
        run(), run()
        times = []
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
        found[name] = (min(times), statistics.median(times))
    print(json.dumps({"threads": T.get_num_threads(), "found": found}))


def measure(package, threads):
    command = [sys.executable, __file__, "--child", package, "--threads", str(threads)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--busy", type=int, default=0, help="processors kept busy by others")
    parser.add_argument("--threads", default="0", help="comma-separated; 0 leaves the default")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, int(arguments.threads))
        return
    others = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.busy)
    ]
    print(f"{os.cpu_count()} processors, {arguments.busy} kept busy; milliseconds, best (median)")
    try:
        for threads in map(int, arguments.threads.split(",")):
            compare(threads, arguments.rounds)
    finally:
        for other in others:
            other.kill()


def compare(threads, rounds):
    packages = ("tensorlab", "torch")
    found = {package: [] for package in packages}
    for _ in range(rounds):
        for package in packages:
            found[package].append(measure(package, threads))
    counts = ", ".join(f"{package} {found[package][0]['threads']}" for package in packages)
    print(f"\n{'threads: ' + counts:32s} {'tensorlab':>18s} {'torch':>18s} {'ratio':>6s}")
    for name in CASES:
        best, median = (
            [pick(one["found"][name][k] for one in found[package]) for package in packages]
            for k, pick in ((0, min), (1, statistics.median))
        )
        columns = " ".join(f"{b:8.2f} ({m:7.2f})" for b, m in zip(best, median, strict=True))
        print(f"{name:32s} {columns} {median[0] / median[1]:6.2f}")


if __name__ == "__main__":
    main()
