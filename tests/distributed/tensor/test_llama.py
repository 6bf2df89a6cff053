"""The plan of a Llama-like model as PyTorch's examples have it: parts of the sequence between the layers,
rotated queries and keys, losses by classes, and data parallel shards around it all."""

import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.distributed.device_mesh import init_device_mesh
from tensorlab.distributed.fsdp import fully_shard
from tensorlab.distributed.tensor import Replicate, Shard
from tensorlab.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from tests.distributed.networks import assert_same, whole

F = nn.functional
WIDTH, HEADS, TOKENS, LENGTH = 16, 4, 10, 8


class RMSNorm(nn.Module):
    """Rows of mean square 1, with a weight."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


def rotated(x, angles):
    """Turn pairs of numbers by the angles of their places, as complex numbers."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    turned = pairs * torch.polar(torch.ones_like(angles), angles).unsqueeze(1)
    return torch.view_as_real(turned).flatten(3)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.n_heads = HEADS
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x, angles):
        n, length, _ = x.shape
        q, k, v = (f(x).view(n, length, self.n_heads, -1) for f in (self.wq, self.wk, self.wv))
        q, k, v = (one.transpose(1, 2) for one in (rotated(q, angles), rotated(k, angles), v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).contiguous().view(n, length, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
        self.w2 = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = RMSNorm(WIDTH), RMSNorm(WIDTH)

    def forward(self, x, angles):
        x = x + self.attention(self.attention_norm(x), angles)
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.ModuleList([Block() for _ in range(2)])
        self.norm = RMSNorm(WIDTH)
        self.output = nn.Linear(WIDTH, TOKENS, bias=False)

    def forward(self, ids):
        steps = torch.arange(WIDTH // HEADS // 2, dtype=torch.float64)
        angles = torch.arange(LENGTH, dtype=torch.float64).outer(100.0**-steps)
        x = self.tok_embeddings(ids)
        for layer in self.layers:
            x = layer(x, angles)
        return self.output(self.norm(x))


def make_parallel(model, mesh, by_classes):
    """The plan of PyTorch's example of tensor parallel, in words of this package."""
    rows = Shard(1)
    parallelize_module(
        model,
        mesh,
        {
            "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=rows),
            "norm": SequenceParallel(),
            "output": ColwiseParallel(
                input_layouts=rows,
                output_layouts=Shard(-1) if by_classes else Replicate(),
                use_local_output=not by_classes,
            ),
        },
    )
    for layer in model.layers:
        parallelize_module(
            layer,
            mesh,
            {
                "attention_norm": SequenceParallel(),
                "attention": PrepareModuleInput(
                    input_layouts=(rows, None), desired_input_layouts=(Replicate(), None)
                ),
                "attention.wq": ColwiseParallel(),
                "attention.wk": ColwiseParallel(),
                "attention.wv": ColwiseParallel(),
                "attention.wo": RowwiseParallel(output_layouts=rows),
                "ffn_norm": SequenceParallel(),
                "feed_forward": PrepareModuleInput(
                    input_layouts=(rows,), desired_input_layouts=(Replicate(),)
                ),
                "feed_forward.w1": ColwiseParallel(),
                "feed_forward.w2": RowwiseParallel(output_layouts=rows),
                "feed_forward.w3": ColwiseParallel(),
            },
        )
        layer.attention.n_heads //= mesh.size()


def steps(model, ids, by_classes=False):
    """Take two steps; return losses, gradients and weights."""
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=0.01), []
    for _ in range(2):
        optimizer.zero_grad()
        out = model(ids)
        target = ids.roll(-1, 1).flatten()
        if by_classes:
            with loss_parallel():
                loss = F.cross_entropy(out.flatten(0, 1), target)
                loss.backward()
        else:
            loss = F.cross_entropy(out.flatten(0, 1), target)
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(whole(loss.detach()))
    named = dict(model.named_parameters())
    return (
        losses,
        {name: whole(one.grad) for name, one in named.items()},
        {name: whole(one.detach()) for name, one in named.items()},
    )


def make():
    torch.manual_seed(0)
    return Llama().double(), torch.randint(0, TOKENS, (4, LENGTH))


@pytest.mark.parametrize("by_classes", [False, True])
@pytest.mark.parametrize(("data", "tensor"), [(1, 2), (1, 4), (2, 2)])
def test_weights_are_those_of_one_process(data, tensor, by_classes):
    def run(rank):
        mesh = init_device_mesh("cpu", (data, tensor), mesh_dim_names=("dp", "tp"))
        model, ids = make()
        make_parallel(model, mesh["tp"], by_classes)
        if data > 1:
            for layer in model.layers:
                fully_shard(layer, mesh=mesh["dp"])
            fully_shard(model, mesh=mesh["dp"])
        return steps(model, ids.chunk(data)[mesh.get_local_rank("dp")], by_classes)

    expected = steps(*make())
    for found in dist.threads.spawn(run, nprocs=data * tensor, timeout=30):
        assert_same(found, expected, losses=data == 1)
