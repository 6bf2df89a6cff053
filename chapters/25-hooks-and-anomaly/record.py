"""Record what chapter 25 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

ORDER = """
import json
import MODULE as torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
called = []
def note(name):
    return lambda *_: called.append(name)
x.register_post_accumulate_grad_hook(note("after the leaf"))
y.grad_fn.register_hook(note("posthook of y's node"))
x.register_hook(note("hook of x"))
y.grad_fn.register_prehook(note("prehook of y's node"))
y.register_hook(note("hook of y"))
y.sum().backward()
print(json.dumps(called))
"""
NETWORK = (HERE / "broken_network.py").read_text()
DAMAGE = (
    NETWORK.replace("import tensorlab as torch", "import json, warnings, MODULE as torch")
    + """
warnings.simplefilter("ignore")
try:
    with torch.autograd.set_detect_anomaly(True):
        shifted_network(*weights()).sum().backward()
except RuntimeError as error:
    print(json.dumps(str(error)))
"""
)
COST = """
import json, time, warnings
import MODULE as torch
def chain():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(300):
        y = y * 1.0
    y.backward()
def quickest():
    times = []
    for _ in range(9):
        start = time.thread_time()
        chain()
        times.append(time.thread_time() - start)
    return min(times)
found = {}
for mode in (False, True):
    with torch.autograd.set_detect_anomaly(mode):
        found["on" if mode else "off"] = round(quickest() / 300 * 1e6, 2)
print(json.dumps(found))
"""


def with_both(program):
    """Return what a program prints under each of the two."""
    modules = ("torch", "tensorlab")
    return {module: recording.run_json(program.replace("MODULE", module)) for module in modules}


recording.write(
    HERE / "recorded.json",
    {
        "order": with_both(ORDER),
        "in-place damage": recording.run_json(DAMAGE.replace("MODULE", "torch")),
        "microseconds of a node, anomaly mode off and on": with_both(COST),
    },
)
