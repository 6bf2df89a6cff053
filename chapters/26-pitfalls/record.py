"""Record which exhibits of chapter 26 are loud and which silent in PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

# The cells of the part "Break it", run with PyTorch under tensorlab's name.
PROGRAM = f"""
import contextlib, io, json, re, sys
import torch
sys.modules["tensorlab"] = torch
sys.path.insert(0, {str(HERE)!r})
text = open({str(HERE / "index.md")!r}, encoding="utf-8").read()
rooms = text.split("## Break it")[1].split("### The way out")[0]
from stethoscope import first_bad, report, unreached
with contextlib.redirect_stdout(io.StringIO()):
    for cell in re.findall(r"```{{code-cell}} ipython3\\n(?::tags:[^\\n]*\\n)?(.*?)```", rooms, re.S):
        exec(cell)
import museum
print(json.dumps(museum.visited))
"""

recording.write(HERE / "recorded.json", {"visited": recording.run_json(PROGRAM)})
