"""Record products of chapter 11 in both libraries: `make record`."""

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
random = numpy.random.default_rng(11)
x = torch.from_numpy(random.standard_normal((64, 600), dtype="float32"))
w = torch.from_numpy(random.standard_normal((600, 600), dtype="float32"))
leaf = w.clone().requires_grad_()
(x @ leaf.t()).sum().backward()
c = x @ w
print(json.dumps({
    "a row alone has the bits of its batch": (x[0] @ w).equal(c[0]),
    "a row alone is close to its batch": torch.allclose(x[0] @ w, c[0], atol=1e-4),
    "the result of x.t().t() @ w.t() is contiguous": (x.t().t() @ w.t()).is_contiguous(),
    "strides of the gradient of w in x @ w.t()": list(leaf.grad.stride()),
    "largest error below 1e-4": (c.double() - x.double() @ w.double()).abs().max().item() < 1e-4,
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json", {"products": {name: [ours[name], theirs[name]] for name in ours}}
)
