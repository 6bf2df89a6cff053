"""Record what containers and hooks of chapter 29 do in both libraries: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json
import MODULE as torch
from MODULE import nn

order = []
def note(name, result=None):
    def hook(*arguments):
        order.append(name)
        return result
    return hook

handle = nn.modules.module.register_module_forward_hook(note("all"))
layer = nn.Linear(1, 1)
layer.register_forward_hook(note("first"))
layer.register_forward_hook(note("prepended"), prepend=True)
layer.register_forward_pre_hook(note("before"))
layer.register_full_backward_hook(note("backward"))
layer(torch.ones(1, 1, requires_grad=True)).sum().backward()
handle.remove()

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
model.insert(1, nn.LayerNorm(8))
hidden = nn.Module()
hidden.layers = [nn.Linear(2, 2)]
pair = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
with torch.no_grad():
    pair[0].weight.fill_(3.0)
    pair[1].weight.fill_(0.5)
seen = []
for layer in pair:
    layer.register_full_backward_hook(lambda m, gx, gy: seen.append((gy[0].item(), gx[0].item())))
pair[0].register_forward_hook(lambda m, x, y: 2 * y)
x = torch.tensor([[2.0]], requires_grad=True)
(pair(x).square().sum() / 2).backward()
print(json.dumps({
    "order of hooks": " ".join(order),
    "names after an insertion": " ".join(name for name, _ in model.named_parameters()),
    "parameters in a plain list": str(len(list(hidden.parameters()))),
    "gradients of the worked trace": str(seen),
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json", {"results": {name: [ours[name], theirs[name]] for name in ours}}
)
