"""Record what chapter 47 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording


def in_pytorch(name):
    """Return a program of the chapter as it runs in PyTorch."""
    text = (HERE / name).read_text(encoding="utf-8")
    return text.replace("import tensorlab as torch", "import torch")


GRAPHS = """
import json

made = []

def counting(module, examples):
    made.append(module)
    return module.forward

def outcome_of(compiled, call):
    before = len(made)
    call()
    return len(made) - before

found = {}
for name in SCENARIOS:
    torch._dynamo.reset()
    found[name] = run(name, lambda f: torch.compile(f, backend=counting), outcome_of)
print(json.dumps(found))
"""
BROKEN = """
import json

def message_of(work):
    try:
        work()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return [type(error).__name__, *lines[:2]]

found = {}
for name, (function, backend) in BREAKS.items():
    torch._dynamo.reset()
    whole = message_of(lambda: torch.compile(function, backend=backend, fullgraph=True)(X))
    torch._dynamo.reset()
    parts = message_of(lambda: torch.compile(function, backend=backend)(X))
    torch._dynamo.reset()
    seen = torch._dynamo.explain(function)(X)
    found[name] = {"fullgraph": whole, "without": parts, "graphs": seen.graph_count}
print(json.dumps(found))
"""
TINY = """
import json

def settle(x):
    y = x - 1
    if y.sum() > 0:
        return y * 2
    for _ in range(int(y.max())):
        y = y / 2
    return y

def show(x):
    print("", end="")
    return x * 2

found = {}
for function in settle, show:
    compiled = Compiled(function)
    rows = [1, 2, 3, 4], [-5, 2, 1, 3], [0, 2, 3, 4], [-5, 2, 1, 2], [-6, 2, 1, 3]
    results = [compiled(torch.tensor(row, dtype=torch.float32)).tolist() for row in rows]
    found[function.__name__] = [results, compiled.outcomes, compiled.refusal]
print(json.dumps(found))
"""

if __name__ == "__main__":
    recording.write(
        HERE / "recorded.json",
        {
            "graphs": recording.run_json(in_pytorch("scenarios.py") + GRAPHS),
            "breaks": recording.run_json(in_pytorch("breaks.py") + BROKEN),
            "tiny": recording.run_json(in_pytorch("tiny_capture.py") + TINY),
        },
    )
