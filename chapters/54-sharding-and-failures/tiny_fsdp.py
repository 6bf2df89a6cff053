"""Sharded training in forty lines: each rank keeps a part, and borrows the rest."""

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab import nn


class Gather(torch.autograd.Function):
    """From a shard to the whole; backward goes from its gradient to the shard's."""

    @staticmethod
    def forward(ctx, shard):
        parts = [torch.empty_like(shard) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, shard.detach())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, gradient):
        parts = [part.contiguous() for part in gradient.chunk(dist.get_world_size())]
        own = torch.empty_like(parts[0])
        dist.reduce_scatter(own, parts, dist.ReduceOp.AVG)
        return own


class TinyFSDP(nn.Module):
    """Call a module whose parameters lie in shards on all ranks, as one vector."""

    def __init__(self, module):
        super().__init__()
        wholes = dict(module.named_parameters())
        flat = torch.cat([p.detach().flatten() for p in wholes.values()])
        ranks, rank = dist.get_world_size(), dist.get_rank()
        flat = torch.cat([flat, flat.new_zeros(-len(flat) % ranks)])  # equal shards
        self.shard = nn.Parameter(flat.chunk(ranks)[rank].clone())
        self.shapes = {name: p.shape for name, p in wholes.items()}
        self.skeleton = (module.to("meta"),)  # in a tuple, so it isn't registered

    def forward(self, *inputs):
        flat, first, wholes = Gather.apply(self.shard), 0, {}
        for name, shape in self.shapes.items():
            wholes[name] = flat[first : first + shape.numel()].view(shape)
            first += shape.numel()
        return torch.func.functional_call(self.skeleton[0], wholes, inputs)
