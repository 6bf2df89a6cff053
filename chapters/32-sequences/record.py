"""Record the layers and attention of chapter 32 in both libraries: `make record`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import recording

PROGRAM = """
import json
import MODULE as torch

nn, F = torch.nn, torch.nn.functional

def of(values):
    return f"{values.double().sum().item():.4f}"

def layer(kind):
    torch.manual_seed(0)
    made = kind(8, 16)
    return of(made(torch.randn(30, 4, 8))[0][-1])

torch.manual_seed(0)
block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, norm_first=True, batch_first=True)
mask = nn.Transformer.generate_square_subsequent_mask(9)
block_sum = of(block(torch.randn(3, 9, 16), src_mask=mask, is_causal=True).square())
query, key, value = torch.randn(3, 6, 8).unbind(0)
one = F.scaled_dot_product_attention(query[:1], key, value, is_causal=True)
lstm = nn.LSTM(8, 16)
print(json.dumps({
    "nn.RNN, sum of the last outputs": layer(nn.RNN),
    "nn.LSTM": layer(nn.LSTM),
    "nn.GRU": layer(nn.GRU),
    "TransformerEncoderLayer, sum of squares": block_sum,
    "causal attention": of(F.scaled_dot_product_attention(query, key, value, is_causal=True)),
    "one causal query sees the first key only": str(torch.allclose(one, value[:1])),
    "bias of a new forget gate below 0.25": str((lstm.bias_ih_l0[16:32].abs() <= 0.25).all().item()),
}))
"""

ours, theirs = (
    recording.run_json(PROGRAM.replace("MODULE", name)) for name in ("tensorlab", "torch")
)
recording.write(
    HERE / "recorded.json", {"results": {name: [ours[name], theirs[name]] for name in ours}}
)
