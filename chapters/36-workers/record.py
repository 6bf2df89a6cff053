"""Record what the workers of both libraries give for chapter 36: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json, os, random, signal, time
import numpy as np
import MODULE as torch
from MODULE.utils import data

class Drawing(data.Dataset):
    def __init__(self, draw):
        self.draw = draw
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return self.draw()

class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(range(3))

class Shared(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(info.id, 5, info.num_workers))

def drawn(draw):
    torch.manual_seed(0)
    loader = data.DataLoader(Drawing(draw), batch_size=None, num_workers=2)
    return str([round(float(x), 3) for x in loader])

def failure(act, **options):
    start = time.monotonic()
    try:
        list(data.DataLoader(Drawing(act), num_workers=2, **options))
    except Exception as error:
        return f"{type(error).__name__} after {time.monotonic() - start:.0f} s"

rng = np.random.default_rng(0)
print(json.dumps({
    "torch.rand in two workers": drawn(lambda: torch.rand(())),
    "random.random": drawn(random.random),
    "np.random.rand": drawn(np.random.rand),
    "a generator of its own": drawn(rng.random),
    "a stream, two workers": str(list(data.DataLoader(Stream(), batch_size=None, num_workers=2))),
    "a shared one, batches of 2": str([b.tolist() for b in data.DataLoader(Shared(), 2, num_workers=2)]),
    "threads in a worker": drawn(torch.get_num_threads),
    "a sample that raises": failure(lambda: 1 // 0),
    "a worker that is killed": failure(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "a worker that hangs, timeout=1": failure(lambda: time.sleep(60), timeout=1),
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json", {"results": {name: [ours[name], theirs[name]] for name in ours}}
)
