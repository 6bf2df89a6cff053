"""Record what chapter 6 says about PyTorch: `make record` runs this."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
import recording

QUESTIONS = """
import json
import torch
total = torch.zeros((), dtype=torch.float16)
one = torch.ones((), dtype=torch.float16)
for _ in range(5000):
    total += one
pixel = torch.tensor([200], dtype=torch.uint8)
print(json.dumps({
    "1": total.item(),
    "2": torch.ones(5000, dtype=torch.float16).sum().item(),
    "3": (pixel + 100).item(),
    "4": str((torch.ones(3, dtype=torch.float16) * torch.tensor(2.0)).dtype),
    "5": [torch.tensor(1e5).half().item(), torch.tensor(1e5).bfloat16().item()],
}))
"""

CASTS = """
import json
import torch
x = torch.tensor([3.9, -3.9, 300.0, -1.0, 70000.0, 3e9, float("inf"), float("nan")])
print(json.dumps({
    name: x.to(getattr(torch, name)).tolist() for name in ("uint8", "int8", "int16", "int32", "int64")
}))
"""

# Over all samples of the test suite: how far half results are from the exact ones, in units in the last place.
ROUNDINGS = """
import json
import sys
import warnings
sys.path.insert(0, "")
warnings.simplefilter("ignore")
import numpy as np
import tensorlab
import torch
from tests.ops.every_sample import FLOATING, dtype_name
from tests.ops.samples import make_tensor
from tests.ops.test_half_types import EPSILON, call, numbers, spacing
np.seterr(all="ignore")
found = {"compared": 0, "same": 0, "PyTorch nearer": 0, "tensorlab nearer": 0}
for sample in FLOATING:
    for dtype in EPSILON:
        arrays = sample.arrays()
        halves = [make_tensor(torch, array, dtype) for array in arrays]
        doubles = [x.double() if x.is_floating_point() else x for x in halves]
        ours = call(sample, tensorlab, [make_tensor(tensorlab, array, dtype) for array in arrays])
        theirs, exact = call(sample, torch, halves), call(sample, torch, doubles)
        if not (ours and theirs and exact):
            continue
        for x, y, z in zip(ours, theirs, exact):
            if not hasattr(y, "dtype") or dtype_name(y) not in EPSILON:
                continue
            x, y, z = numbers(x), numbers(y), numbers(z)
            fine = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
            x, y, z = x[fine], y[fine], z[fine]
            found["compared"] += x.size
            found["same"] += int((x == y).sum())
            found["PyTorch nearer"] += int((abs(y - z) < abs(x - z)).sum())
            found["tensorlab nearer"] += int((abs(x - z) < abs(y - z)).sum())
print(json.dumps(found))
"""

recording.write(
    FOLDER / "recorded.json",
    {
        "questions": recording.run_json(QUESTIONS),
        "casts": recording.run_json(CASTS),
        "half results of all samples": recording.run_json(ROUNDINGS),
    },
)
