"""A small GPT in data parallel: the losses of 50 steps are those of PyTorch's own, on gloo."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

import tensorlab
from tensorlab import distributed as dist
from tests.oracle import require_torch

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = '''
def train(torch, DDP, rank, size, weights):
    """Return the loss of each step of one rank."""
    nn = torch.nn

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(17, 16), nn.Embedding(8, 16)
            block = nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
            self.blocks = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
            self.head = nn.Linear(16, 17)

        def forward(self, x):
            places = torch.arange(x.shape[1])
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            return self.head(self.blocks(self.token(x) + self.place(places), mask=mask))

    model = GPT()
    state = {name: torch.from_numpy(value) for name, value in weights(model.state_dict()).items()}
    model.load_state_dict(state)
    ddp = DDP(model, bucket_cap_mb=0.01)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=1e-2)
    losses = []
    for step in range(50):
        x = (torch.arange(9 * 8).reshape(8, 9) * (step % 5 + 1) + step) % 17
        x = x[rank * 8 // size : (rank + 1) * 8 // size]
        optimizer.zero_grad()
        out = ddp(x[:, :-1])
        loss = nn.functional.cross_entropy(out.reshape(-1, 17), x[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def weights(state):
    import numpy as np
    drawn = np.random.default_rng(0)
    return {k: drawn.normal(size=tuple(v.shape), scale=0.1).astype(np.float32) for k, v in state.items()}
'''
IN_PYTORCH = """
import json, sys
import torch, torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
{program}
def main(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{{folder}}/meet", rank=rank, world_size=2)
    losses = train(torch, DistributedDataParallel, rank, 2, weights)
    open(f"{{folder}}/{{rank}}.json", "w").write(json.dumps(losses))
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.start_processes(main, (sys.argv[1],), nprocs=2, start_method="fork")
"""


def test_losses_of_a_gpt_are_those_of_pytorch(tmp_path):
    require_torch()
    script = tmp_path / "in_pytorch.py"
    script.write_text(textwrap.dedent(IN_PYTORCH).format(program=PROGRAM))
    subprocess.run([sys.executable, script, tmp_path], check=True, timeout=300, cwd=ROOT,
                   capture_output=True)  # fmt: skip
    expected = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    space = {}
    exec(PROGRAM, space)

    def program(rank):
        DDP = tensorlab.nn.parallel.DistributedDataParallel
        return space["train"](tensorlab, DDP, rank, 2, space["weights"])

    ours = dist.threads.spawn(program, nprocs=2)
    assert np.abs(np.array(ours) - np.array(expected)).max() < 1e-4
    assert ours[0][-1] < 0.8 * ours[0][0]
