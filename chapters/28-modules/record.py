"""Record the results and costs of chapter 28 in both libraries: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json, time
import MODULE as torch
from MODULE import nn
from MODULE.nn import functional as F

torch.set_num_threads(1)

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(4, 4)
        self.decode = self.encode

tied = Tied()
model = nn.Linear(2, 2)
model.state_dict()["bias"].fill_(1)
layers = nn.Module()
layers.layers = [nn.Linear(2, 2)]
partly = nn.Linear(2, 2)
with torch.no_grad():
    partly.weight.zero_()
try:
    partly.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.ones(3)})
except RuntimeError:
    pass
results = {
    "parameters of layers in a list": str(len(list(layers.parameters()))),
    "the bias after writing into the state dict": str(model.bias.tolist()),
    "parameters and state dict of a tied model": f"{len(list(tied.parameters()))} and {len(tied.state_dict())}",
    "weight after loading a dict that does not fit": str(partly.weight.flatten().tolist()),
}

layer, x = nn.Linear(8, 8), torch.randn(8, 8)
plain = type("Plain", (), {})()
plain.weight = layer.weight
weight, bias = layer.weight, layer.bias

def read_parameter():
    layer.weight

def read_attribute():
    plain.weight

def least(run, n=20000):
    best = 1e9
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(n):
            run()
        best = min(best, (time.perf_counter() - start) / n * 1e9)
    return best

with torch.no_grad():
    times = {
        "reading a plain attribute, in a function": least(read_attribute),
        "reading a parameter, in a function": least(read_parameter),
        "F.linear, 8 by 8, batch of 8": least(lambda: F.linear(x, weight, bias), 5000),
        "layer(x), the same": least(lambda: layer(x), 5000),
    }
print(json.dumps([results, times]))
"""

(ours, our_times), (theirs, their_times) = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json",
    {
        "results": {name: [ours[name], theirs[name]] for name in ours},
        "nanoseconds": {
            name: [round(our_times[name]), round(their_times[name])] for name in our_times
        },
    },
)
