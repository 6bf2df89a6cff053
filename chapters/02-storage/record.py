"""Record what chapter 2 says about PyTorch and about a planted bug: `make record` runs this."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
import recording

READ_ONLY = """
import numpy
{imported}
array = numpy.zeros(3)
array.flags.writeable = False
x = torch.from_numpy(array)
try:
    x[0] = 1
    print("written:", array.tolist())
except RuntimeError as error:
    print(f"refused: {{error}}")
"""

MOVED = """
{imported}
x = torch.zeros(4)
before = x.data_ptr()
x.untyped_storage().resize_(1_000_000)
print("the bytes moved:", x.data_ptr() != before)
"""

LENT = """
import tensorlab as torch
x = torch.arange(4)
array = x.numpy()
del array
try:
    x.untyped_storage().resize_(1000)
except RuntimeError as error:
    print("refused")
y = torch.full((4,), 7)
print("x:", x.tolist())
"""


def ending(program):
    """Return what a program prints, or the last line of its error."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True
    )
    return (done.stdout or done.stderr.strip().splitlines()[-1]).strip()


def in_both(program):
    lines = {"tensorlab": "import tensorlab as torch", "PyTorch": "import torch"}
    return {
        "program": program.format(imported=lines["PyTorch"]).strip(),
        **{name: ending(program.format(imported=line)) for name, line in lines.items()},
    }


recording.write(
    FOLDER / "recorded.json",
    {
        "read-only": in_both(READ_ONLY),
        "moved": in_both(MOVED),
        "bug": recording.symptom(
            "an exported buffer does not pin its storage",
            LENT.strip(),
            ["tests/core/test_storage.py"],
        ),
    },
)
