"""Record what chapter 8 says about PyTorch and about a planted bug: `make record` runs this."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
import recording

# The same program under both names, one thread; medians of 15 rounds in nanoseconds per element,
# the smallest of five processes: whatever else runs on the machine only makes them larger.
KINDS = """
import json, statistics, time
import {module} as torch
torch.set_num_threads(1)
n = 1000
m = torch.rand(n, n)
others = {{
    "matrix": torch.rand(n, n), "row": torch.rand(n), "column": torch.rand(n, 1), "number": 2.0,
    "transposed": torch.rand(n, n).t(), "every 2nd": torch.rand(n, 2 * n)[:, ::2],
    "int32": torch.ones(n, n, dtype=torch.int32), "bfloat16": torch.rand(n, n).to(torch.bfloat16),
}}
found = {{}}
for name, other in others.items():
    m + other
    times = []
    for _ in range(15):
        start = time.thread_time()
        m + other
        times.append((time.thread_time() - start) * 1e9 / n**2)
    found[name] = round(statistics.median(times), 3)
print(json.dumps(found))
"""

MERGED = """
import tensorlab as torch
x = torch.zeros(2, 3)
row = torch.tensor([1.0, 2.0, 3.0, 99.0, 99.0, 99.0])[:3]
print((x + row).tolist())
"""

rounds = [
    {module: recording.run_json(KINDS.format(module=module)) for module in ("tensorlab", "torch")}
    for _ in range(5)
]


def smallest(module):
    """Return the smallest median of each kind."""
    return {kind: min(one[module][kind] for one in rounds) for kind in rounds[0][module]}


recording.write(
    FOLDER / "recorded.json",
    {
        "ns of tensorlab": smallest("tensorlab"),
        "ns of PyTorch": smallest("torch"),
        "bug": recording.symptom(
            "merging dimensions that do not continue one another",
            MERGED.strip(),
            ["tests/core/test_layout.py"],
        ),
    },
)
