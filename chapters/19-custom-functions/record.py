"""Record what chapter 19 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

VERDICTS = (HERE / "five_backwards.py").read_text()
INSTANCE = """
import json, warnings
import MODULE as torch
warnings.simplefilter("ignore")
try:
    torch.autograd.Function()
except RuntimeError as error:
    print(json.dumps("RuntimeError"))
else:
    print(json.dumps("DeprecationWarning"))
"""
COST = """
import json, time
import MODULE as torch
torch.set_num_threads(1)
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad
x, gradient = torch.ones(1, requires_grad=True), torch.ones(1)
found = {}
for name, function in {"Square.apply(x)": Square.apply, "x * x": lambda x: x * x}.items():
    rounds = []
    for _ in range(9):
        start = time.thread_time()
        for _ in range(2000):
            function(x).backward(gradient)
            x.grad = None
        rounds.append((time.thread_time() - start) / 2000 * 1e9)
    found[name] = sorted(round(one) for one in rounds)
print(json.dumps(found))
"""


def with_both(program):
    """Return what a program prints under each of the two."""
    modules = ("torch", "tensorlab")
    return {module: recording.run_json(program.replace("MODULE", module)) for module in modules}


recording.write(
    HERE / "recorded.json",
    {
        "verdicts": recording.run_json(
            VERDICTS + "\nimport json, torch\nprint(json.dumps(verdicts(torch)))"
        ),
        "making an instance": with_both(INSTANCE),
        "nanoseconds of forward and backward": with_both(COST),
    },
)
