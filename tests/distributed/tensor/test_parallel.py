"""Tensor parallel: the same weights as one process, styles of inputs and outputs, losses."""

import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.distributed.device_mesh import init_device_mesh
from tensorlab.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from tensorlab.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from tests.distributed import networks, plans
from tests.distributed.networks import CASES, alone, assert_same, train

F = nn.functional
spawn = dist.threads.spawn


@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("case", CASES)
def test_gradients_and_weights_are_those_of_one_process(case, ranks, clip):
    def run(rank):
        model, x, loss_of = CASES[case]()
        parallelize_module(model, init_device_mesh("cpu", (ranks,)), plans.plan_of(case))
        return train(model, x, loss_of, clip=clip)

    for found in spawn(run, nprocs=ranks, timeout=30):
        assert_same(found, alone(case, clip=clip))


def test_parts_of_the_sequence_between_the_layers():
    """Norms and sums work on parts of the sequence; it's gathered before attention and the MLP."""

    def plan():
        rows = {"input_layouts": Replicate(), "output_layouts": Shard(1)}
        gather = PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())
        found = {
            "tokens": RowwiseParallel(**rows),
            "norm": SequenceParallel(),
            "scores": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
            "blocks.*.attention": gather,
            "blocks.*.attention.out": RowwiseParallel(output_layouts=Shard(1)),
            "blocks.*.think": gather,
            "blocks.*.think.up": ColwiseParallel(),
            "blocks.*.think.down": RowwiseParallel(output_layouts=Shard(1)),
        }
        for name in ("query", "key", "value"):
            found[f"blocks.*.attention.{name}"] = ColwiseParallel()
        for name in ("norm_1", "norm_2"):
            found[f"blocks.*.{name}"] = SequenceParallel(use_local_output=True)
        return found

    class Model(networks.GPT):
        def forward(self, ids):
            x = self.tokens(ids)
            for block in self.blocks:
                x = block(x)
            return self.scores(self.norm(x))

    def make():
        torch.manual_seed(0)
        model = Model().double()
        del model.places
        ids = torch.randint(0, 11, (4, 8))
        loss = lambda out, x: F.cross_entropy(out.flatten(0, 1), x.roll(-1, 1).flatten())
        return model, ids, loss

    def run(rank):
        model, x, loss_of = make()
        parallelize_module(model, init_device_mesh("cpu", (2,)), plan())
        return train(model, x, loss_of)

    expected = train(*make())
    for found in spawn(run, nprocs=2, timeout=30):
        assert_same(found, expected)


def test_inputs_and_outputs_of_modules():
    class Net(nn.Module):
        def forward(self, x, scale, bias=None):
            self.seen = type(x), type(bias)
            return x * scale + bias, scale

    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        model = parallelize_module(
            Net(),
            mesh,
            PrepareModuleInputOutput(
                input_layouts=(Shard(0), None),
                desired_input_layouts=(Replicate(), None),
                input_kwarg_layouts={"bias": Replicate()},
                desired_input_kwarg_layouts={"bias": Replicate()},
                output_layouts=(Replicate(), None),
                desired_output_layouts=(Shard(0), None),
            ),
        )
        out, scale = model(torch.full((2, 2), float(rank)), 2.0, bias=torch.ones(2))
        assert model.seen == (DTensor, DTensor)
        assert scale == 2.0
        one = parallelize_module(
            nn.Identity(),
            mesh,
            PrepareModuleOutput(
                output_layouts=Replicate(), desired_output_layouts=Shard(0), use_local_output=False
            ),
        )
        assert one(torch.ones(4)).placements == (Shard(0),)
        local = PrepareModuleInput(
            input_layouts=Shard(0), desired_input_layouts=Replicate(), use_local_output=True
        )
        assert parallelize_module(nn.Identity(), mesh, local)(torch.ones(1)).tolist() == [1.0, 1.0]
        return out.tolist()

    assert spawn(run, nprocs=2) == [[[1.0, 1.0]] * 2, [[3.0, 3.0]] * 2]


def test_results_may_stay_dtensors():
    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        layer = parallelize_module(nn.Linear(4, 6), mesh, ColwiseParallel(use_local_output=False))
        out = layer(torch.ones(2, 4))
        table = parallelize_module(
            nn.Embedding(10, 4), mesh, ColwiseParallel(use_local_output=False)
        )
        columns = table(torch.tensor([[1, 2]]))
        norm = parallelize_module(nn.LayerNorm(4), mesh, SequenceParallel())
        rows = norm(distribute_tensor(torch.ones(2, 4, 4), mesh, [Replicate()]))
        return out.placements, columns.placements, table.weight.placements, rows.placements

    assert spawn(run, nprocs=2)[0] == ((Shard(1),), (Shard(2),), (Shard(1),), (Shard(1),))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("classes", [7, 8])
def test_losses_of_scores_that_are_cut_by_classes(reduction, classes):
    scores = torch.randn(5, classes, dtype=torch.float64)
    target = torch.tensor([0, 3, -100, 6, 2])

    def loss_of(x, y):
        return F.cross_entropy(x, y, reduction=reduction)

    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(scores, mesh, [Shard(1)], src_data_rank=None).requires_grad_()
        y = distribute_tensor(target, mesh, [Replicate()], src_data_rank=None)
        with loss_parallel():
            loss = loss_of(x, y)
            loss.sum().backward()
            assert x.grad.placements == (Shard(1),)
            weight = distribute_tensor(torch.ones(classes).double(), mesh, [Replicate()])
            with pytest.raises(NotImplementedError, match="weights of classes"):
                F.cross_entropy(x, y, weight)
        gathered = distribute_tensor(scores, mesh, [Shard(1)], src_data_rank=None)
        assert torch.allclose(loss_of(gathered, y).full_tensor(), loss.full_tensor())
        return loss.full_tensor(), x.grad.full_tensor()

    x = scores.clone().requires_grad_()
    loss = loss_of(x, target)
    loss.sum().backward()
    for one, grad in spawn(run, nprocs=2):
        assert torch.allclose(one, loss, atol=1e-12)
        assert torch.allclose(grad, x.grad, atol=1e-12)


def test_plans():
    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        model = networks.GPT()
        with pytest.warns(UserWarning, match="could not be resolved"):
            parallelize_module(model, mesh, {"nowhere.up": ColwiseParallel()})
        with pytest.warns(UserWarning, match="will do nothing"):
            parallelize_module(model, mesh)
        with pytest.raises(TypeError, match="Expect Union"):
            parallelize_module(model, mesh, 3)
        with pytest.raises(ValueError, match="has 2 dimensions"):
            parallelize_module(model, init_device_mesh("cpu", (1, 2)), ColwiseParallel())
        with pytest.raises(NotImplementedError, match=r"only support nn\.Linear and nn\.Embedding"):
            parallelize_module(model, mesh, RowwiseParallel())
        with mesh:
            parallelize_module(model, parallelize_plan={"blocks.?.think.u*": ColwiseParallel()})
        assert all(isinstance(one.think.up.weight, DTensor) for one in model.blocks)
        parallelize_module(model.scores, mesh, {"": ColwiseParallel()}, src_data_rank=None)
        return model.scores.weight.placements

    assert spawn(run, nprocs=2)[0] == (Shard(0),)


def test_what_is_refused_and_shown():
    with pytest.raises(TypeError, match="expected a Placement"):
        ColwiseParallel(input_layouts=3)
    with pytest.raises(ValueError, match="same length"):
        PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=(Shard(0), Shard(1)))
    with pytest.raises(ValueError, match="same length"):
        PrepareModuleInput(input_layouts=Shard(0))
    with pytest.raises(TypeError):
        ParallelStyle()
    assert repr(ColwiseParallel()) == (
        "ColwiseParallel(input_layouts=(Replicate(),), output_layouts=(Shard(dim=-1),), "
        "use_local_output=True)"
    )
    assert repr(SequenceParallel()) == "SequenceParallel(sequence_dim=1, use_local_output=False)"

    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        norm = parallelize_module(nn.LayerNorm(4), mesh, SequenceParallel())
        with pytest.raises(ValueError, match="expecting an input that is a Tensor"):
            norm(3)
        both = PrepareModuleInput(
            input_layouts=(Shard(0), Shard(0)), desired_input_layouts=(Shard(0), Shard(0))
        )
        with pytest.raises(ValueError, match="should have same length"):
            parallelize_module(nn.Identity(), mesh, both)(torch.ones(1))

    spawn(run, nprocs=2)
