"""Counting exchanges, showing who has what, and functions of parts."""

import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab.distributed.device_mesh import init_device_mesh
from tensorlab.distributed.tensor import Partial, Replicate, Shard, distribute_tensor, zeros
from tensorlab.distributed.tensor import device_mesh as again
from tensorlab.distributed.tensor.debug import CommDebugMode, visualize_sharding
from tensorlab.distributed.tensor.experimental import local_map
from tensorlab.distributed.tensor.parallel import parallelize_module
from tests.distributed import networks, plans

spawn = dist.threads.spawn


def test_an_mlp_needs_one_exchange_each_way():
    """Column-wise, then row-wise: one all-reduce forward, and none back, as the input has no gradient."""

    def run(rank):
        model = networks.MLP()
        parallelize_module(model, init_device_mesh("cpu", (2,)), plans.plan_of("mlp"))
        with CommDebugMode() as forward:
            out = model(torch.ones(2, 6))
        with CommDebugMode() as backward:
            out.sum().backward()
        assert backward.generate_comm_debug_tracing_table() == ""
        return forward.get_comm_counts(), forward.get_total_counts(), backward.get_total_counts()

    assert spawn(run, nprocs=2) == [({"all_reduce": 1}, 1, 0)] * 2


def test_a_sharded_mlp_gathers_and_reduces_once_for_each_group():
    def run(rank):
        model = plans.shard(networks.MLP())
        with CommDebugMode() as forward:
            out = model(torch.ones(2, 6))
        with CommDebugMode() as backward:
            out.sum().backward()
        return forward.get_comm_counts(), backward.get_comm_counts()

    # The root keeps its parameters between forward and backward, the part does not.
    counts = {"all_gather": 2}, {"all_gather": 1, "reduce_scatter": 2}
    assert spawn(run, nprocs=2) == [counts] * 2


def test_who_has_what(capsys):
    def run(rank):
        mesh = init_device_mesh("cpu", (2, 2))
        x = zeros(4, 3, device_mesh=mesh, placements=[Shard(0), Shard(1)])
        if rank == 0:
            visualize_sharding(x, header="x")
        with pytest.raises(RuntimeError, match="1 or 2 dimensions"):
            visualize_sharding(zeros(1, 1, 1, device_mesh=mesh, placements=[Replicate()] * 2))

    spawn(run, nprocs=4)
    assert capsys.readouterr().out.splitlines() == [
        "x",
        "rows 0-1, columns 0-1: ranks 0",
        "rows 0-1, columns 2-2: ranks 1",
        "rows 2-3, columns 0-1: ranks 2",
        "rows 2-3, columns 2-2: ranks 3",
    ]


def test_functions_of_parts():
    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(torch.arange(8.0).view(4, 2), mesh, [Shard(0)]).requires_grad_()
        y = distribute_tensor(torch.eye(2), mesh, [Replicate()])

        @local_map(
            out_placements=([Shard(0)], None, [Partial()]),
            in_placements=([Shard(0)], [Replicate()]),
            in_grad_placements=([Shard(0)], [Replicate()]),
        )
        def both(a, b):
            assert a.shape == (2, 2)
            return a @ b, 3, a.sum()

        product, three, total = both(x, y)
        assert three == 3
        assert product.placements == (Shard(0),)
        assert total.full_tensor().item() == 28
        product.sum().backward()
        assert x.grad.full_tensor().tolist() == [[1.0, 1.0]] * 4
        whole = x.redistribute(placements=[Replicate()])
        with pytest.raises(ValueError, match="is placed as"):
            both(whole, y)
        cut = local_map(torch.neg, [Shard(0)], ([Shard(0)],), redistribute_inputs=True)
        assert cut(whole).full_tensor().tolist() == (-x).full_tensor().tolist()
        with pytest.raises(ValueError, match="placements for 1 arguments"):
            cut(x, y)
        with pytest.raises(ValueError, match="placements for 1 results"):
            local_map(lambda a: (a, a), ([Shard(0)],))(x)
        assert local_map(lambda a: 5)(x) == 5
        return True

    assert spawn(run, nprocs=2) == [True, True]


def test_device_meshes_are_here_as_well():
    assert again.init_device_mesh is init_device_mesh
