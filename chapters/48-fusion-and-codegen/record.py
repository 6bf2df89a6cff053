"""Record what chapter 48 shows of PyTorch: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAMS = (HERE / "programs.py").read_text(encoding="utf-8")
PROGRAMS = PROGRAMS.replace("import tensorlab as torch", "import torch")
KERNELS = """
import json, os, re
os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
from torch._inductor.utils import run_and_get_code

torch.manual_seed(0)
x, found = torch.randn(200, 200), {}
for function in [*PREDICTED.values(), rms_norm, softmax, warm_softmax]:
    torch._dynamo.reset()
    result, (code,) = run_and_get_code(torch.compile(function), x)
    calls = re.findall(r"^ +(?:\\w+ = )?(?:extern_kernels|torch[.]ops[.]aten)[.][\\w.]+[(]", code, re.M)
    functions = re.findall(r"^cpp_fused_\\w+ = async_compile", code, re.M)
    distance = (result - function(x)).abs().max() / function(x).abs().max()
    found[function.__name__] = {
        "functions": len(functions),
        "calls": len(calls),
        "distance": distance.item(),
    }
    if function is gelu:
        loop = code.partition('extern "C"')[2].partition("if(C10_UNLIKELY")[0]
        found["gelu"]["loop"] = [line.strip() for line in loop.split(chr(10)) if "tmp" in line]
print(json.dumps(found))
"""
TIMES = """
import json, time
from statistics import median
torch.set_num_threads(1)  # thread_time counts this thread alone
x, found = torch.randn(10**7), {"ratios": {}, "nanoseconds": {}}
for function in [cheap, gelu, in_a_row, side_by_side]:
    compiled = torch.compile(function)
    times = {"eager": [], "compiled": []}
    compiled(x), compiled(x), function(x)
    for _ in range(7):
        for name, work in ("eager", function), ("compiled", compiled):
            start = time.thread_time()
            work(x)
            times[name].append(time.thread_time() - start)
    eager, fused = (median(times[form]) for form in ("eager", "compiled"))
    found["ratios"][function.__name__] = round(eager / fused, 1)
    found["nanoseconds"][function.__name__] = round(fused * 1e9 / x.numel(), 1)
print(json.dumps(found))
"""

if __name__ == "__main__":
    recording.write(
        HERE / "recorded.json",
        {
            "kernels": recording.run_json(PROGRAMS + KERNELS),
            **recording.run_json(PROGRAMS + TIMES),
        },
    )
