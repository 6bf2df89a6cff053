"""Record what layouts cost in PyTorch, each time as a ratio of two in one run: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = f"""
import json
import sys
import time
sys.path.insert(0, {str(HERE)!r})
from channels import operations
import torch
torch.set_num_threads(1)


def ratio(call, other, rounds=15):
    best = [float("inf")] * 2
    call(), other()
    for _ in range(rounds):
        for k, one in enumerate((call, other)):
            start = time.thread_time()
            one()
            best[k] = min(best[k], time.thread_time() - start)
    return best[0] / best[1]


def total(matrix):
    return sum(row.sum() for row in matrix)


images = torch.rand(4, 32, 56, 56)
pixels = images.contiguous(memory_format=torch.channels_last)
formats = {{}}
for name, call in operations(torch).items():
    result = call(pixels)
    kept = "-"
    if result.dim() == 4:
        kept = "yes" if result.is_contiguous(memory_format=torch.channels_last) else "no"
    formats[name] = [ratio(lambda: call(pixels), lambda: call(images)), kept]
x = torch.rand(4096, 4096)
out = torch.empty(4096, 4096)
print(json.dumps({{
    "channels_last": formats,
    "ratios": {{
        "total(x.t()) / total(x)": ratio(lambda: total(x.t()), lambda: total(x), 5),
        "x.sum(0) / x.sum(1)": ratio(lambda: x.sum(0), lambda: x.sum(1)),
        "out.copy_(x.t()) / out.copy_(x)": ratio(lambda: out.copy_(x.t()), lambda: out.copy_(x)),
    }},
}}))
"""

recording.write(HERE / "recorded.json", recording.run_json(PROGRAM))
