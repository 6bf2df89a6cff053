"""Record the results of chapter 12 in both libraries: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json
import MODULE as torch
from MODULE.nn import functional as F

x = torch.zeros(1, 1, 5, 5, requires_grad=True)
F.conv2d(x, torch.ones(1, 1, 3, 3)).sum().backward()
tie = torch.zeros(1, 1, 2, 2, requires_grad=True)
F.max_pool2d(tie, 2).sum().backward()
share = torch.zeros(1, 1, 2, 2, requires_grad=True)
share.amax((2, 3)).sum().backward()
signal = torch.tensor([[1.0, 2.0, 3.0, 5.0]])
print(json.dumps({
    "x.grad of a convolution, first row": str(x.grad[0, 0, 0].tolist()),
    "max_pool2d of four zeros": str(tie.grad.flatten().tolist()),
    "amax of four zeros": str(share.grad.flatten().tolist()),
    "conv1d with (-1, 1)": str(F.conv1d(signal, torch.tensor([[[-1.0, 1.0]]])).tolist()),
    "padding='same' with 4 weights": str(F.conv1d(signal, torch.ones(1, 1, 4), padding="same").tolist()),
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json", {"results": {name: [ours[name], theirs[name]] for name in ours}}
)
