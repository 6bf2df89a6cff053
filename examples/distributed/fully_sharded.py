"""A model of which each rank keeps a part. Start it with: tensorlab run --nproc-per-node 2 fully_sharded.py"""

import tensorlab as torch
import tensorlab.distributed as dist
from tensorlab import nn
from tensorlab.distributed.fsdp import fully_shard


def main():
    """Train an encoder; return what share of the parameters this rank keeps, and the losses."""
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True)
    model = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
    whole = sum(p.numel() for p in model.parameters())
    for layer in model.layers:
        fully_shard(layer)  # gathered when it's used, and let go of after it
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(1 + dist.get_rank())
    x = torch.randn(4, 8, 32)
    losses = []
    for step in range(6):
        optimizer.zero_grad()
        loss = (model(x) - x.flip(1)).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if dist.get_rank() == 0:
            print(f"step {step}: loss {losses[-1]:.4f}")
    own = sum(p.to_local().numel() for p in model.parameters())
    dist.destroy_process_group()
    return own / whole, losses


if __name__ == "__main__":
    main()
