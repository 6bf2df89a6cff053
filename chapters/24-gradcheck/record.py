"""Record what PyTorch's gradcheck says of the function that chapter 24 breaks: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json
import torch


class HalfSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return x * grad


x = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
try:
    torch.autograd.gradcheck(HalfSquare.apply, x)
except RuntimeError as error:
    print(json.dumps(str(error)))
"""

recording.write(HERE / "recorded.json", {"report": recording.run_json(PROGRAM)})
