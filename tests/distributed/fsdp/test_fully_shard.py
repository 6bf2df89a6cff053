"""fully_shard: the same weights as one process, and what can be set."""

import threading

import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab import nn, optim
from tensorlab.distributed.fsdp import (
    CPUOffloadPolicy,
    DataParallelMeshDims,
    FSDPModule,
    MixedPrecisionPolicy,
    UnshardHandle,
    fully_shard,
    groups,
    register_fsdp_forward_method,
    share_comm_ctx,
)
from tensorlab.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from tests.distributed import networks, plans
from tests.distributed.networks import CASES, alone, assert_same, train, whole

spawn = dist.threads.spawn


def same_on_all_ranks(run, ranks, expected, tolerance=1e-12):
    for found in spawn(run, nprocs=ranks, timeout=30):
        assert_same(found, expected, tolerance, losses=False)


# ---------------------------------------------------------------- the same as one process
@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("case", CASES)
def test_gradients_and_weights_are_those_of_one_process(case, ranks, clip):
    def run(rank):
        model, x, loss_of = CASES[case]()
        plans.shard(model)
        return train(model, x.chunk(ranks)[rank], loss_of, clip=clip)

    same_on_all_ranks(run, ranks, alone(case, clip=clip))


@pytest.mark.parametrize("case", CASES)
def test_without_giving_up_the_whole_parameters_after_forward(case):
    def run(rank):
        model, x, loss_of = CASES[case]()
        plans.shard(model, reshard_after_forward=False)
        return train(model, x.chunk(2)[rank], loss_of)

    same_on_all_ranks(run, 2, alone(case))


@pytest.mark.parametrize("case", CASES)
def test_replicas_of_shards(case):
    def run(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
        model, x, loss_of = CASES[case]()
        plans.shard(model, mesh=mesh)
        assert next(model.parameters()).placements == (Replicate(), Shard(0))
        return train(model, x.chunk(4)[rank], loss_of)

    same_on_all_ranks(run, 4, alone(case))


@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize(("data", "tensor"), [(2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("case", CASES)
def test_with_tensor_parallel(case, data, tensor, clip):
    def run(rank):
        model, x, loss_of = CASES[case]()
        place = plans.data_and_tensor(model, case, data, tensor)
        return train(model, x.chunk(data)[place], loss_of, clip=clip)

    same_on_all_ranks(run, data * tensor, alone(case, clip=clip))


def test_float32_bit_for_bit_where_sums_are_the_same():
    """Two ranks with the same batch: the average of equal gradients is the gradient."""

    def run(rank):
        model, x, loss_of = networks.gpt_case(torch.float32)
        return train(plans.shard(model), x, loss_of)

    model, x, loss_of = networks.gpt_case(torch.float32)
    expected = train(model, x, loss_of)
    for found in spawn(run, nprocs=2):
        assert_same(found, expected, tolerance=1e-45)


OPTIMIZERS = {
    "SGD": lambda p: optim.SGD(p, 0.01, momentum=0.9, nesterov=True),
    "SGD, plain": lambda p: optim.SGD(p, 0.01, weight_decay=0.1),
    "Adam": lambda p: optim.Adam(p, 0.01, amsgrad=True),
    "Adam, foreach": lambda p: optim.Adam(p, 0.01, foreach=True),
    "AdamW": lambda p: optim.AdamW(p, 0.01, maximize=True),
    "Adamax": lambda p: optim.Adamax(p, 0.01),
    "Adagrad": lambda p: optim.Adagrad(p, 0.01),
    "Adadelta": lambda p: optim.Adadelta(p),
    "ASGD": lambda p: optim.ASGD(p, 0.01),
    "NAdam": lambda p: optim.NAdam(p, 0.01),
    "RAdam": lambda p: optim.RAdam(p, 0.01),
    "RMSprop": lambda p: optim.RMSprop(p, 0.01, momentum=0.5, centered=True),
    "Rprop": lambda p: optim.Rprop(p, 0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_work_on_parts(name):
    def run(rank):
        model, x, loss_of = networks.mlp_case()
        plans.shard(model)
        return train(model, x.chunk(2)[rank], loss_of, make=OPTIMIZERS[name])

    same_on_all_ranks(run, 2, alone("mlp", make=OPTIMIZERS[name]))


# ---------------------------------------------------------------- how parameters lie
def test_parameters_are_dtensors_cut_by_rows():
    def run(rank):
        model = networks.MLP()
        given = fully_shard(model)
        assert given is model
        assert isinstance(model, FSDPModule)
        assert isinstance(model, networks.MLP)
        assert type(model).__name__ == "FSDPMLP"
        down = model.down.weight
        assert isinstance(down, DTensor)
        assert isinstance(down, nn.Parameter)
        return tuple(down.shape), tuple(down.to_local().shape), down.placements

    assert spawn(run, nprocs=2) == [
        ((3, 12), (2, 12), (Shard(0),)),
        ((3, 12), (1, 12), (Shard(0),)),
    ]


def test_another_dimension_can_be_cut():
    def run(rank):
        model, x, loss_of = networks.mlp_case()
        by_columns = lambda param: Shard(param.dim() - 1)
        fully_shard(model, shard_placement_fn=by_columns)
        assert model.down.weight.placements == (Shard(1),)
        return train(model, x.chunk(2)[rank], loss_of)

    same_on_all_ranks(run, 2, alone("mlp"))


def test_ignored_frozen_and_shared_parameters():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
            self.two.weight = self.one.weight
            self.two.bias.requires_grad_(False)
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, x):
            return self.two(self.one(x).tanh()) * self.scale

    def make():
        torch.manual_seed(1)
        return Tied().double()

    def run(rank):
        model = make()
        fully_shard(model, ignored_params={model.scale})
        assert model.one.weight is model.two.weight
        assert not isinstance(model.scale, DTensor)
        model(torch.arange(8.0).double().view(2, 4)[rank : rank + 1]).square().sum().backward()
        assert model.two.bias.grad is None
        return whole(model.one.weight.grad), whole(model.one.bias.grad)

    expected = make()
    expected(torch.arange(8.0).double().view(2, 4)).square().sum().backward()
    for weight, bias in spawn(run, nprocs=2):
        assert (weight * 2 - expected.one.weight.grad).abs().max() < 1e-12
        assert (bias * 2 - expected.one.bias.grad).abs().max() < 1e-12


def test_whole_parameters_are_given_up_between_forward_and_backward():
    def run(rank):
        model, x, loss_of = networks.gpt_case()
        plans.shard(model)
        inner = [block._get_fsdp_state().group for block in model.blocks]
        root = model._get_fsdp_state().group
        loss = loss_of(model(x), x)
        kept = [group.wholes is None for group in inner], root.wholes is None
        loss.backward()
        after = [group.wholes is None for group in (*inner, root)]
        return kept, after, isinstance(model.blocks[0].norm_1.weight, DTensor)

    assert spawn(run, nprocs=2)[0] == (([True, True], False), [True, True, True], True)


def test_gradients_are_reduced_while_backward_goes_on(monkeypatch):
    """The exchange of a layer is waited for when the layer before it has been differentiated, and not before."""
    seen = threading.local()
    begin = groups.reduce_scatter

    def watched(*args, **kwargs):
        work = begin(*args, **kwargs)
        seen.events.append("begin")
        wait = work.wait
        work.wait = lambda: (seen.events.append("wait"), wait())
        return work

    monkeypatch.setattr(groups, "reduce_scatter", watched)

    def watch_input(layer, args):
        if args[0].requires_grad:
            args[0].register_hook(lambda grad: seen.events.append("next layer"))

    def run(rank):
        seen.events = []
        torch.manual_seed(0)
        model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)])
        expected = model(torch.ones(2, 4) * 1.5).sum()
        wanted = torch.autograd.grad(expected, list(model.parameters()))
        for layer in model:
            fully_shard(layer)
            layer.register_forward_pre_hook(watch_input)
        fully_shard(model)(torch.ones(2, 4) * (rank + 1)).sum().backward()
        for p, grad in zip(model.parameters(), wanted, strict=True):
            torch.testing.assert_close(whole(p.grad), grad)
        return seen.events

    one = ["begin", "next layer", "wait"]
    assert spawn(run, nprocs=2) == [[*one, *one, "begin", "wait"]] * 2


def test_backward_through_a_checkpoint_inside_and_outside():
    checkpoint = torch.utils.checkpoint.checkpoint

    class Inside(networks.MLP):
        def forward(self, x):
            return checkpoint(super().forward, x, use_reentrant=False)

    class Outside(nn.Module):
        def __init__(self, block):
            super().__init__()
            self.block = block

        def forward(self, x):
            return checkpoint(self.block, x, use_reentrant=False)

    def run(rank, kind):
        torch.manual_seed(0)
        net = Inside() if kind == "inside" else networks.MLP()
        net.double()
        fully_shard(net)
        model = fully_shard(nn.Sequential(Outside(net) if kind == "outside" else net))
        x = torch.randn(8, 6, dtype=torch.float64)
        return train(model, x.chunk(2)[rank], lambda out, x: (out**2).mean())

    expected = alone("mlp")
    for kind in ("inside", "outside"):
        for found in spawn(run, (kind,), nprocs=2):
            for ours, theirs in zip(found[1:], expected[1:], strict=True):
                for one, other in zip(ours.values(), theirs.values(), strict=True):
                    assert (one - other).abs().max() < 1e-12


# ---------------------------------------------------------------- settings
def test_gradients_are_added_up_before_they_are_reduced():
    def run(rank):
        model, x, loss_of = networks.mlp_case()
        plans.shard(model)
        parts = x.chunk(4)[rank::2]
        model.set_requires_gradient_sync(False)
        (loss_of(model(parts[0]), x) / 2).backward()
        assert model.up.weight.grad is None
        model.set_requires_gradient_sync(True)
        (loss_of(model(parts[1]), x) / 2).backward()
        return {name: whole(one.grad) for name, one in model.named_parameters()}

    model, x, loss_of = networks.mlp_case()
    loss_of(model(x), x).backward()
    for found in spawn(run, nprocs=2):
        for name, one in model.named_parameters():
            assert (found[name] - one.grad).abs().max() < 1e-12


def test_replicas_can_be_added_later():
    def run(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
        model, x, loss_of = networks.mlp_case()
        plans.shard(model, mesh=mesh)
        model.set_requires_all_reduce(False)
        (loss_of(model(x.chunk(8)[rank]), x) / 2).backward()
        assert model.up.weight.grad is None
        model.set_requires_all_reduce(True)
        (loss_of(model(x.chunk(8)[rank + 4]), x) / 2).backward()
        return {name: whole(one.grad) for name, one in model.named_parameters()}

    model, x, loss_of = networks.mlp_case()
    loss_of(model(x), x).backward()
    for found in spawn(run, nprocs=4):
        for name, one in model.named_parameters():
            assert (found[name] - one.grad).abs().max() < 1e-12


def test_mixed_precision():
    def run(rank):
        model = networks.MLP()
        policy = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float64
        )
        seen = []
        model.up.register_forward_hook(lambda module, args, out: seen.append(out.dtype))
        fully_shard(model, mp_policy=policy)
        out = model(torch.ones(2, 6))
        out.sum().backward()
        return seen, out.dtype, model.up.weight.dtype, model.up.weight.grad.dtype

    found = spawn(run, nprocs=2)[1]
    assert found == ([torch.bfloat16], torch.float64, torch.float32, torch.float32)


def test_divisor_hooks_and_gathering_ahead():
    def run(rank):
        model, x, loss_of = networks.gpt_case()
        plans.shard(model)
        first, second = model.blocks
        first.set_modules_to_forward_prefetch([second])
        second.set_modules_to_backward_prefetch([first])
        model.set_gradient_divide_factor(1.0)
        seen = []
        model.set_all_reduce_hook(lambda grad: seen.append(grad.numel()))
        model.set_is_last_backward(True)
        result = train(model, x.chunk(2)[rank], loss_of, steps=1)
        assert len(seen) == 1
        return result[1]

    expected = alone("gpt", steps=1)[1]
    for found in spawn(run, nprocs=2):
        for name, grad in found.items():
            times = 1 if name.startswith("blocks") else 2
            assert (grad - times * expected[name]).abs().max() < 1e-12


def test_unshard_and_reshard():
    def run(rank):
        model = networks.MLP()
        want = model.up.weight.detach().clone()
        fully_shard(model)
        assert model.unshard() is None
        assert torch.equal(model.up.weight, want)
        assert not isinstance(model.up.weight, DTensor)
        model.reshard()
        assert isinstance(model.up.weight, DTensor)
        handle = model.unshard(async_op=True)
        assert isinstance(handle, UnshardHandle)
        handle.wait()
        model(torch.ones(1, 6)).sum().backward()
        return isinstance(model.up.weight, DTensor), model.up.weight.grad.placements

    assert spawn(run, nprocs=2)[0] == (True, (Shard(0),))


def test_other_methods_gather_too():
    class Generator(networks.MLP):
        def generate(self, x):
            return self.up(x).sum()

    def run(rank):
        model = Generator()
        expected = model.generate(torch.ones(2, 6))
        fully_shard(model)
        register_fsdp_forward_method(model, "generate")
        register_fsdp_forward_method(nn.Linear(1, 1), "whatever")
        with pytest.raises(ValueError, match="does not have a method"):
            register_fsdp_forward_method(model, "whatever")
        share_comm_ctx([model])
        return (model.generate(torch.ones(2, 6)) - expected).abs().item() < 1e-6

    assert spawn(run, nprocs=2) == [True, True]


def test_state_dict_goes_out_and_in():
    def run(rank):
        model, x, loss_of = networks.mlp_case()
        plans.shard(model)
        state = model.state_dict()
        assert list(state) == list(networks.MLP().state_dict())
        assert all(isinstance(one, DTensor) for one in state.values())
        other = plans.shard(networks.MLP().double())
        other.load_state_dict(state)
        full = {name: one.full_tensor() for name, one in other.state_dict().items()}
        third = fully_shard(networks.MLP().double())
        third.load_state_dict(
            {
                name: distribute_tensor(one, third.up.weight.device_mesh, [Shard(0)])
                for name, one in full.items()
            }
        )
        return (third(x) - model(x)).abs().max().item()

    assert spawn(run, nprocs=2) == [0.0, 0.0]


def test_conversions_of_a_sharded_module():
    def run(rank):
        model = plans.shard(networks.MLP())
        model.double()
        model(torch.ones(1, 6).double()).sum().backward()
        return model.up.weight.dtype, model.up.weight.grad.dtype

    assert spawn(run, nprocs=2)[0] == (torch.float64, torch.float64)


def test_a_module_made_without_memory_is_filled_after_it_is_cut():
    def run(rank):
        with torch.device("meta"):
            model = networks.MLP()
        plans.shard(model)
        assert model.up.weight.to_local().is_meta
        model.to_empty(device="cpu")
        torch.manual_seed(3)
        for layer in (model.up, model.down):
            layer.reset_parameters()
        return {name: whole(one.detach()) for name, one in model.named_parameters()}

    expected = networks.MLP()
    torch.manual_seed(3)
    for layer in (expected.up, expected.down):
        layer.reset_parameters()
    for found in spawn(run, nprocs=2):
        for name, one in expected.named_parameters():
            assert torch.equal(found[name], one.detach())


def test_no_grad_and_evaluation():
    def run(rank):
        model, x, _ = networks.gpt_case()
        expected = model(x)
        plans.shard(model).eval()
        with torch.no_grad():
            first = model(x)
        with torch.inference_mode():
            second = model(x)
        return (first - expected).abs().max().item(), (second - expected).abs().max().item()

    assert spawn(run, nprocs=2)[0] == (0.0, 0.0)


def test_a_step_after_inference_with_the_same_weights():
    def run(rank):
        model, x, loss_of = networks.mlp_case()
        plans.shard(model)
        with torch.inference_mode():
            model(x)
        return train(model, x.chunk(2)[rank], loss_of)

    same_on_all_ranks(run, 2, alone("mlp"))


# ---------------------------------------------------------------- what is refused
def test_what_is_refused():
    def run(rank):
        mesh = dist.init_device_mesh("cpu", (2, 1, 1))
        with pytest.raises(ValueError, match="1D or 2D DeviceMesh"):
            fully_shard(networks.MLP(), mesh=mesh)
        with pytest.raises(ValueError, match="containers that do not implement forward"):
            fully_shard(nn.ModuleList([nn.Linear(1, 1)]))
        with pytest.raises(NotImplementedError, match="dp_mesh_dims"):
            fully_shard(networks.MLP(), dp_mesh_dims=DataParallelMeshDims(shard="dp"))
        scalar = nn.Module()
        scalar.scale = nn.Parameter(torch.ones(()))
        with pytest.raises(ValueError, match="scalar parameters"):
            fully_shard(scalar)
        with pytest.raises(TypeError, match=r"no nn\.Module"):
            fully_shard([3])
        with pytest.raises(ValueError, match="should be a bool or an int"):
            fully_shard(networks.MLP(), reshard_after_forward="yes")
        model = fully_shard(networks.MLP(), offload_policy=CPUOffloadPolicy())
        with pytest.raises(AssertionError, match="only be applied to a module once"):
            fully_shard(model)
        with pytest.raises(AssertionError, match="deepcopy"):
            model.__deepcopy__({})
        with pytest.raises(ValueError, match="Expects FSDPModule"):
            model.set_modules_to_forward_prefetch([nn.Linear(1, 1)])
        with pytest.raises(ValueError, match="should be a bool"):
            model.set_reshard_after_forward(3)
        model.set_reshard_after_forward(False)
        model.set_reshard_after_backward(True)
        return True

    assert spawn(run, nprocs=2) == [True, True]


def test_a_forward_that_raises_leaves_the_parts():
    def run(rank):
        model = plans.shard(networks.MLP())
        with pytest.raises(RuntimeError):
            model(torch.ones(1, 5))
        model.reset_iter_state()
        model(torch.ones(1, 6)).sum().backward()
        return isinstance(model.up.weight, DTensor)

    assert spawn(run, nprocs=2) == [True, True]


def test_modules_that_are_gathered_together():
    def run(rank):
        model, x, loss_of = networks.mlp_case()
        fully_shard([model.up, model.down])
        fully_shard(model)
        return train(model, x.chunk(2)[rank], loss_of)

    same_on_all_ranks(run, 2, alone("mlp"))


def test_parameters_are_whole_between_unshard_and_reshard():
    def program(rank):
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        fully_shard(model)
        handle = model.unshard(async_op=True)
        handle.wait()
        kinds = [[type(p) is nn.Parameter for p in model.parameters()]]
        model.reshard()
        kinds.append([isinstance(p, DTensor) for p in model.parameters()])
        model.double()  # which needs the parts
        kinds.append(
            [isinstance(p, DTensor) and p.dtype == torch.float64 for p in model.parameters()]
        )
        return kinds

    for kinds in dist.threads.spawn(program, nprocs=2):
        assert kinds == [[True] * 4] * 3


@pytest.mark.parametrize("gives_up", [True, False])
def test_what_is_kept_after_forward_is_not_gathered_again(gives_up):
    def program(rank):
        model = nn.Linear(4, 4)
        fully_shard(model)
        recorder = dist.group.WORLD.transport.recorder
        with torch.no_grad():
            model(torch.ones(1, 4))
            model.set_reshard_after_forward(gives_up)
            model.reshard()
            counts = []
            for _ in range(2):
                recorder.calls.clear()
                model(torch.ones(1, 4))
                counts.append(len(recorder.calls))
        return counts

    first, second = dist.threads.spawn(program, nprocs=2)[0]
    assert first > 0
    assert second == (first if gives_up else 0)
