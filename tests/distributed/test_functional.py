"""Collectives with a gradient: the derivative of all ranks' losses, by differences."""

import pytest

import tensorlab as tl
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.distributed import _functional_collectives as collectives
from tensorlab.distributed.nn import functional as F

SIZE = 3
PROGRAMS = {
    "all_reduce": lambda x: F.all_reduce(x),
    "average": lambda x: F.all_reduce(x, dist.ReduceOp.AVG),
    "all_gather": lambda x: tl.stack(F.all_gather(x)),
    "broadcast": lambda x: F.broadcast(x, 1),
    "reduce": lambda x: F.reduce(x, 1) * (dist.get_rank() == 1),  # what others get isn't defined
    "gather": lambda x: tl.stack(F.gather(x, 1)),
    "scatter": lambda x: F.scatter([x * (i + 1) for i in range(SIZE)], 1),
    "reduce_scatter": lambda x: F.reduce_scatter(None, [x * (i + 1) for i in range(SIZE)]),
    "all_to_all": lambda x: tl.stack(F.all_to_all([x] * SIZE, [x * (i + 1) for i in range(SIZE)])),
    "all_to_all_single": lambda x: F.all_to_all_single(
        tl.empty(6, dtype=x.dtype), tl.cat([x] * SIZE)
    ),
    "all_gather_tensor": lambda x: collectives.all_gather_tensor_autograd(x, 0, None),
    "reduce_scatter_tensor": lambda x: collectives.reduce_scatter_tensor_autograd(
        tl.cat([x] * SIZE), "sum", 0, None
    ),
}


def losses(inputs, name):
    """Return the sum of the losses of all ranks, each with weights of its own, and the gradients."""

    def program(rank):
        x = inputs[rank].clone().requires_grad_()
        y = PROGRAMS[name](x)
        weights = tl.arange(1.0, y.numel() + 1, dtype=tl.float64).reshape(y.shape) + rank
        loss = (y.sin() * weights).sum()
        loss.backward()
        return loss.item(), x.grad

    results = dist.threads.spawn(program, nprocs=SIZE)
    return sum(loss for loss, _ in results), [grad for _, grad in results]


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_gradient_is_that_of_the_sum_of_all_losses(name):
    inputs = [tl.tensor([0.3 + rank, 0.7 - rank], dtype=tl.float64) for rank in range(SIZE)]
    _, grads = losses(inputs, name)
    for rank in range(SIZE):
        for place in range(2):
            ends = []
            for shift in (1e-6, -1e-6):
                moved = [x.clone() for x in inputs]
                moved[rank][place] += shift
                ends.append(losses(moved, name)[0])
            assert grads[rank][place].item() == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_functional_collectives_leave_their_operands_alone():
    def program(rank):
        x = tl.arange(4.0) + rank
        results = {
            "sum": collectives.all_reduce(x, "sum", None),
            "max": collectives.all_reduce(x, "max", None),
            "first": collectives.broadcast(x, 0, None),
            "joined": collectives.all_gather_tensor(x.reshape(2, 2), 1, None),
            "part": collectives.reduce_scatter_tensor(x, "avg", 0, None),
            "turned": collectives.all_to_all_single(x, None, None, None),
        }
        assert x.tolist() == [rank + i for i in range(4)]
        return {name: collectives.wait_tensor(y).tolist() for name, y in results.items()}

    assert dist.threads.spawn(program, nprocs=2)[1] == {
        "sum": [1.0, 3.0, 5.0, 7.0],
        "max": [1.0, 2.0, 3.0, 4.0],
        "first": [0.0, 1.0, 2.0, 3.0],
        "joined": [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 3.0, 4.0]],
        "part": [2.5, 3.5],
        "turned": [2.0, 3.0, 3.0, 4.0],
    }


def test_what_has_no_gradient_is_refused():
    def program(rank):
        with pytest.raises(RuntimeError, match="use SUM or AVG"):
            F.all_reduce(tl.ones(1), dist.ReduceOp.MAX)
        with pytest.raises(ValueError, match="expected one of sum"):
            collectives.all_reduce(tl.ones(1), "add", None)
        with pytest.raises(AssertionError, match="multiple of group_size"):
            collectives.reduce_scatter_tensor(tl.ones(3), "sum", 0, None)

    dist.threads.spawn(program, nprocs=2)


@pytest.mark.parametrize("shape, momentum", [((8, 3), 0.1), ((8, 3, 5), None), ((8, 3, 2, 2), 0.3)])
def test_batch_norm_over_ranks_is_batch_norm_of_the_whole_batch(shape, momentum):
    x = tl.randn(shape, generator=tl.Generator().manual_seed(0)) * 3 + 10
    kinds = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}

    def program(rank, layer, given):
        given = given.clone().requires_grad_()
        for _ in range(2):
            y = layer(given)
        (y**3).sum().backward()
        grad = layer.weight.grad.clone()
        dist.all_reduce(grad)
        return y.detach(), given.grad, layer.running_mean, layer.running_var, grad

    def spread(rank):
        layer = nn.SyncBatchNorm.convert_sync_batchnorm(kinds[len(shape)](3, momentum=momentum))
        return program(rank, layer, x[:5] if rank == 0 else x[5:])

    (whole,) = dist.threads.spawn(
        lambda rank: program(rank, kinds[len(shape)](3, momentum=momentum), x), nprocs=1
    )
    first, second = dist.threads.spawn(spread, nprocs=2)
    parts = [tl.cat([first[0], second[0]]), tl.cat([first[1], second[1]]), *first[2:]]
    for ours, expected in zip(parts, whole, strict=True):
        assert tl.allclose(ours, expected, rtol=1e-4, atol=1e-4)
    assert tl.equal(first[2], second[2])


def test_batch_norm_over_ranks_needs_two_values_a_channel():
    def program(rank):
        layer = nn.SyncBatchNorm(3)
        layer(tl.ones(1, 3))  # two together
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            layer(tl.ones(1 - rank, 3))
        layer.eval()
        return layer(tl.ones(1, 3)).shape

    assert dist.threads.spawn(program, nprocs=2)[0] == (1, 3)


def test_a_sampler_asks_the_process_group():
    from tensorlab.utils.data import DistributedSampler

    def program(rank):
        return list(DistributedSampler(range(6), shuffle=False))

    assert dist.threads.spawn(program, nprocs=2) == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises(RuntimeError, match="init_process_group"):
        DistributedSampler(range(6))
