"""Does memory return? Training steps, every tenth with a hook that raises: live tensors and allocator bytes at the end
against those at step 200.

    python benchmarks/bench_memory.py [--steps 20000]
"""

import argparse
import gc

import tensorlab as T
from tensorlab import nn, optim


def train(steps, raising):
    """Counts at step 200 and at the end."""
    T.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    x, y = T.randn(32, 8), T.randn(32, 1)
    counts = []
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        hidden = model[0](x)
        if raising and step % 10 == 0:
            hidden.register_hook(lambda grad: 1 / 0)
        loss = ((model[2](model[1](hidden)) - y) ** 2).mean()
        try:
            loss.backward()
            optimizer.step()
        except ZeroDivisionError:
            pass
        del hidden, loss
        if step in (200, steps):
            optimizer.zero_grad()
            gc.collect()
            counts.append((T.live_tensors(), T.memory_stats()["allocated_bytes"]))
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    steps = parser.parse_args().steps
    for raising in (False, True):
        first, last = train(steps, raising)
        print(
            f"{steps} steps{', a hook raises in every tenth' if raising else ''}: "
            f"live tensors {first[0]} at step 200, {last[0]} at the end; bytes {first[1]} and {last[1]}"
        )
        assert first == last, "memory did not return"
