"""What do twice as many threads as cores cost?

    python benchmarks/bench_oversubscribed.py [NAME ...]

Each round times every workload with one thread for each core and with two, in turns. A ratio is the second time
divided by the first: above 1 the additional threads cost something, as two of them then share a core and one waits
for the other. A pool whose threads spin while they wait would lose whole slices of time here, each a thousand times
as long as a small op.
"""

import os
import statistics
import sys

from comparing import best_seconds, loop_of

import tensorlab
from tensorlab.nn import functional as F

CORES = os.cpu_count() or 1


def normal(*shape, grad=False):
    return tensorlab.randn(*shape).requires_grad_(grad)


def training_step(network, *inputs):
    """A step of SGD on the mean square of what a network makes of its inputs."""
    optimizer = tensorlab.optim.SGD(network.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        out = network(*inputs)
        (out[0] if isinstance(out, tuple) else out).square().mean().backward()
        optimizer.step()

    return step


def with_backward(function, *inputs):
    return lambda: function(*inputs).sum().backward()


def workloads():
    """{name: call}"""
    nn, x = tensorlab.nn, normal(1000, 1000)
    a, b, batch = normal(128, 128), normal(512, 512), normal(64, 64, 64)
    images, rows = normal(32, 64, 28, 28), normal(4096, 128)
    image, filters = normal(8, 32, 28, 28, grad=True), normal(64, 32, 3, 3, grad=True)
    mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    cnn = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    block = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    table, index = normal(10_000, 128, grad=True), tensorlab.randint(10_000, (4096,))
    return {
        "add": lambda: x + x,
        "exp": lambda: x.exp(),
        "small add": lambda: x[0] + x[1],
        "transposed copy": lambda: x.t().contiguous(),
        "sum": lambda: x.sum(),
        "sum of columns": lambda: x.sum(0),
        "softmax": lambda: x.softmax(1),
        "layer_norm, backward": with_backward(
            F.layer_norm, normal(1000, 512, grad=True), (512,), normal(512, grad=True)
        ),
        "sort rows": lambda: x[:200].sort(1),
        "matmul 128": lambda: a @ a,
        "matmul 512": lambda: b @ b,
        "bmm": lambda: batch @ batch,
        "conv": lambda: F.conv2d(image.detach(), filters.detach()),
        "conv, backward": with_backward(F.conv2d, image, filters),
        "batch_norm": lambda: F.batch_norm(images, None, None, training=True),
        "embedding, backward": with_backward(lambda: F.embedding(index, table)),
        "index_add": lambda: table.detach().index_add(0, index, rows),
        "mlp step": training_step(mlp, normal(128, 784)),
        "cnn step": training_step(cnn, normal(32, 1, 28, 28)),
        "lstm step": training_step(nn.LSTM(64, 128), normal(32, 32, 64)),
        "transformer step": training_step(block, normal(8, 64, 128)),
    }


def main(names, rounds=7):
    tensorlab.manual_seed(0)
    print(f"{CORES} cores; threads: {CORES} and {2 * CORES}")
    print(f"{'':24s} {CORES:7d} threads {'ratio':>7s} {'lowest':>7s} {'highest':>7s}")
    ratios = []
    for name, call in workloads().items():
        if names and name not in names:
            continue
        loop, times = loop_of("call()", {"call": call}), {CORES: [], 2 * CORES: []}
        for _ in range(rounds):
            for threads, spent in times.items():
                tensorlab.set_num_threads(threads)
                spent.append(best_seconds(loop))
        found = [more / few for few, more in zip(*times.values(), strict=True)]
        ratios.append(statistics.median(found))
        few = statistics.median(times[CORES]) * 1e6
        print(
            f"{name:24s} {few:12.1f} us {ratios[-1]:7.3f} {min(found):7.3f} {max(found):7.3f}",
            flush=True,
        )
    print(
        f"{'geometric mean':24s} {'':15s} {statistics.geometric_mean(ratios):7.3f}, highest {max(ratios):.3f}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
