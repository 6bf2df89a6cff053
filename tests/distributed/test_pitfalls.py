"""What users of several ranks fall into: each ends in an error or a warning that says what to do."""

import pytest

import tensorlab as tl
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.nn.parallel import DistributedDataParallel as DDP
from tensorlab.utils.data import DistributedSampler
from tests.distributed.warned import spawn_and_hear


def test_uneven_batches_without_join_end_with_the_rank_that_left():
    def program(rank):
        ddp = DDP(nn.Linear(1, 1))
        for _ in range(1 + rank):
            ddp(tl.ones(1, 1)).sum().backward()

    with pytest.raises(dist.threads.RankFailed, match=r"rank 0 is gone \(it has returned\)"):
        dist.threads.spawn(program, nprocs=2)


def test_a_parameter_unused_on_one_rank_is_named_there():
    def program(rank):
        model = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.Linear(1, 1)})

        class Branch(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = model

            def forward(self, x):
                return model["a"](x) + (model["b"](x) if rank == 0 else 0)

        ddp = DDP(Branch())
        ddp(tl.ones(1, 1)).sum().backward()
        ddp(tl.ones(1, 1))

    with pytest.raises(dist.threads.RankFailed, match=r"No gradient came for parts.b.weight"):
        dist.threads.spawn(program, nprocs=2)


def test_averaging_twice_is_warned_of():
    def program(rank, again):
        ddp = DDP(nn.Linear(2, 1))
        for _ in range(2):
            ddp(tl.ones(1, 2)).sum().backward()
            if again:
                for p in ddp.parameters():
                    dist.all_reduce(p.grad)
        dist.all_reduce(ddp.module.weight.grad.norm())  # something else
        ddp.module.weight.grad.mul_(2)
        dist.all_reduce(ddp.module.weight.grad)  # no longer the average

    assert spawn_and_hear(program, (False,))[1] == []
    texts = spawn_and_hear(program, (True,))[1]
    assert len(texts) == 4  # one a rank and pass
    assert all("averaged by DistributedDataParallel already" in text for text in texts)


def test_calling_the_inner_module_is_warned_of():
    def program(rank, is_inner):
        ddp = DDP(nn.Linear(2, 1))
        for _ in range(2):  # once is enough
            (ddp.module if is_inner else ddp)(tl.ones(1, 2)).sum().backward()
        with ddp.no_sync():
            ddp(tl.ones(1, 2)).sum().backward()
        with tl.no_grad():
            ddp.module(tl.ones(1, 2))

    assert spawn_and_hear(program, (False,))[1] == []
    texts = spawn_and_hear(program, (True,))[1]
    assert len(texts) == 2
    assert all("Call model(x), not model.module(x)" in text for text in texts)


@pytest.mark.parametrize("kind, differs, warns", [
    (nn.Dropout, False, True), (nn.Dropout, True, False), (nn.ReLU, False, False),
])  # fmt: skip
def test_equal_seeds_on_all_ranks_are_warned_of_where_something_is_drawn(kind, differs, warns):
    def program(rank):
        tl.manual_seed(3)
        ddp = DDP(nn.Sequential(nn.Linear(2, 2), kind()))
        if differs:
            tl.manual_seed(3 + rank)
        for _ in range(2):
            ddp(tl.ones(1, 2)).sum().backward()

    texts = spawn_and_hear(program)[1]
    assert [text for text in texts if "draw the same random numbers" not in text] == []
    assert len(texts) == (2 if warns else 0)


def test_a_forgotten_set_epoch_is_warned_of():
    sampler = DistributedSampler(range(8), num_replicas=2, rank=0)
    first = list(sampler)
    with pytest.warns(UserWarning, match="set_epoch"):
        assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first
    plain = DistributedSampler(range(8), num_replicas=2, rank=0, shuffle=False)
    assert list(plain) == list(plain)


def test_samples_that_fill_up_are_counted_twice_unless_they_are_dropped():
    def counted(drop):
        samplers = [DistributedSampler(range(5), 2, rank, False, drop_last=drop) for rank in (0, 1)]
        return sorted(i for sampler in samplers for i in sampler)

    assert counted(False) == [0, 0, 1, 2, 3, 4]
    assert counted(True) == [0, 1, 2, 3]


def test_a_file_that_rank_0_writes_is_there_after_a_barrier(tmp_path):
    def program(rank):
        if rank == 0:
            tl.save({"w": tl.ones(2)}, tmp_path / "model.pt")
        dist.barrier()
        return tl.load(tmp_path / "model.pt")["w"].tolist()

    assert dist.threads.spawn(program, nprocs=3) == [[1.0, 1.0]] * 3


def test_a_collective_on_rank_0_alone_names_the_ranks_that_did_not_come():
    def program(rank):
        if rank == 0:
            every = [None] * 2
            dist.all_gather_object(every, "state")  # as a full state dict does inside

    with pytest.raises(dist.threads.RankFailed, match=r"rank 1 is gone \(it has returned\)"):
        dist.threads.spawn(program, nprocs=2)


def test_a_branch_that_differs_by_rank_shows_both_calls():
    def program(rank):
        loss = tl.ones(1)
        if rank == 0:
            dist.all_reduce(loss)  # to print it
        dist.broadcast(tl.ones(3), src=0)

    with pytest.raises(dist.threads.RankFailed, match="a branch that differs by rank") as caught:
        dist.threads.spawn(program, nprocs=2)
    text = str(caught.value)
    assert "rank 0: all_reduce(SUM) of float32 [1]" in text
    assert "rank 1: broadcast of float32 [3] from rank 0" in text
