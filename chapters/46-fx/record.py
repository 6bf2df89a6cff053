"""Record what chapter 46 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

SEEN = """
import contextlib, io, json
import torch
import torch.fx
with contextlib.redirect_stdout(io.StringIO()):
    found = {letter: traced_names(torch, letter) for letter in PROGRAMS}
print(json.dumps(found))
"""
CODE = """
import json
import torch
import torch.fx

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        return torch.relu(self.linear(x)) + 1

print(json.dumps(torch.fx.symbolic_trace(Net()).code))
"""

recording.write(
    HERE / "recorded.json",
    {
        "seen": recording.run_json((HERE / "seen.py").read_text(encoding="utf-8") + SEEN),
        "code": recording.run_json(CODE),
    },
)
