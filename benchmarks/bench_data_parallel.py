"""A training step on several ranks: tensorlab against PyTorch on gloo, and against the simulator's prediction.

    python benchmarks/bench_data_parallel.py [ranks]

A small GPT and a small ResNet, a batch for each rank, DistributedDataParallel and SGD, one thread a rank. The time is
the median of the steps of the slowest rank. The simulator is told what a step without communication takes while all
ranks are busy, and what all_reduces of two sizes take; it predicts the step with communication.
"""

import importlib
import json
import os
import socket
import subprocess
import sys
import time

STEPS = 40


def models(T):
    """Return {name: (layers, batch, loss)}; the layers are called one after the other."""
    nn = T.nn

    class Block(nn.Module):
        """Two convolutions around which the input goes."""

        def __init__(self, channels):
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1, bias=False),
                nn.BatchNorm2d(channels),
            )

        def forward(self, x):
            return T.relu(x + self.inner(x))

    width, length, words = 128, 64, 256
    gpt = [
        nn.Embedding(words, width),
        *[
            nn.TransformerEncoderLayer(
                width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(4)
        ],
        nn.Linear(width, words),
    ]
    resnet = [
        nn.Conv2d(3, 32, 3, padding=1), Block(32), Block(32), nn.Conv2d(32, 64, 3, stride=2, padding=1),
        Block(64), Block(64), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
    ]  # fmt: skip
    tokens, images = T.randint(0, words, (8, length)), T.randn(16, 3, 32, 32)
    labels = T.randint(0, 10, (16,))
    entropy = nn.functional.cross_entropy
    return {
        "GPT, 0.9 M": (gpt, tokens, lambda y: entropy(y.flatten(0, 1), tokens.flatten())),
        "ResNet, 0.2 M": (resnet, images, lambda y: entropy(y, labels)),
    }


def middle(times):
    return sorted(times)[len(times) // 2]


def seconds_of(step, dist):
    """Return the median time of a step, as the slowest rank sees it."""
    for _ in range(5):
        step()
    times = []
    for _ in range(STEPS):
        dist.barrier()
        begun = time.perf_counter()
        step()
        times.append(time.perf_counter() - begun)
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, middle(times))
    return max(every)


def reduction(T, dist, numbers):
    x = T.zeros(numbers)
    return seconds_of(lambda: dist.all_reduce(x), dist)


def rank_of(package):
    """Measure in one rank; rank 0 prints what it found."""
    T = importlib.import_module(package)
    dist = importlib.import_module(f"{package}.distributed")
    T.set_num_threads(1)
    dist.init_process_group("gloo")
    found, sizes = {}, [250, 250_000]
    link = [reduction(T, dist, numbers) for numbers in sizes]
    for name, (layers, x, loss) in models(T).items():
        model = T.nn.Sequential(*layers)
        optimizer, entry = T.optim.SGD(model.parameters(), lr=0.01), {}
        if package == "tensorlab":  # before anything listens to the gradients
            entry["predicted"] = predicted(dist, layers, x, loss, optimizer, sizes, link)
        ddp = T.nn.parallel.DistributedDataParallel(model)

        def step(ddp=ddp, x=x, loss=loss, optimizer=optimizer):
            optimizer.zero_grad()
            loss(ddp(x)).backward()
            optimizer.step()

        entry["step"] = seconds_of(step, dist)
        found[name] = entry
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def predicted(dist, layers, x, loss, optimizer, sizes, link):
    """Return what the simulator says of a step, from layers measured while all ranks compute."""
    from tensorlab.distributed import simulate

    dist.barrier()
    step = simulate.measure_step(layers, x, loss, optimizer=optimizer, repeats=20)
    ranks = dist.get_world_size()
    fitted = simulate.fit_link([4 * numbers for numbers in sizes], link, ranks)
    prediction = simulate.data_parallel(step, simulate.Cluster(ranks, fitted))
    every = [None] * ranks
    dist.all_gather_object(every, (prediction.seconds, step.seconds))
    return max(every)


def measured(package, count, program=__file__):
    """Return what rank 0 measures, in a run of its own."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = str(sock.getsockname()[1])
    where = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        subprocess.Popen(
            [sys.executable, program, "rank", package],
            env=os.environ | where | {"RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    outputs = [process.communicate()[0] for process in processes]
    return json.loads(outputs[0])


def main(count):
    ours, theirs = measured("tensorlab", count), measured("torch", count)
    print(f"a step of data parallel training, {count} ranks: milliseconds")
    print(
        f"{'':16}{'tensorlab':>11}{'PyTorch':>10}{'ratio':>8}{'predicted':>12}{'without ranks':>15}"
    )
    for name, entry in ours.items():
        step, other = entry["step"] * 1e3, theirs[name]["step"] * 1e3
        with_ranks, alone = (1e3 * one for one in entry["predicted"])
        print(
            f"{name:16}{step:11.2f}{other:10.2f}{step / other:8.2f}{with_ranks:12.2f}{alone:15.2f}"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        rank_of(sys.argv[2])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
