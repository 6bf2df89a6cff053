"""Record what chapter 15 says about PyTorch: `make record` runs this where PyTorch is installed."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
import recording

# A chain of multiplications of single numbers; medians of 15 rounds in nanoseconds a node.
CHAIN = """
import json, statistics, sys, time
sys.path.insert(0, {folder!r})
import tensorlab, torch
from scalar_engine import Number, backward

def rounds(start, walk_back, count=1000):
    forward, back = [], []
    for _ in range(15):
        begin = time.thread_time()
        y = start
        for _ in range(count):
            y = y * start
        middle = time.thread_time()
        walk_back(y)
        end = time.thread_time()
        forward.append((middle - begin) / count * 1e9)
        back.append((end - middle) / count * 1e9)
    return [round(statistics.median(times)) for times in (forward, back)]

def tensor_of(module):
    module.set_num_threads(1)
    return module.tensor(1.0, dtype=module.float64, requires_grad=True)

walk = lambda y: y.backward()
print(json.dumps({{
    "scalar engine": rounds(Number(1.0), backward),
    "tensorlab": rounds(tensor_of(tensorlab), walk),
    "PyTorch": rounds(tensor_of(torch), walk),
}}))
"""

recording.write(
    FOLDER / "recorded.json",
    {"ns a node": recording.run_json(CHAIN.format(folder=str(FOLDER)))},
)
