"""Sharded and tensor-parallel training of ranks that are processes, and checkpoints between layouts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tests.distributed import networks, plans
from tests.distributed.networks import whole

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import tensorlab as torch
from tensorlab import distributed as dist
from tests.distributed import networks, plans

dist.init_process_group("mpi")
rank, ranks = dist.get_rank(), dist.get_world_size()
for case in networks.CASES:
    expected = networks.alone(case, clip=0.1)
    model, x, loss_of = networks.CASES[case]()
    plans.shard(model)
    found = networks.train(model, x.chunk(ranks)[rank], loss_of, clip=0.1)
    networks.assert_same(found, expected, losses=False)
    model, x, loss_of = networks.CASES[case]()
    place = plans.data_and_tensor(model, case, 1, ranks)
    networks.assert_same(networks.train(model, x, loss_of, clip=0.1), expected)
dist.destroy_process_group()
print("the same")
"""


def test_weights_are_those_of_one_process(tmp_path):
    pytest.importorskip("mpi4py")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "tensorlab.distributed.run", "--nproc-per-node", "2"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, str(program)], env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("the same") == 2


def test_a_checkpoint_of_four_ranks_and_two_kinds_of_parallel_is_read_by_two_and_by_one(tmp_path):
    checkpoint = dist.checkpoint

    def write(rank):
        model, x, loss_of = networks.gpt_case()
        place = plans.data_and_tensor(model, "gpt", 2, 2)
        networks.train(model, x.chunk(2)[place], loss_of, steps=1)
        checkpoint.save({"model": model.state_dict()}, checkpoint_id=tmp_path / "state")
        return {name: whole(one.detach()) for name, one in model.named_parameters()}

    def read(rank):
        model = plans.shard(networks.GPT().double())
        state = {"model": model.state_dict()}
        checkpoint.load(state, checkpoint_id=tmp_path / "state")
        model.load_state_dict(state["model"])
        return {name: whole(one.detach()) for name, one in model.named_parameters()}

    expected = dist.threads.spawn(write, nprocs=4, timeout=30)[0]
    for ranks in (1, 2):
        for found in dist.threads.spawn(read, nprocs=ranks, timeout=30):
            assert all(torch.equal(found[name], one) for name, one in expected.items())


def test_state_dicts_by_names_are_whole_or_parts():
    from tensorlab.distributed.checkpoint.state_dict import (
        StateDictOptions,
        get_model_state_dict,
        get_state_dict,
        set_model_state_dict,
        set_state_dict,
    )

    def run(rank):
        model, x, loss_of = networks.mlp_case()
        plans.shard(model)
        optimizer = torch.optim.AdamW(model.parameters())
        loss_of(model(x), x).backward()
        optimizer.step()
        options = StateDictOptions(full_state_dict=True)
        weights, state = get_state_dict(model, optimizer, options=options)
        assert tuple(weights["down.weight"].shape) == (3, 12)
        assert not hasattr(weights["down.weight"], "placements")
        assert hasattr(get_model_state_dict(model)["up.bias"], "placements")
        other = plans.shard(networks.MLP().double())
        another = torch.optim.AdamW(other.parameters())
        set_state_dict(other, another, model_state_dict=weights, optim_state_dict=state)
        for one, the_optimizer in ((model, optimizer), (other, another)):
            the_optimizer.zero_grad()
            loss_of(one(x), x).backward()
            the_optimizer.step()
        third = plans.shard(networks.MLP().double())
        sent = get_model_state_dict(model, options=options)
        shared = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(third, sent if rank == 0 else {}, options=shared)
        return [
            torch.equal(whole(one.detach()), whole(a.detach()))
            and torch.equal(whole(one.detach()), whole(b.detach()))
            for one, a, b in zip(
                model.parameters(), other.parameters(), third.parameters(), strict=True
            )
        ]

    assert dist.threads.spawn(run, nprocs=2, timeout=30) == [[True] * 4] * 2
