"""Calls of many kinds, which type checkers must accept: test_typed_program.py checks this file and runs it."""
# ruff: noqa: B018

import io
from typing import Any, assert_type

import numpy as np
import numpy.typing

import tensorlab as torch
from tensorlab import Tensor, func, nn, viz
from tensorlab.autograd import forward_ad
from tensorlab.nn.utils import rnn
from tensorlab.utils.checkpoint import checkpoint
from tensorlab.utils.data import DataLoader, Dataset

net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
assert net[0].weight.grad is None


class M(nn.Module):
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(3):
            self.layers.append(nn.Linear(2, 2))
        self.register_buffer("mean", torch.zeros(2))
        self.d = nn.ModuleDict({"a": nn.Linear(2, 2)})

    def forward(self, x: Tensor, n: int = 3) -> dict[str, Tensor]:
        for layer in self.layers:
            x = layer(x)
        x = nn.functional.gelu(self.d["a"](x)) + self.mean
        return {"x": x}


m = M()
assert_type(m(torch.ones(2)), dict[str, Tensor])
assert_type(m(torch.ones(2), n=2)["x"], Tensor)
opt = torch.optim.SGD([{"params": m.parameters(), "lr": 0.1}], lr=0.1, momentum=0.9)
opt2 = torch.optim.Adam(m.parameters(), lr=1e-3, betas=(0.9, 0.99))


def closure() -> Tensor:
    return m(torch.ones(2))["x"].sum()


assert_type(opt.step(closure), Tensor)
opt.step()
s = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 0.9**e)
with torch.no_grad():
    pass
with torch.inference_mode():
    pass
with torch.set_grad_enabled(False):
    pass


@torch.no_grad
def f(x: Tensor) -> Tensor:
    return x


assert_type(f(torch.ones(2)), Tensor)


@torch.inference_mode()
def g(x: Tensor) -> int:
    return 3


assert_type(g(torch.ones(2)), int)
x = torch.zeros((2, 3), dtype=torch.float32, device="cpu", requires_grad=True)
(gx,) = torch.autograd.grad(x.sum(), x)
assert_type(gx, Tensor)
for row in x:
    assert_type(row, Tensor)
assert_type(1 - x, Tensor)
assert_type(2**x, Tensor)
assert_type(-x, Tensor)
assert_type(x < 1, Tensor)
assert_type(~(x == x), Tensor)
assert_type((x > 0) & (x < 1), Tensor)
values, indices = torch.sort(x, dim=0)
assert_type(values, Tensor)
assert_type(x.argmax(dim=1).float().mean(), Tensor)
n, c = x.shape
assert_type(n, int)
v = x.view(-1, 3).view(torch.Size([2, 3])).expand(2, 3).flatten(1).unsqueeze(0).squeeze()
assert_type(v, Tensor)
torch.arange(10)
torch.arange(0, 1, 0.1)
torch.linspace(0, 1, 5)
torch.eye(3)
torch.full((2,), 1.5)
torch.randint(0, 2, (3,))
torch.randint(10, size=(2,))
torch.tensor([[1.0]])
torch.randperm(4)
torch.manual_seed(0)
x[0, 1:, None, ...]
x[torch.tensor([1])]
x.detach()[x > 0] = 1.0
torch.stack([x, x])
torch.cat((x, x), 1)
torch.clamp(x, 0, 1)
x.clip(max=3)
x.clamp(min=0.0)
nn.functional.cross_entropy(x, torch.tensor([0, 1]), reduction="none")
nn.functional.pad(x, (1, 1))
nn.functional.one_hot(torch.tensor([0, 1]), 3)
x.std(dim=0, unbiased=False)
x.var(0, keepdim=True)
x.norm(2, dim=1)
torch.norm(x)
x.prod()
x.all()
x.sum((0, 1))
x.sum(-1)
x.detach().scatter_(1, torch.tensor([[0], [1]]), 1.0)
x.gather(1, torch.tensor([[0], [1]]))
x.transpose(0, 1).permute((1, 0))
x.repeat(2, 2)
x.repeat((2, 2))
x.split(2, dim=0)
x.split([1, 1])
torch.meshgrid(x[0], x[1], indexing="ij")
x.requires_grad_().retain_grad()
x.register_hook(lambda g: g * 2)
x.detach().cpu().numpy()
x.to(torch.device("cpu"))
x.type(torch.float64)
x.double().long().bool().int()
y: nn.Parameter = nn.Parameter(torch.ones(2))
y.data = torch.zeros(2)
y.grad = None
nn.Embedding(10, 3)
nn.LayerNorm(3)
nn.LayerNorm([2, 3])
nn.Conv2d(1, 2, (3, 3), dilation=2, padding="same")
nn.Dropout(0.5)
nn.MaxPool2d(2)
nn.GELU(approximate="tanh")
nn.BatchNorm1d(3, affine=False)
nn.AdaptiveAvgPool2d((1, 1))
nn.CrossEntropyLoss(weight=torch.ones(3), ignore_index=-1)
nn.Softmax(dim=-1)
m.apply(lambda k: None).to("cpu").eval().train().requires_grad_(False)
sum(p.numel() for p in m.parameters())
m.load_state_dict(m.state_dict())
torch.allclose(x, x, atol=1e-6)
torch.equal(x, x)
bool(x.sum() > 0)
int(x.sum())
float(x.mean().detach())
abs(x)
len(x)
x[0, 0] in x
hash(x)
torch.where(x > 0, 1.0, x)
torch.maximum(x, x)
torch.bmm(x[None], x.T[None])
torch.einsum("ij->i", x)
torch.addmm(x[0, :2], x, x.T)
torch.outer(x[0], x[0])
torch.topk(x, 2).indices
torch.unique(x, return_counts=True)
torch.tensordot(x, x, dims=([0], [0]))
torch.linspace(start=0, end=1, steps=3)
x.masked_fill(x > 0, float("-inf"))
torch.cumsum(x, 0)
x.roll(1, 0)
x.flip(0)
x.flip([0, 1])
x.tril()
torch.tril(torch.ones(3, 3), diagonal=-1)
torch.bernoulli(x)
torch.multinomial(torch.ones(3), 2)
torch.normal(0.0, 1.0, (2,))
torch.randn(2, generator=torch.Generator())
torch.rand_like(x)
torch.lerp(x, x, 0.5)
torch.pow(x, 2)
torch.pow(2, x)
x.pow(0.5)
x.div(2, rounding_mode="floor")
x.add(x, alpha=2)
x.detach().fill_(0).normal_(0, 1).uniform_(-1, 1).copy_(x)
nn.init.normal_(y, 0, 0.02)
nn.init.xavier_uniform_(x, gain=2)
nn.utils.clip_grad_norm_(m.parameters(), 1.0)
nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
nn.functional.layer_norm(x, (3,))
nn.functional.dropout(x, 0.1, training=True)


# ---------------------------------------------------------------- files, batches, arrays, compiled functions
class Pairs(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return torch.ones(2), index


class Named(Dataset[dict[str, Tensor]]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"x": torch.ones(2)}


for pair in DataLoader(Pairs(), batch_size=2, in_order=True):
    assert_type(pair, list[Tensor])
for sample in DataLoader(Pairs(), batch_size=None):
    assert_type(sample, tuple[Tensor, int])
for named in DataLoader(Named(), batch_size=2):
    assert_type(named, dict[str, Tensor])
for words in DataLoader(["a", "b"]):
    assert_type(words, list[str])
for size in DataLoader([1, 2, 3], batch_size=2, collate_fn=len):
    assert_type(size, int)

file = io.BytesIO()
assert_type(torch.save(net.state_dict(), file), None)
file.seek(0)
assert_type(torch.load(file), Any)
assert_type(torch.ones(2).numpy(), np.typing.NDArray[Any])
assert_type(torch.compile(m), M)
assert_type(torch.compile(net, backend="eager"), nn.Sequential)
assert_type(torch.compile(closure)(), Tensor)
assert_type(torch.is_autocast_enabled("cpu"), bool)
assert_type(torch.can_cast(torch.int64, torch.float32), bool)
assert_type(x._version, int)

lstm = nn.LSTM(2, 3)
out, (hidden, cell) = lstm(torch.ones(4, 1, 2))
assert_type(cell, Tensor)
packed, _ = lstm(rnn.pack_sequence([torch.ones(3, 2), torch.ones(2, 2)]))
assert_type(packed, rnn.PackedSequence)
padded, lengths = rnn.pad_packed_sequence(packed)
assert_type(padded, Tensor)

grads = []
out.register_hook(lambda grad: grads.append(grad))
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    checkpoint(net, torch.ones(1, 2, requires_grad=True), use_reentrant=False)
torch.testing.assert_close(x, x)
viz.strides(x)


def weighted(w: Tensor, x: Tensor) -> Tensor:
    return (w * x).sin().sum()


w, tangent = torch.ones(2), torch.ones(2)
assert_type(torch.vmap(weighted, in_dims=(None, 0))(w, torch.ones(3, 2)), Tensor)
assert_type(func.vmap(func.grad(weighted), in_dims=(None, 0))(w, torch.ones(3, 2)), Any)
assert_type(func.grad_and_value(weighted)(w, w), tuple[Any, Tensor])
assert_type(func.jvp(weighted, (w, w), (tangent, tangent)), tuple[Tensor, Tensor])
value, pull = func.vjp(weighted, w, w)
assert_type(value, Tensor)
assert_type(func.hessian(weighted, argnums=(0, 1))(w, w), Any)
assert_type(func.stack_module_state([nn.Linear(2, 1), nn.Linear(2, 1)])[0], dict[str, Tensor])
assert_type(func.functional_call(nn.Linear(2, 1), {"bias": torch.ones(1)}, torch.ones(2)), Any)
with forward_ad.dual_level() as level:
    assert_type(level, int)
    dual = forward_ad.make_dual(w, tangent)
    assert_type(forward_ad.unpack_dual(dual * 2).tangent, Tensor | None)
