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

in_pytorch = subprocess.run(
    [sys.executable, "-c", SHIFT.format(module="torch")], capture_output=True, text=True, check=True
)
recording.write(
    FOLDER / "recorded.json",
    {
        "overlap": {
            "program": SHIFT.format(module="torch").strip(),
            "PyTorch": in_pytorch.stdout.strip(),
        },
        "bug": recording.symptom(
            "a copy over itself is not read first",
            SHIFT.format(module="tensorlab").strip(),
            ["tests/ops/test_copying.py"],
        ),
    },
)
