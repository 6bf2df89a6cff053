"""Record what chapter 4 says about PyTorch and about a planted bug: `make record` runs this."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
import recording

SHIFT = """
import {module} as torch
for n in (10, 1000, 5000):
    x = torch.arange(2 * n)[::2]
    wanted = x[:-1].clone()
    x[1:] = x[:-1]
    wrong = (x[1:] != wanted).nonzero().flatten()
    print(f"{{n}} numbers, {{len(wrong)}} wrong: {{wrong[:4].tolist()}}")
"""

ADD = """
import {module} as torch
for n in (10, 1000, 5000):
    x = torch.arange(2 * n)[::2]
    wanted = x[1:] + x[:-1]
    x[1:].add_(x[:-1])
    print(n, "numbers,", (x[1:] != wanted).sum().item(), "wrong")
"""


def in_pytorch(program):
    command = [sys.executable, "-c", program.format(module="torch")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


recording.write(
    FOLDER / "recorded.json",
    {
        "overlap": {
            "program": SHIFT.format(module="torch").strip(),
            "PyTorch": in_pytorch(SHIFT),
        },
        "add": {"program": ADD.format(module="torch").strip(), "PyTorch": in_pytorch(ADD)},
        "bug": recording.symptom(
            "a copy over itself is not read first",
            SHIFT.format(module="tensorlab").strip(),
            ["tests/ops/test_copying.py"],
        ),
    },
)
