"""Record what chapter 15 says about PyTorch: `make record` runs this where PyTorch is installed."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
import recording

# A chain of multiplications of single numbers. The three take turns, 15 rounds each; quartiles in
# nanoseconds per node.
CHAIN = """
import json, statistics, sys, time
sys.path.insert(0, {folder!r})
import tensorlab, torch
from scalar_engine import Number, backward

def chain(start, run_backward, count=1000):
    begin = time.thread_time()
    y = start
    for _ in range(count):
        y = y * start
    middle = time.thread_time()
    run_backward(y)
    return [(middle - begin) / count * 1e9, (time.thread_time() - middle) / count * 1e9]

def tensor_of(module):
    module.set_num_threads(1)
    return module.tensor(1.0, dtype=module.float64, requires_grad=True)

run_backward = lambda y: y.backward()
engines = {{
    "scalar engine": (Number(1.0), backward),
    "tensorlab": (tensor_of(tensorlab), run_backward),
    "PyTorch": (tensor_of(torch), run_backward),
}}
times = {{name: [] for name in engines}}
for _ in range(16):
    for name, engine in engines.items():
        times[name].append(chain(*engine))
print(json.dumps({{
    name: [[round(t) for t in statistics.quantiles(way, n=4)] for way in zip(*pairs[1:])]
    for name, pairs in times.items()
}}))
"""

# The order in which gradients are complete, in the two programs of the worked trace.
ORDER = """
import json, torch

def worked_trace(make):
    a, b = make(2.0), make(3.0)
    c = a * b
    d = c + a
    e = d * c
    return {"a": a, "b": b, "c": c, "d": d, "e": e}

def two_operations(make):
    x, b = make(0.5), make(2.0)
    h = x.tanh()
    y = h + b
    return {"x": x, "b": b, "h": h, "y": y}

orders = {}
for program in (worked_trace, two_operations):
    order = orders[program.__name__.replace("_", " ")] = []
    tensors = program(lambda value: torch.tensor(value, requires_grad=True))
    for name, tensor in tensors.items():
        tensor.register_hook(lambda grad, order=order, name=name: order.append(name))
    tensor.backward()
print(json.dumps(orders))
"""

recording.write(
    FOLDER / "recorded.json",
    {
        "ns per node": recording.run_json(CHAIN.format(folder=str(FOLDER))),
        "order": recording.run_json(ORDER),
    },
)
