"""Record what chapter 22 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

VERDICTS = (HERE / "verdicts.py").read_text()

recording.write(
    HERE / "recorded.json",
    {
        "verdicts": recording.run_json(
            VERDICTS + "\nimport json, torch\nprint(json.dumps(verdicts(torch)))"
        ),
    },
)
