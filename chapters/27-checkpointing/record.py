"""Record what chapter 27 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = (HERE / "stale_weight.py").read_text()

recording.write(
    HERE / "recorded.json",
    {
        "stale_weight": recording.run_json(
            PROGRAM + "\nimport json, torch\nprint(json.dumps(stale_weight(torch)))"
        ),
    },
)
