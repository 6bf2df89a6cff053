"""Record what chapter 40 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

VISITS = f"""
import json, sys
sys.path.insert(0, {str(HERE)!r})
import torch
from visitors import visits
print(json.dumps(visits(torch)))
"""

recording.write(HERE / "recorded.json", {"visits": recording.run_json(VISITS)})
