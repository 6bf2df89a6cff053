"""Layers of networks whose parameters are shared out, and batches that are cut as DTensors."""

import warnings

import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.distributed.fsdp import fully_shard
from tensorlab.distributed.tensor import (
    Shard,
    dispatching,
    distribute_module,
    distribute_tensor,
)
from tests.distributed.networks import whole

F = nn.functional


def encoder():
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).double()
    return model, list(model.layers), torch.randn(4, 5, 16).double()


def convolutions():
    model = nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)),
    ).double()
    return model, [model[4]], torch.randn(4, 3, 8, 8).double()


def recurrent():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.out = nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 3)

        def forward(self, x):
            return self.out(self.layer(x)[0][:, -1])

    model = Last().double()
    return model, [model.layer], torch.randn(4, 5, 4).double()


def make(network):
    torch.manual_seed(0)
    return network()


@pytest.mark.parametrize("network", [encoder, convolutions, recurrent])
def test_parameters_that_are_shared_out(network):
    def run(rank):
        model, parts, x = make(network)
        for part in parts:
            fully_shard(part)
        fully_shard(model)
        model(x.chunk(2)[rank]).square().mean().backward()
        return {name: whole(one.grad) for name, one in model.named_parameters()}

    check(network, run)


@pytest.mark.parametrize("network", [encoder, convolutions])
def test_batches_that_are_cut(network):
    def run(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        model, _, x = make(network)
        distribute_module(model, mesh)
        model(distribute_tensor(x, mesh, [Shard(0)])).square().mean().backward()
        return {name: whole(one.grad) for name, one in model.named_parameters()}

    check(network, run)


def check(network, run):
    """Compare the gradients of two ranks with those of one process; no op may have to gather."""
    model, _, x = make(network)
    model(x).square().mean().backward()
    dispatching.TOLD.clear()
    dispatching.PLANS.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = dist.threads.spawn(run, nprocs=2, timeout=20)
    for found in results:
        for name, one in model.named_parameters():
            assert (found[name] - one.grad).abs().max() < 1e-12, name
