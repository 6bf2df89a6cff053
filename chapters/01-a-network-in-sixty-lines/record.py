"""Record what chapter 1 says about PyTorch: `make record` runs this where PyTorch is installed."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "tools"))
import recording

# digits.py under either name, nothing else changed; the time is the shortest of five trainings.
RUN = """
import json, time, types
import {package}
text = open({path!r}, encoding="utf-8").read().replace("tensorlab", {package!r})
digits = types.ModuleType("digits")
exec(text, digits.__dict__)
{package}.set_num_threads(1)
seconds = []
for _ in range(5):
    {package}.manual_seed(0)
    learning, choosing, judging = digits.load()
    model = digits.Classifier()
    start = time.perf_counter()
    losses = digits.train(model, learning)
    seconds.append(time.perf_counter() - start)
facts = {{"seconds": round(min(seconds), 2), "accuracy": digits.accuracy(model, judging)}}
if {package!r} == "torch":
    facts["losses"] = [float(f"{{loss:.9g}}") for loss in losses[:600]]
print(json.dumps(facts))
"""


def run(package):
    return recording.run_json(RUN.format(package=package, path=str(FOLDER / "digits.py")))


recording.write(FOLDER / "recorded.json", {"tensorlab": run("tensorlab"), "PyTorch": run("torch")})
