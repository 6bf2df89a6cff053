"""Record what chapter 7 says about PyTorch: `make record` runs this where PyTorch is installed."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
import recording

HALF = """
import {module} as torch
x = torch.zeros(4)
try:
    x[torch.tensor([0, 1, 7, 2])] = 1.0
except IndexError:
    print("an IndexError")
print(x.tolist(), "version", x._version)
"""


def printed(module):
    program = HALF.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


recording.write(
    FOLDER / "recorded.json",
    {
        "half": {
            "program": HALF.format(module="torch").strip(),
            "PyTorch": printed("torch"),
            "tensorlab": printed("tensorlab"),
        }
    },
)
