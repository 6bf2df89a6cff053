"""Optimizers that are spread over ranks, and models that are averaged now and then."""

import pytest

import tensorlab as tl
from tensorlab import distributed as dist
from tensorlab import nn, optim
from tensorlab.distributed.algorithms.join import Join
from tensorlab.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from tensorlab.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from tensorlab.nn.parallel import DistributedDataParallel as DDP


def train(rank, make, steps=3):
    tl.manual_seed(0)
    ddp = DDP(nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)))
    optimizer = make(ddp)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for number in range(steps):
        optimizer.zero_grad()
        x = tl.randn(4, 5, generator=tl.Generator().manual_seed(10 * number + rank))
        ddp(x).pow(2).sum().backward()
        optimizer.step()
        scheduler.step()
    return ddp, optimizer


@pytest.mark.parametrize("kind", [optim.Adam, optim.SGD, optim.AdamW])
def test_shared_state_gives_the_weights_of_the_plain_optimizer(kind):
    options = {"lr": 0.1} | ({"momentum": 0.9} if kind is optim.SGD else {})

    def plain(rank):
        ddp, _ = train(rank, lambda ddp: kind(ddp.parameters(), **options))
        return [p.detach() for p in ddp.parameters()]

    def shared(rank):
        ddp, optimizer = train(
            rank, lambda ddp: ZeroRedundancyOptimizer(ddp.parameters(), kind, **options)
        )
        return [p.detach() for p in ddp.parameters()], len(optimizer.optim.state)

    expected = dist.threads.spawn(plain, nprocs=2)[0]
    results = dist.threads.spawn(shared, nprocs=2)
    for weights, _ in results:
        assert all(tl.equal(a, b) for a, b in zip(weights, expected, strict=True))
    assert sum(count for _, count in results) == 4
    assert all(count for _, count in results)


def test_the_state_comes_together_and_can_be_loaded_by_another_number_of_ranks():
    def save(rank):
        ddp, optimizer = train(
            rank, lambda ddp: ZeroRedundancyOptimizer(ddp.parameters(), optim.Adam, lr=0.1)
        )
        with pytest.raises(RuntimeError, match="has not been consolidated"):
            optimizer.state_dict()
        optimizer.consolidate_state_dict(to=1)
        return optimizer.state_dict() if rank == 1 else None

    state = dist.threads.spawn(save, nprocs=3)[1]
    assert sorted(state["state"]) == [0, 1, 2, 3]

    def load(rank):
        model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
        optimizer = ZeroRedundancyOptimizer(model.parameters(), optim.Adam, lr=9.0)
        optimizer.load_state_dict(state)
        assert optimizer.param_groups[0]["lr"] == state["param_groups"][0]["lr"]
        optimizer.consolidate_state_dict()
        return optimizer.state_dict() if rank == 0 else None

    again = dist.threads.spawn(load, nprocs=2)[0]
    for number, kept in state["state"].items():
        assert tl.equal(again["state"][number]["exp_avg"], kept["exp_avg"])


def test_a_rank_that_has_joined_still_sends_what_it_owns():
    def program(rank):
        tl.manual_seed(0)
        ddp = DDP(nn.Linear(3, 3))
        optimizer = ZeroRedundancyOptimizer(ddp.parameters(), optim.SGD, lr=0.1)
        with Join([ddp, optimizer]):
            for _ in range(1 + rank):
                optimizer.zero_grad()
                ddp(tl.ones(1, 3)).sum().backward()
                optimizer.step()
        return [p.detach() for p in ddp.parameters()]

    first, second = dist.threads.spawn(program, nprocs=2)
    assert all(tl.equal(a, b) for a, b in zip(first, second, strict=True))


def test_overlap_is_refused():
    def program(rank):
        with pytest.raises(NotImplementedError, match="overlap_with_ddp"):
            ZeroRedundancyOptimizer(nn.Linear(1, 1).parameters(), optim.SGD, overlap_with_ddp=True)

    dist.threads.spawn(program, nprocs=1)


def test_models_are_averaged_every_so_many_steps():
    def program(rank):
        weight = nn.Parameter(tl.full((1,), float(rank)))
        averager = PeriodicModelAverager(period=2, warmup_steps=1)
        optimizer = PostLocalSGDOptimizer(optim.SGD([weight], lr=1.0), averager)
        seen = []
        for _ in range(4):
            optimizer.zero_grad()
            weight.grad = tl.tensor([1.0])
            optimizer.step()
            seen.append(weight.item())
        state = optimizer.state_dict()
        assert state["step"] == 4
        optimizer.load_state_dict(state)
        return seen

    assert dist.threads.spawn(program, nprocs=2) == [
        [-1.0, -1.5, -2.5, -3.5],
        [0.0, -1.5, -2.5, -3.5],
    ]


@pytest.mark.parametrize(
    "options, text", [({"period": 0}, "period"), ({"period": 1, "warmup_steps": -1}, "warmup")]
)
def test_an_averager_needs_sensible_numbers(options, text):
    def program(rank):
        with pytest.raises(ValueError, match=text):
            PeriodicModelAverager(**options)

    dist.threads.spawn(program, nprocs=1)


def test_models_are_averaged_within_a_group_in_every_step():
    def program(rank):
        pair, _ = dist.new_subgroups(2)
        weight = nn.Parameter(tl.full((1,), float(rank)))
        weight.grad = tl.zeros(1)
        averager = PeriodicModelAverager(period=1, process_group=pair)
        seen = []
        for _ in range(2):
            averager.average_parameters([weight])
            seen.append(weight.item())
            with tl.no_grad():
                weight += rank
        return seen

    assert dist.threads.spawn(program, nprocs=4) == [[0.5, 1.0]] * 2 + [[2.5, 5.0]] * 2


def test_a_local_optimizer_is_saved_and_extended_through_its_wrapper():
    def program(rank):
        weight, later = nn.Parameter(tl.ones(1)), nn.Parameter(tl.ones(1))

        def wrapped():
            inner = optim.SGD([weight], lr=1.0, momentum=0.5)
            return PostLocalSGDOptimizer(inner, PeriodicModelAverager(period=5))

        first, second = wrapped(), wrapped()
        weight.grad = tl.tensor([2.0])
        first.step()
        first.zero_grad()
        assert weight.grad is None
        second.load_state_dict(first.state_dict())
        assert second.state[weight]["momentum_buffer"].item() == 2.0
        assert second.averager.step == 1
        second.load_state_dict(first.optim.state_dict())  # of an optimizer without a wrapper
        assert second.averager.step == 0
        second.add_param_group({"params": [later], "lr": 0.1})
        assert [group["lr"] for group in second.optim.param_groups] == [1.0, 0.1]
        assert "SGD" in repr(second)

    dist.threads.spawn(program, nprocs=2)


def test_parameters_that_come_later_leave_the_state_of_the_others():
    def program(rank):
        first, later = nn.Parameter(tl.ones(4)), nn.Parameter(tl.ones(2))
        optimizer = ZeroRedundancyOptimizer([first], optim.Adam, lr=0.1)
        first.grad = tl.ones(4)
        optimizer.step()
        optimizer.add_param_group({"params": [later], "lr": 0.5})
        first.grad, later.grad = tl.ones(4), tl.ones(2)
        optimizer.step()
        own = {id(p): int(state["step"]) for p, state in optimizer.optim.state.items()}
        return own.get(id(first)), own.get(id(later)), later[0].item()

    (one, none, value), (nothing, other, same) = dist.threads.spawn(program, nprocs=2)
    assert (one, none, nothing, other) == (2, None, None, 1)
    assert value == same == pytest.approx(0.5)


def test_an_optimizer_alone_may_have_uneven_steps():
    def program(rank):
        weights = [nn.Parameter(tl.ones(3)), nn.Parameter(tl.ones(3))]
        optimizer = ZeroRedundancyOptimizer(weights, optim.SGD, lr=0.1)
        with Join([optimizer]):
            for _ in range(1 + rank):
                for weight in weights:
                    weight.grad = tl.ones(3)
                optimizer.step()
        return [weight[0].item() for weight in weights]

    first, second = dist.threads.spawn(program, nprocs=2)
    assert first == second
