"""Record what PyTorch's and tensorlab's builds for newer processors gain, for chapter 9: `make record`."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json
import time
import MODULE as torch
torch.set_num_threads(1)
n = 16384
x, y, out = torch.rand(n), torch.rand(n), torch.empty(n)
calls = {
    "add": lambda: torch.add(x, y, out=out),
    "clamp": lambda: torch.clamp(x, min=0.5, out=out),
    "exp": lambda: torch.exp(x, out=out),
    "sum": lambda: torch.sum(x),
}
best = dict.fromkeys(calls, 1.0)
for _ in range(2000):
    for name, call in calls.items():
        start = time.perf_counter()
        call()
        best[name] = min(best[name], time.perf_counter() - start)
print(json.dumps({name: seconds * 1e9 / n for name, seconds in best.items()}))
"""


def best_of(module, capability, rounds=3):
    """Return the best nanoseconds per element of several processes that may use a capability."""
    os.environ["ATEN_CPU_CAPABILITY"] = capability
    runs = [recording.run_json(PROGRAM.replace("MODULE", module)) for _ in range(rounds)]
    return {name: round(min(run[name] for run in runs), 4) for name in runs[0]}


recording.write(
    HERE / "recorded.json",
    {
        "ns": {
            "PyTorch, default": best_of("torch", "default"),
            "PyTorch, avx2": best_of("torch", "avx2"),
            "tensorlab": best_of("tensorlab", ""),
        }
    },
)
