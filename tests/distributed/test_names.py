"""Smaller names of the distributed packages: what they do, and what they refuse."""

import pytest

import tensorlab as tl
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.distributed import _functional_collectives, checkpoint, debugging
from tensorlab.distributed.algorithms import Joinable, JoinHook
from tensorlab.distributed.algorithms.ddp_comm_hooks import (
    DDPCommHookType,
    register_ddp_comm_hook,
)
from tensorlab.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
    PostLocalSGDState,
    post_localSGD_hook,
)
from tensorlab.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from tensorlab.distributed.checkpoint.stateful import Stateful
from tensorlab.distributed.pipelining.schedules import get_schedule_class
from tensorlab.nn.parallel import DistributedDataParallel as DDP
from tests.oracle import require_torch


def gradient(rank, register):
    """Return the gradient of a rank after four passes, in which its inputs are its rank + 1."""
    tl.manual_seed(0)
    ddp = DDP(nn.Linear(1, 1, bias=False))
    register(ddp)
    for _ in range(4):
        ddp.zero_grad()
        ddp(tl.full((1, 1), rank + 1.0)).sum().backward()
    return ddp.module.weight.grad.item()


@pytest.mark.parametrize("kind", DDPCommHookType, ids=lambda kind: kind.name)
def test_hooks_have_names(kind):
    def program(rank):
        return gradient(rank, lambda ddp: register_ddp_comm_hook(kind, ddp))

    expected = [1.0, 2.0] if kind.name == "NOOP" else [1.5, 1.5]
    assert dist.threads.spawn(program, nprocs=2) == expected


def test_the_names_of_hooks_are_those_of_pytorch():
    require_torch()
    from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType as Theirs

    missing = set(Theirs.__members__) - set(DDPCommHookType.__members__)
    assert missing <= {"QUANTIZE_PER_TENSOR", "QUANTIZE_PER_CHANNEL"}


def test_a_hook_that_is_no_name_is_refused():
    with pytest.raises(TypeError, match="expected a DDPCommHookType"):
        register_ddp_comm_hook("allreduce", nn.Linear(1, 1))


@pytest.mark.parametrize(
    "averages, expected", [(True, [1.5, 1.5, 3.5, 3.5]), (False, [1.0, 2.0, 3.0, 4.0])]
)
def test_a_group_averages_alone_after_some_passes(averages, expected):
    def program(rank):
        pair, _ = dist.new_subgroups(2)
        state = PostLocalSGDState(None, pair, 2, averages)
        return gradient(rank, lambda ddp: ddp.register_comm_hook(state, post_localSGD_hook))

    assert dist.threads.spawn(program, nprocs=4) == expected


def test_a_bucket_shows_what_it_holds_and_takes_a_buffer_of_its_size():
    seen = []

    def hook(state, bucket):
        assert isinstance(bucket, dist.GradBucket)
        seen.append((bucket.index(), bucket.is_last(), [p.shape for p in bucket.parameters()]))
        assert [g.shape for g in bucket.gradients()] == [p.shape for p in bucket.parameters()]
        with pytest.raises(ValueError, match="the bucket has 3"):
            bucket.set_buffer(tl.zeros(2))
        future = tl.futures.Future()
        future.set_result(bucket.buffer() * 2)
        return future

    def program(rank):
        ddp = DDP(nn.Linear(2, 1))
        ddp.register_comm_hook(None, hook)
        ddp(tl.ones(1, 2)).sum().backward()
        return [p.grad.tolist() for p in ddp.parameters()]

    assert dist.threads.spawn(program, nprocs=1) == [[[[2.0, 2.0]], [2.0]]]
    assert seen == [(0, True, [(1,), (1, 2)])]


def test_a_checkpoint_of_many_files_becomes_one_and_back(tmp_path):
    state = {"model": {"w": tl.arange(6.0).reshape(2, 3)}, "steps": [{"n": 1}, {"n": 2}], "lr": 0.1}
    checkpoint.save(state, checkpoint_id=tmp_path / "many")
    dcp_to_torch_save(tmp_path / "many", tmp_path / "one.pt")
    whole = tl.load(tmp_path / "one.pt")
    assert tl.equal(whole["model"]["w"], state["model"]["w"])
    assert (whole["steps"], whole["lr"]) == (state["steps"], 0.1)
    torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "again")
    contents = checkpoint.FileSystemReader(tmp_path / "again").read_metadata()
    entry = contents.state_dict_metadata["model.w"]
    assert isinstance(entry, checkpoint.TensorStorageMetadata)
    assert isinstance(entry.chunks[0], checkpoint.ChunkStorageMetadata)
    assert isinstance(contents.state_dict_metadata["lr"], checkpoint.BytesStorageMetadata)
    with pytest.raises(RuntimeError, match="holds no checkpoint"):
        dcp_to_torch_save(tmp_path / "nowhere", tmp_path / "two.pt")


def test_what_has_a_state_is_known_by_its_methods():
    assert isinstance(nn.Linear(1, 1), Stateful)
    assert not isinstance(tl.ones(1), Stateful)


def test_schedules_are_found_by_name():
    assert get_schedule_class("1f1B").__name__ == "Schedule1F1B"
    with pytest.raises(ValueError, match="The valid options are 1F1B, GPipe"):
        get_schedule_class("zigzag")


def test_a_joinable_must_say_how_it_joins():
    one = Joinable()
    for ask in (one.join_hook, lambda: one.join_device, lambda: one.join_process_group):
        with pytest.raises(NotImplementedError, match="a Joinable defines it"):
            ask()
    hook = JoinHook()
    assert hook.main_hook() is None
    assert hook.post_hook(True) is None


def test_the_local_rank_is_the_launchers(monkeypatch):
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    assert dist.get_node_local_rank(fallback_rank=4) == 4
    with pytest.raises(RuntimeError, match="LOCAL_RANK is not in the environment"):
        dist.get_node_local_rank()
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert dist.get_node_local_rank() == 2


def test_the_debug_level_is_set_or_in_the_environment(monkeypatch):
    monkeypatch.setattr(debugging, "chosen", [None])
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "detail")
    assert dist.get_debug_level() == dist.DebugLevel.DETAIL
    dist.set_debug_level(dist.DebugLevel.INFO)
    assert dist.get_debug_level() == dist.DebugLevel.INFO
    dist.set_debug_level_from_env()
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "loud")
    with pytest.raises(RuntimeError, match="expected OFF, INFO or DETAIL"):
        dist.get_debug_level()
    with pytest.raises(TypeError, match="expected a DebugLevel"):
        dist.set_debug_level("DETAIL")


def test_parts_are_exchanged_with_a_gradient():
    def program(rank):
        x = tl.tensor([1.0, 2.0], requires_grad=True)
        y = _functional_collectives.all_to_all_single_autograd(x, None, None, None)
        (y * (rank + 1)).sum().backward()
        return y.tolist(), x.grad.tolist()

    assert dist.threads.spawn(program, nprocs=2) == [
        ([1.0, 1.0], [1.0, 2.0]),
        ([2.0, 2.0], [1.0, 2.0]),
    ]


def test_backends_of_accelerators_are_not_here():
    assert not any([dist.is_nccl_available(), dist.is_ucc_available(), dist.is_xccl_available()])
