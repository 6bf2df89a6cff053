"""Record the schedules and the restart of chapter 34 in both libraries: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json, sys, warnings
import MODULE as torch
from MODULE.optim import lr_scheduler as S

warnings.simplefilter("ignore")

def last(make, steps, lr=1.0):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr, momentum=0.9)
    scheduler = make(optimizer)
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
    return repr(scheduler.get_last_lr()[0])

optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
scheduler = S.LinearLR(optimizer, 0.1, total_iters=10)
for _ in range(30):
    optimizer.step()
    scheduler.step()
state = optimizer.state_dict(), scheduler.state_dict()
optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
optimizer.load_state_dict(state[0])
late = S.LinearLR(optimizer, 0.1, total_iters=10)
late.load_state_dict(state[1])
print(json.dumps({
    "cosine, T_max 100, at epoch 150": last(lambda o: S.CosineAnnealingLR(o, 100), 150, 0.1),
    "cosine, T_max 10000, at epoch 9999": last(lambda o: S.CosineAnnealingLR(o, 10000), 9999),
    "one cycle of 100, after 60": last(lambda o: S.OneCycleLR(o, 1.0, 100), 60),
    "warm restarts (14, 2), after 80": last(lambda o: S.CosineAnnealingWarmRestarts(o, 14, 2), 80),
    "loaded before the scheduler was made": repr(optimizer.param_groups[0]["lr"]),
    "keys of StepLR's state": str(len(S.StepLR(optimizer, 2).state_dict())),
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json", {"results": {name: [ours[name], theirs[name]] for name in ours}}
)
