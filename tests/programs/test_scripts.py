"""Whole scripts with what such scripts import at their top, and use on other machines only: the same losses.

In each, `torch` is the name of the package that runs it.
"""

import contextlib
import io
import warnings

import pytest

import tensorlab
from tests.oracle import require_torch

LANGUAGE_MODEL = """
import os
from contextlib import nullcontext

import torch
import torch.nn as nn
from torch.distributed import destroy_process_group, init_process_group
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    init_process_group(backend="nccl")
    device = f"cuda:{os.environ['LOCAL_RANK']}"
else:
    device = "cuda" if torch.cuda.is_available() else "cpu"
dtype = "bfloat16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "float16"
torch.manual_seed(1337)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
context = (
    nullcontext() if device == "cpu" else torch.amp.autocast(device_type=device, dtype=torch.float16)
)
scaler = torch.cuda.amp.GradScaler(enabled=(device != "cpu" and dtype == "float16"))


class Bigram(nn.Module):
    def __init__(self):
        super().__init__()
        self.flash = hasattr(F, "scaled_dot_product_attention")
        self.embed = nn.Embedding(11, 16)
        self.head = nn.Linear(16, 11, bias=False)

    def forward(self, x, y):
        h = self.embed(x)
        h = h + F.scaled_dot_product_attention(h, h, h, is_causal=True)
        return F.cross_entropy(self.head(h).view(-1, 11), y.view(-1), ignore_index=-1)


model = Bigram().to(device)
fused = {"fused": True} if "cuda" in device else {}
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-2, betas=(0.9, 0.95), **fused)
if ddp:
    model = DDP(model, device_ids=[0])
raw_model = model.module if isinstance(model, DDP) else model
text = torch.arange(400) * 7 % 11
for it in range(8):
    for micro_step in range(2):
        if ddp:
            model.require_backward_grad_sync = micro_step == 1
        ix = torch.randint(len(text) - 9, (4,))
        x = torch.stack([text[i : i + 8] for i in ix])
        y = torch.stack([text[i + 1 : i + 9] for i in ix])
        with context:
            loss = model(x, y) / 2
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    print(f"{2 * loss.item():.4f}")
if ddp:
    destroy_process_group()
"""

PICTURES = """
import torch
import torch.backends.cudnn as cudnn
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.parallel
import torch.optim
import torch.profiler
import torch.utils.data
import torch.utils.data.distributed
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import Subset

cudnn.benchmark = True
torch.manual_seed(3)


def is_main():
    return not (dist.is_available() and dist.is_initialized()) or dist.get_rank() == 0


def world_size():
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def reduced(x, op=dist.ReduceOp.SUM, group: "dist.ProcessGroup | None" = None):
    if world_size() > 1:
        dist.all_reduce(x, op=op, group=group)
    return x


model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
if world_size() > 1:
    model = torch.nn.parallel.DistributedDataParallel(model)
elif torch.cuda.is_available():
    model = torch.nn.DataParallel(model).cuda()
assert not isinstance(model, FSDP)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
scheduler = StepLR(optimizer, step_size=1, gamma=0.5)
x = torch.rand(24, 1, 6, 6)
data = torch.utils.data.TensorDataset(x, (x.mean((1, 2, 3)) * 30).long() % 3)
sampler = torch.utils.data.distributed.DistributedSampler(data) if world_size() > 1 else None
loader = torch.utils.data.DataLoader(data, 8, shuffle=(sampler is None), sampler=sampler)
for epoch in range(3):
    if sampler is not None:
        sampler.set_epoch(epoch)
    total = torch.zeros(())
    for images, target in loader:
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    scheduler.step()
    if is_main():
        print(f"{reduced(total).item():.4f}")
"""

MARKED = """
import torch
import torch.distributions
import torch.fft
import torch.func
import torch.library
import torch.linalg
import torch.nn as nn
import torch.onnx
import torch.sparse
from torch import masked, nested
from torch.ao.quantization import DeQuantStub, QuantStub
from torch.cuda.amp import autocast
from torch.distributions import Categorical, Normal
from torch.export import Dim

torch.manual_seed(7)


class Block(nn.Module):
    __constants__ = ["scale"]
    scale: torch.jit.Final[float]

    def __init__(self):
        super().__init__()
        self.scale = 0.5
        self.linear = nn.Linear(3, 3)

    @torch.jit.unused
    def note(self, x):
        return x.mean()

    @torch.jit.export
    def weights(self):
        return self.linear.weight

    @autocast()
    def forward(self, x):
        if torch.jit.is_scripting() or torch.jit.is_tracing() or torch.onnx.is_in_onnx_export():
            return self.linear(x)
        x = self.linear(x) * self.scale
        return x + self.note(x)


@torch.jit.ignore
def loss_of(x, distribution: "Categorical | None" = None):
    return x.square().mean() if not isinstance(x, (Categorical, QuantStub)) else None


model = Block()
optimizer = torch.optim.Adam(model.parameters(), 0.05)
for step in range(5):
    with autocast(enabled=False):
        loss = loss_of(model(torch.arange(6.0).view(2, 3)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
"""

SCRIPTS = {"language model": LANGUAGE_MODEL, "pictures": PICTURES, "marked": MARKED}


def printed(package, script):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(script.replace("torch", package.__name__), {"__name__": "script"})
    return [float(line) for line in out.getvalue().split()]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_prints_pytorchs_losses(script):
    torch = require_torch()
    before = {T: T.backends.cudnn.benchmark for T in (tensorlab, torch)}
    tf32 = {T: T.backends.cuda.matmul.allow_tf32 for T in (tensorlab, torch)}
    try:
        ours, theirs = printed(tensorlab, SCRIPTS[script]), printed(torch, SCRIPTS[script])
    finally:
        for T in (tensorlab, torch):
            T.backends.cudnn.benchmark = before[T]
            T.backends.cuda.matmul.allow_tf32 = tf32[T]
    assert ours == pytest.approx(theirs, abs=2e-4)
    assert len(ours) >= 3
    assert ours[-1] < ours[0]
