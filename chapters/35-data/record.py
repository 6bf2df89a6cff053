"""Record the order of samples in both libraries for chapter 35: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json
import MODULE as torch
from MODULE.utils import data

torch.manual_seed(0)
loader = data.DataLoader(range(6), batch_size=4, shuffle=True)
epochs = [[batch.tolist() for batch in loader] for _ in range(2)]
again = list(data.RandomSampler(range(6), replacement=True))
weighted = list(data.WeightedRandomSampler([1.0, 5.0, 1.0], 6))
first, second = data.random_split(range(6), [4, 2])
torch.manual_seed(0)
before = torch.rand(1).item()
torch.manual_seed(0)
next(iter(loader))
after = torch.rand(1).item()
print(json.dumps({
    "first epoch": str(epochs[0]),
    "second epoch": str(epochs[1]),
    "with replacement": str(again),
    "weighted 1, 5, 1": str(weighted),
    "random split": f"{list(first.indices)} {list(second.indices)}",
    "a look changes later numbers": str(before != after),
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json", {"results": {name: [ours[name], theirs[name]] for name in ours}}
)
