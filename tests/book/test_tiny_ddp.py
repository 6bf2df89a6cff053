"""Chapter 53: its dozen lines of data parallel training give the weights of one process."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T
from tensorlab import distributed as dist
from tensorlab import nn

FOLDER = Path(__file__).resolve().parents[2] / "chapters/53-data-parallel"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_ddp", FOLDER / "tiny_ddp.py")
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_weights_are_those_of_one_process(ranks):
    x = T.randn(8, 3, generator=T.Generator().manual_seed(0))

    def program(rank, wrap):
        T.manual_seed(rank)  # rank 0's weights are what counts
        model = wrap(nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)))
        optimizer = T.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(x.chunk(dist.get_world_size())[rank]).pow(2).mean().backward()
            optimizer.step()
        return T.cat([p.detach().flatten() for p in model.parameters()])

    alone = dist.threads.spawn(program, (lambda model: model,), 1)[0]
    for weights in dist.threads.spawn(program, (tiny.TinyDDP,), ranks):
        assert T.allclose(weights, alone, atol=1e-6)
