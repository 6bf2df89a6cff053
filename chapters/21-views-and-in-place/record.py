"""Record what chapter 21 shows of PyTorch and of builds with a planted bug: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

TESTS = ["tests/core/test_graph.py", "tests/autograd/test_reported_bugs.py"]
VERDICTS = (HERE / "verdicts.py").read_text()
STALE = """
import tensorlab as torch
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = x * 1
left, right = y[:2], y[1:]
right.mul_(10)
left.sum().backward()
print(f"x.grad is {x.grad.tolist()}")
"""
NO_OFFSET = """
import tensorlab as torch
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = x * 1
y[2:].mul_(10)
y.sum().backward()
print(f"x.grad is {x.grad.tolist()}")
"""

recording.write(
    HERE / "recorded.json",
    {
        "verdicts": recording.run_json(
            VERDICTS + "\nimport json, torch\nprint(json.dumps(verdicts(torch)))"
        ),
        "bugs": {
            name: recording.symptom(name, program.strip(), TESTS)
            for name, program in {
                "a stale view keeps its old node": STALE,
                "the offset of a view is forgotten in its base's history": NO_OFFSET,
            }.items()
        },
    },
)
