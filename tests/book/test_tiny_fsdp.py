"""Chapter 54: its forty lines of sharded training give the weights of one process."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T
from tensorlab import distributed as dist
from tensorlab import nn

FOLDER = Path(__file__).resolve().parents[2] / "chapters/54-sharding-and-failures"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_fsdp", FOLDER / "tiny_fsdp.py")
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_weights_are_those_of_one_process(ranks):
    x = T.randn(8, 3, generator=T.Generator().manual_seed(0))

    def program(rank, sharded):
        T.manual_seed(0)
        layers = nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)  # 26 numbers: some ranks have padding
        if sharded:
            layers = [tiny.TinyFSDP(one) if len(list(one.parameters())) else one for one in layers]
        model = nn.Sequential(*layers)
        optimizer = T.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(x.chunk(dist.get_world_size())[rank]).pow(2).mean().backward()
            optimizer.step()
        return [p.detach().flatten() for p in model.parameters()]

    weight, bias, last, last_bias = dist.threads.spawn(program, (False,), 1)[0]
    wholes = T.cat([weight, bias]), T.cat([last, last_bias])
    found = dist.threads.spawn(program, (True,), ranks)
    for layer, whole in enumerate(wholes):
        shards = [shards[layer] for shards in found]
        assert {len(one) for one in shards} == {-(-len(whole) // ranks)}
        assert T.allclose(T.cat(shards)[: len(whole)], whole, atol=1e-6)
