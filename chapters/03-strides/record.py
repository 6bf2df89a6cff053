"""Record what chapter 3 says about PyTorch: `make record` runs this where PyTorch is installed."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
import recording

OVERLAP = """
import json, torch
x = torch.zeros(4)
windows = x.as_strided((3, 2), (1, 1))
windows += 1
print(json.dumps(x.tolist()))
"""

# out is every other place in the middle of a larger tensor.
FORGOTTEN = """
import torch
memory = torch.full((10,), 99.0)
out = memory[2:8:2]
torch.narrow_copy(torch.tensor([1.0, 2.0, 3.0]), 0, 0, 3, out=out)
print(memory.tolist())
"""

# The same program under both names, one thread; medians of 15 rounds in milliseconds.
TRANSPOSE = """
import json, time, statistics
import {module} as torch
torch.set_num_threads(1)
x = torch.ones(4000, 4000)
def median(call):
    times = []
    for _ in range(15):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return round(statistics.median(times), 1)
print(json.dumps({{"copy": median(x.clone), "transposed": median(lambda: x.t().contiguous())}}))
"""

recording.write(
    FOLDER / "recorded.json",
    {
        "storage after an overlapping write": recording.run_json(OVERLAP),
        "forgotten strides": {
            "program": FORGOTTEN.strip(),
            "PyTorch": subprocess.run(
                [sys.executable, "-c", FORGOTTEN], capture_output=True, text=True, check=True
            ).stdout.strip(),
        },
        "milliseconds of tensorlab": recording.run_json(TRANSPOSE.format(module="tensorlab")),
        "milliseconds of PyTorch": recording.run_json(TRANSPOSE.format(module="torch")),
    },
)
