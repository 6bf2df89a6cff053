"""Record what chapter 41 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording


def in_pytorch(name):
    """Return a program of the chapter as it runs in PyTorch."""
    text = (HERE / name).read_text(encoding="utf-8")
    text = text.replace("import tensorlab as torch", "import torch")
    return text.replace("from tensorlab.", "from torch.")


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
BELOW = """
x = below([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
y = (x @ x - 2).relu().sum(1)
forward = list(BelowTensor.log)
y.sum().backward()
import json
print(json.dumps([forward, x.grad.inner.tolist()]))
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
        "below": recording.run_json(in_pytorch("below_tensor.py") + BELOW),
        "units": recording.run_json(in_pytorch("unit_tensor.py") + TRACE),
    },
)
