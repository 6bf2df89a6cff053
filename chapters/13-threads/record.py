"""Record the measurements of chapter 13, and what both libraries do with threads: `make record`.

Times mean something only where nothing else runs. On a machine that is shared, run this file under
`chrt -f 10`, which keeps other programs off the processors.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tools"), str(HERE)]
import measure_threads
import recording

PROGRAM = """
import json
import threading
import numpy
import MODULE as torch
default = torch.get_num_threads()
random = numpy.random.default_rng(13)
x = torch.from_numpy(random.standard_normal(1_000_000, dtype="float32"))

def with_threads(run):
    found = []
    for count in (1, 2, 3, 4):
        torch.set_num_threads(count)
        found.append(run())
    return found

def kept(n):
    torch.set_num_threads(1)
    counts = torch.zeros(1, dtype=torch.int64)
    labels, ones = torch.zeros(n, dtype=torch.int64), torch.ones(n, dtype=torch.int64)
    start = threading.Barrier(2)
    def work():
        start.wait()
        for _ in range(4_000_000 // n):
            counts.index_add_(0, labels, ones)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return counts.item() / 8_000_000

matrix = x.view(1000, 1000)
print(json.dumps({
    "sums": len(set(with_threads(lambda: x.sum().item()))),
    "dots": len(set(with_threads(lambda: torch.dot(x, x).item()))),
    "exp": len({tuple(one) for one in with_threads(lambda: x.exp().tolist())}),
    "rows": len({tuple(one) for one in with_threads(lambda: matrix.sum(1).tolist())}),
    "kept small": min(kept(1000) for _ in range(5)),
    "kept large": min(kept(1_000_000) for _ in range(5)),
}))
"""


def steps_of_decision():
    """Return milliseconds of a GPT step as the decision for one pool has them."""
    text = (HERE.parents[1] / "docs/decisions/0023-one-thread-pool.md").read_text("utf-8")
    rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines())
    cells = {row[0]: row for row in rows if row}
    head = next(row for row in cells.values() if "two pools" in row)
    places = {name: head.index(name) for name in ("two pools", "callback", "ours")}
    found = {}
    for kind in ("quiet", "busy"):
        row = cells[f"GPT step, {kind}"]
        found[kind] = {
            name: int(row[at]) if row[at] != "-" else None for name, at in places.items()
        }
    return found


ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
names = ("grain", "pools", "speedups", "python_threads", "sharing")
facts = {name: measure_threads.run(name) for name in names}
last = facts["speedups"]["counts"].index(measure_threads.CORES)
runs = [facts["speedups"]] + [measure_threads.run("speedups") for _ in range(4)]
facts["speedups"] = min(runs, key=lambda found: found["control"][last][1])  # the least disturbed
facts["libraries"] = {name: [ours[name], theirs[name]] for name in ours}
facts["cores"] = measure_threads.CORES
facts["decision"] = steps_of_decision()
if hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) == os.SCHED_FIFO:
    facts["command"] = "chrt -f 10 python chapters/13-threads/record.py"
recording.write(HERE / "recorded.json", facts)
