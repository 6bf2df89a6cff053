"""Record the training of chapter 31 in both libraries: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

SOURCE = (HERE / "tiny_conv_net.py").read_text(encoding="utf-8")
PROGRAM = """
import json
torch.manual_seed(0)
images, labels = torch.rand(200, 1, 8, 8), torch.arange(200) % 10
results = {}
for make in (mlp, convnet):
    torch.manual_seed(1)
    model = make()
    big = place(images, 2, 2)
    losses = train(model, lambda r: nn.functional.cross_entropy(model(shifted(big[r], 2)), labels[r]), 200, 20)
    results[f"{make.__name__}, loss after 20 steps"] = f"{losses[-1]:.4f}"
torch.manual_seed(2)
model = Autoencoder(2)
losses = train(model, lambda r: nn.functional.mse_loss(model(images[r]), images[r]), 200, 20)
results["Autoencoder, loss after 20 steps"] = f"{losses[-1]:.4f}"
print(json.dumps(results))
"""


def program(name):
    return (
        (SOURCE + PROGRAM)
        .replace("import tensorlab as torch", f"import {name} as torch")
        .replace("from tensorlab import nn", f"from {name} import nn")
    )


ours, theirs = (recording.run_json(program(name)) for name in ("tensorlab", "torch"))
recording.write(
    HERE / "recorded.json", {"results": {name: [ours[name], theirs[name]] for name in ours}}
)
