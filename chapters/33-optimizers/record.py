"""Record the steps of chapter 33 and their times in both libraries: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json, time
import MODULE as torch

torch.set_num_threads(1)
optim = torch.optim

def after(make):
    torch.manual_seed(0)
    param = torch.randn(100).requires_grad_()
    optimizer = make([param])
    for _ in range(20):
        param.grad = torch.randn(100)
        optimizer.step()
    return str([round(value, 4) for value in param[:3].tolist()])

def params_of(n, size):
    params = [torch.randn(size, requires_grad=True) for _ in range(n)]
    for param in params:
        param.grad = torch.randn(size)
    return params

def least(make, n, size, repeat):
    run, best = make(params_of(n, size)).step, 1e9
    run()
    for _ in range(15):
        start = time.perf_counter()
        for _ in range(repeat):
            run()
        best = min(best, (time.perf_counter() - start) / repeat * 1e6)
    return round(best)

results = {
    "SGD": after(lambda p: optim.SGD(p, lr=0.1)),
    "SGD, momentum": after(lambda p: optim.SGD(p, lr=0.1, momentum=0.9)),
    "SGD, Nesterov": after(lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True)),
    "Adagrad": after(lambda p: optim.Adagrad(p, lr=0.1)),
    "RMSprop": after(lambda p: optim.RMSprop(p, lr=0.01)),
    "Adam": after(lambda p: optim.Adam(p, lr=0.01)),
    "Adam, L2 0.1": after(lambda p: optim.Adam(p, lr=0.01, weight_decay=0.1)),
    "AdamW 0.1": after(lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.1)),
}
times = {}
for name, make in {
    "SGD, momentum": lambda p, **how: optim.SGD(p, lr=1e-5, momentum=0.9, **how),
    "Adam": lambda p, **how: optim.Adam(p, lr=1e-5, **how),
}.items():
    for size, (n, numel, repeat) in {
        "50 of 1024": (50, 1024, 30),
        "1 of 4 million": (1, 4_000_000, 3),
    }.items():
        times[f"{name}, {size}"] = [
            least(lambda p: make(p, **how), n, numel, repeat)
            for how in ({}, {"foreach": True}, {"fused": True})
        ]
print(json.dumps([results, times]))
"""

(ours, our_times), (theirs, their_times) = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json",
    {
        "results": {name: [ours[name], theirs[name]] for name in ours},
        "microseconds": {name: [our_times[name][0], *their_times[name]] for name in our_times},
    },
)
