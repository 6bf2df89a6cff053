"""Record the draws of chapter 14 in both libraries: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json
import MODULE as torch
from MODULE.nn import functional as F

def after_seed(draw):
    torch.manual_seed(0)
    return str([round(number, 5) for number in draw().tolist()])

print(json.dumps({
    "rand(3)": after_seed(lambda: torch.rand(3)),
    "randint(0, 100, (5,))": after_seed(lambda: torch.randint(0, 100, (5,))),
    "randperm(8)": after_seed(lambda: torch.randperm(8)),
    "randn(3)": after_seed(lambda: torch.randn(3)),
    "randn(20), its first": after_seed(lambda: torch.randn(20)[:3]),
    "dropout of ones": after_seed(lambda: F.dropout(torch.ones(6), 0.5)),
    "multinomial": after_seed(lambda: torch.multinomial(torch.tensor([1.0, 2.0, 3.0]), 8, True)),
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json", {"draws": {name: [ours[name], theirs[name]] for name in ours}}
)
