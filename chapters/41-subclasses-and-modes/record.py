"""Record what chapter 41 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording


def in_pytorch(name):
    """Return a program of the chapter as it runs in PyTorch."""
    text = (HERE / name).read_text(encoding="utf-8")
    return text.replace("import tensorlab as torch", "import torch")


TRACE = """
d, t = with_unit([3.0, 4.0], m=1), with_unit([1.5, 2.0], s=1)
v = d / t
def message(work):
    try:
        work()
    except TypeError as error:
        return str(error)
import json
print(json.dumps([repr(v), repr((v * v).sum()), message(lambda: d + t), message(lambda: torch.add(d, t))]))
"""
CALLS = """
x = logged([[1.0, 2.0], [3.0, 4.0]])
y = (x @ x - 2).relu().sum(1)
torch.cat([y, 2 * y])[0].item()
-x.T
import json
print(json.dumps(LoggingTensor.log))
"""
VERDICTS = """
import json, torch
print(json.dumps(verdicts(torch)))
"""

recording.write(
    HERE / "recorded.json",
    {
        "verdicts": recording.run_json(in_pytorch("verdicts.py") + VERDICTS),
        "calls": recording.run_json(in_pytorch("logging_tensor.py") + CALLS),
        "units": recording.run_json(in_pytorch("unit_tensor.py") + TRACE),
    },
)
