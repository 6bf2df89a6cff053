"""Record the sums of chapter 10 in both libraries: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json
import numpy
import MODULE as torch
torch.set_num_threads(1)
random = numpy.random.default_rng(10)
x = torch.from_numpy(random.random(1_000_000, dtype="float32"))
print(json.dumps({
    "500 numbers": repr(x[:500].sum().item()),
    "a million numbers": repr(x.sum().item()),
    "33 554 432 ones": repr(torch.ones(2**25).sum().item()),
    "5000 ones in float16": repr(torch.ones(5000).half().sum().item()),
    "variance around 100 million": repr(
        torch.tensor([1e8 + 1, 1e8 + 2, 1e8 + 3], dtype=torch.float64).var().item()
    ),
    "softmax of 1000 and 1001": repr(torch.tensor([1000.0, 1001.0]).softmax(0)[0].item()),
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json", {"sums": {name: [ours[name], theirs[name]] for name in ours}}
)
