"""Record what chapter 8 says about PyTorch and about a planted bug: `make record` runs this."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
import recording

# The same program under both names, one thread; medians of 15 rounds in nanoseconds an element.
KINDS = """
import json, statistics, time
import {module} as T
T.set_num_threads(1)
n = 1000
m = T.rand(n, n)
others = {{
    "matrix": T.rand(n, n), "row": T.rand(n), "column": T.rand(n, 1), "number": 2.0,
    "transposed": T.rand(n, n).t(), "every 2nd": T.rand(n, 2 * n)[:, ::2],
    "int32": T.ones(n, n, dtype=T.int32), "bfloat16": T.rand(n, n).to(T.bfloat16),
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
import tensorlab as T
x = T.zeros(2, 3)
row = T.tensor([1.0, 2.0, 3.0, 99.0, 99.0, 99.0])[:3]
print((x + row).tolist())
"""

recording.write(
    FOLDER / "recorded.json",
    {
        "ns of tensorlab": recording.run_json(KINDS.format(module="tensorlab")),
        "ns of PyTorch": recording.run_json(KINDS.format(module="torch")),
        "bug": recording.symptom(
            "merging dimensions that do not continue one another",
            MERGED.strip(),
            ["tests/core/test_layout.py"],
        ),
    },
)
