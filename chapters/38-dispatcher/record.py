"""Record what chapter 38 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

COST = (HERE / "cost.py").read_text(encoding="utf-8").partition("if __name__")[0]
HEARD = (HERE / "heard.py").read_text(encoding="utf-8")
KEYS = """
import json, torch

class Keyed(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

x = torch.ones(2)
tensors = {"a tensor": x, "one on meta": x.to("meta"), "one of a class": x.as_subclass(Keyed)}
keys = {name: str(torch._C._dispatch_keys(one)) for name, one in tensors.items()}
print(json.dumps({name: one.removeprefix("DispatchKeySet").strip("()") for name, one in keys.items()}))
"""

recording.write(
    HERE / "recorded.json",
    {
        "heard": recording.run_json(
            HEARD + "\nimport json, torch\nprint(json.dumps(heard(torch)))"
        ),
        "keys": recording.run_json(KEYS),
        "PyTorch": recording.run_json(COST + "import torch\nprint(json.dumps(costs(torch)))"),
        "tensorlab": recording.run_json(
            COST + "import tensorlab\nprint(json.dumps(costs(tensorlab)))"
        ),
    },
)
