"""Record what both libraries make of files, also damaged ones, for chapter 37: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import io, json, random
import MODULE as torch
import torch as writer
import PEER as other

sent = io.BytesIO()
table = other.arange(6.0).view(2, 3)
other.save({"w": table, "t": table.t()}, sent)
sent.seek(0)
got = torch.load(sent)
arrived = got["w"].tolist() == table.tolist() and got["t"].tolist() == table.t().tolist()

file = io.BytesIO()
writer.manual_seed(0)
values = writer.randn(40, 10)
writer.save({"w": values, "t": values.t()}, file)
data, expected = file.getvalue(), values.tolist()
rng, counts = random.Random(0), {"error": 0, "same": 0, "other": 0}
for _ in range(400):
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    try:
        back = torch.load(io.BytesIO(bytes(changed)))
        same = back["w"].tolist() == expected and back["t"].tolist() == values.t().tolist()
        counts["same" if same else "other"] += 1
    except Exception:
        counts["error"] += 1
view, whole = io.BytesIO(), io.BytesIO()
torch.save(torch.zeros(1000)[:2], view)
print(json.dumps({
    "a file of the other library, all numbers right": str(arrived),
    "its two entries share memory again": str(got["w"].data_ptr() == got["t"].data_ptr()),
    "damaged files: errors": str(counts["error"]),
    "damaged files: the same numbers": str(counts["same"]),
    "damaged files: OTHER NUMBERS, and no error": str(counts["other"]),
    "a view of 2 in 1000 numbers takes over 4000 bytes": str(len(view.getvalue()) > 4000),
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name).replace("PEER", other))
    for name, other in (("tensorlab", "torch"), ("torch", "tensorlab"))
)
recording.write(
    HERE / "recorded.json", {"results": {name: [ours[name], theirs[name]] for name in ours}}
)
