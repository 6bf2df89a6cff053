"""Record what chapter 41 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

VERDICTS = (HERE / "verdicts.py").read_text()
LOGGING = (
    (HERE / "logging_tensor.py").read_text().replace("import tensorlab as T", "import torch as T")
)
UNITS = (HERE / "unit_tensor.py").read_text().replace("import tensorlab as T", "import torch as T")
TRACE = """
d, t = with_unit([3.0, 4.0], m=1), with_unit([1.5, 2.0], s=1)
v = d / t
def message(work):
    try:
        work()
    except TypeError as error:
        return str(error)
import json
print(json.dumps([repr(v), repr((v * v).sum()), message(lambda: d + t), message(lambda: T.add(d, t))]))
"""
CALLS = """
x = logged([[1.0, 2.0], [3.0, 4.0]])
y = (x @ x - 2).relu().sum(1)
T.cat([y, 2 * y])[0].item()
-x.T
import json
print(json.dumps(LoggingTensor.log))
"""

recording.write(
    HERE / "recorded.json",
    {
        "verdicts": recording.run_json(
            VERDICTS + "\nimport json, torch\nprint(json.dumps(verdicts(torch)))"
        ),
        "calls": recording.run_json(LOGGING + CALLS),
        "units": recording.run_json(UNITS + TRACE),
    },
)
