"""Record the starts of chapter 30 in both libraries: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json
import MODULE as torch
from MODULE import nn

def first(fill):
    torch.manual_seed(0)
    return str([round(value, 4) for value in fill().flatten()[:3].tolist()])

print(json.dumps({
    "Linear(64, 64)": first(lambda: nn.Linear(64, 64).weight),
    "Conv2d(3, 8, 3)": first(lambda: nn.Conv2d(3, 8, 3).weight),
    "Embedding(10, 4)": first(lambda: nn.Embedding(10, 4).weight),
    "kaiming_normal_, relu": first(lambda: nn.init.kaiming_normal_(torch.empty(8, 8), nonlinearity="relu")),
    "xavier_uniform_": first(lambda: nn.init.xavier_uniform_(torch.empty(8, 8))),
    "trunc_normal_": first(lambda: nn.init.trunc_normal_(torch.empty(8, 8))),
    "orthogonal_": first(lambda: nn.init.orthogonal_(torch.empty(8, 8))),
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json", {"results": {name: [ours[name], theirs[name]] for name in ours}}
)
