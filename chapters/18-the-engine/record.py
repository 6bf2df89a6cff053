"""Record what chapter 18 shows of PyTorch and of engines with a planted bug: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

TESTS = ["tests/core/test_engine.py", "tests/core/test_graph.py"]
OVERWRITTEN = """
import tensorlab as torch
x = torch.tensor(3.0, requires_grad=True)
y = x * 2
(y * 10 + y * 100).backward()
print(f"x.grad is {x.grad.item():g}")
"""
TOO_EARLY = """
import tensorlab as torch
x = torch.tensor(3.0, requires_grad=True)
x.register_hook(lambda grad: print(f"the hook of x got {grad.item():g}"))
y = x * 2 + x * 5
y.backward(retain_graph=True)
print(f"x.grad is {x.grad.item():g}")
print(f"autograd.grad is {torch.autograd.grad(y, x)[0].item():g}")
"""
ORDER = """
import json, torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = x * x
b = a * 3
c = a + x
d = b * c
runs = []
for name, tensor in {"x": x, "a": a, "b": b, "c": c, "d": d}.items():
    tensor.register_hook(lambda grad, name=name: runs.append([name, grad.tolist()]))
d.backward(torch.ones(2))
print(json.dumps(runs))
"""
CHAIN = """
import json, time
import MODULE as torch
found = {}
for depth in (100, 1_000, 10_000, 100_000):
    rounds = []
    for _ in range(5):
        x = torch.ones(1, requires_grad=True)
        start = time.thread_time()
        y = x
        for _ in range(depth):
            y = y * 1.0
        recorded = time.thread_time()
        y.backward()
        ran = time.thread_time()
        del y
        freed = time.thread_time()
        rounds.append([recorded - start, ran - recorded, freed - ran])
    found[depth] = [[round(seconds / depth * 1e9) for seconds in one] for one in rounds]
print(json.dumps(found))
"""

recording.write(
    HERE / "recorded.json",
    {
        "order": recording.run_json(ORDER),
        "nanoseconds of a node": {
            module: recording.run_json(CHAIN.replace("MODULE", module))
            for module in ("torch", "tensorlab")
        },
        "bugs": {
            name: recording.symptom(name, program.strip(), TESTS)
            for name, program in {
                "a gradient overwrites the one that waits": OVERWRITTEN,
                "a node runs before all its gradients are there": TOO_EARLY,
            }.items()
        },
    },
)
