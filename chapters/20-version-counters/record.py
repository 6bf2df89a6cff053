"""Record what chapter 20 shows of PyTorch and of builds with a planted bug: `make record`."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

TESTS = ["tests/core/test_graph.py", "tests/core/test_engine.py"]
VERDICTS = (HERE / "verdicts.py").read_text()
OWN_COUNTER = """
import tensorlab as torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 1
z = y * y
y[0:1].zero_()
z.sum().backward()
print(f"x.grad is {x.grad.tolist()}")
"""
NOT_COUNTED = """
import tensorlab as torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.tanh()
y.zero_()
y.sum().backward()
print(f"x.grad is {x.grad.tolist()}")
"""
STALE_HOOK = """
import torch
base = torch.ones(2, requires_grad=True).clone()
view, other = base.view(2), base[:]
other.add_(1)
view.register_hook(print)
"""


def ending(program):
    """Return how a program under PyTorch ends, in words."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if done.returncode < 0:
        return f"the interpreter dies with signal {-done.returncode}"
    return done.stderr.strip().splitlines()[-1] if done.returncode else "runs"


recording.write(
    HERE / "recorded.json",
    {
        "verdicts": recording.run_json(
            VERDICTS + "\nimport json, torch\nprint(json.dumps(verdicts(torch)))"
        ),
        "a hook on a stale view": {"program": STALE_HOOK.strip(), "ending": ending(STALE_HOOK)},
        "bugs": {
            name: recording.symptom(name, program.strip(), TESTS)
            for name, program in {
                "a view gets a counter of its own": OWN_COUNTER,
                "in-place does not count a version": NOT_COUNTED,
            }.items()
        },
    },
)
