"""DTensor: to and from parts, all redistributions, gradients, and what is refused."""

import copy
import itertools
import pickle

import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.distributed import tensor as dtensor
from tensorlab.distributed.device_mesh import DeviceMesh, init_device_mesh
from tensorlab.distributed.tensor import (
    DTensor,
    Partial,
    Placement,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from tensorlab.distributed.tensor.layouts import compute_local_shape_and_global_offset
from tensorlab.distributed.tensor.placement_types import _StridedShard
from tensorlab.distributed.tensor.strategies import by_letters
from tensorlab.distributed.tensor.view_rules import groups_of

spawn = dist.threads.spawn
WHOLE = torch.arange(35.0).view(5, 7)


# ---------------------------------------------------------------- placements
def test_placements_are_values():
    assert Shard(1) == Shard(1) != Shard(0)
    assert Shard(0) != Replicate() != Partial()
    assert hash(Shard(1)) == hash(Shard(1))
    assert Partial("max") != Partial()
    assert isinstance(Shard(0), Placement)
    assert (Shard(0).is_shard(), Shard(0).is_shard(1), Shard(0).is_replicate()) == (
        True,
        False,
        False,
    )
    assert (Partial().is_partial(), Partial().is_partial("max")) == (True, False)
    assert _StridedShard(0, split_factor=2).is_shard(0)
    assert _StridedShard(0, split_factor=2) != Shard(0)
    with pytest.raises(AttributeError, match="is a value"):
        Shard(0).dim = 1
    with pytest.raises(ValueError, match="expected one of"):
        Partial("most")
    with pytest.raises(TypeError, match="number of a dimension"):
        Shard("a")


def test_placements_look_as_in_pytorch():
    strided = _StridedShard(0, split_factor=2)
    shown = [(repr(one), str(one)) for one in (Shard(1), Replicate(), Partial("max"), strided)]
    assert shown == [
        ("Shard(dim=1)", "S(1)"),
        ("Replicate()", "R"),
        ("Partial(max)", "P(max)"),
        ("_StridedShard(dim=0, sf=2)", "_S(0, 2)"),
    ]


@pytest.mark.parametrize(("n", "ranks"), [(5, 2), (7, 4), (2, 4), (0, 2), (8, 3)])
def test_parts_are_those_of_chunk(n, ranks):
    def run(rank):
        mesh = init_device_mesh("cpu", (ranks,))
        x = torch.arange(n * 2.0).view(n, 2)
        own = distribute_tensor(x, mesh, [Shard(0)])
        shape, offset = compute_local_shape_and_global_offset(x.shape, mesh, [Shard(0)])
        assert tuple(own.to_local().shape) == shape
        if shape[0]:
            assert own.to_local()[0].tolist() == x[offset[0]].tolist()
        return own.to_local(), own.full_tensor()

    parts = torch.arange(n * 2.0).view(n, 2).chunk(ranks) if n else []
    for rank, (own, whole) in enumerate(spawn(run, nprocs=ranks)):
        assert own.tolist() == (parts[rank].tolist() if rank < len(parts) else [])
        assert whole.tolist() == torch.arange(n * 2.0).view(n, 2).tolist()


# ---------------------------------------------------------------- redistribution
ONE = [Shard(0), Shard(1), Replicate(), Partial(), Partial("avg"), Partial("max")]
LATER = _StridedShard(0, split_factor=2)


def make(mesh, placements):
    """Return WHOLE as a DTensor with any placements; partial values differ from rank to rank."""
    x = WHOLE
    partial = [i for i, one in enumerate(placements) if one.is_partial()]
    for i in partial:
        place, n = mesh.get_local_rank(i), mesh.size(i)
        if placements[i].reduce_op == "sum":
            x = x - 1 if place == 0 else x * 0 + 1 / (n - 1)
        elif placements[i].reduce_op == "avg":
            x = x + (n - 1 if place == 0 else -1)
        else:
            x = x if place == 0 else x - 1
    kept = [Replicate() if one.is_partial() else one for one in placements]
    cut = distribute_tensor(x, mesh, kept, src_data_rank=None)
    return DTensor.from_local(cut.to_local(), mesh, placements, shape=WHOLE.shape)


@pytest.mark.parametrize("ranks", [2, 3])
def test_all_transitions_in_one_dimension(ranks):
    def run(rank):
        mesh = init_device_mesh("cpu", (ranks,))
        for source, target in itertools.product(ONE, ONE):
            if target.is_partial() and source != target:
                continue
            moved = make(mesh, [source]).redistribute(placements=[target])
            assert moved.placements == (target,)
            assert tuple(moved.to_local().shape) == moved._spec.local_shape()
            assert torch.allclose(moved.full_tensor(), WHOLE, atol=1e-5), (source, target)

    spawn(run, nprocs=ranks, timeout=20)


def test_all_transitions_in_two_dimensions():
    kinds = [*itertools.product(ONE[:4], ONE[:4]), (LATER, Shard(0)), (LATER, Replicate())]

    def run(rank):
        mesh = init_device_mesh("cpu", (2, 2))
        for source, target in itertools.product(kinds, kinds):
            if any(b.is_partial() and a != b for a, b in zip(source, target, strict=True)):
                continue
            moved = make(mesh, source).redistribute(placements=target)
            assert tuple(moved.to_local().shape) == moved._spec.local_shape()
            assert torch.allclose(moved.full_tensor(), WHOLE, atol=1e-5), (source, target)

    spawn(run, nprocs=4, timeout=20)


def test_gradients_of_redistributions():
    """The loss is a weighted sum, so the gradient of the whole is the weights."""
    weights = torch.arange(35.0).view(5, 7).sin()

    def run(rank):
        mesh = init_device_mesh("cpu", (2, 2))
        for source in itertools.product(ONE[:3], ONE[:3]):
            for target in itertools.product(ONE[:3], ONE[:3]):
                x = distribute_tensor(WHOLE, mesh, source).requires_grad_()
                own = distribute_tensor(weights, mesh, [Replicate()] * 2)
                (x.redistribute(placements=target) * own).sum().backward()
                assert torch.allclose(x.grad.full_tensor(), weights), (source, target)

    spawn(run, nprocs=4, timeout=20)


def test_parts_have_gradients():
    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        part = torch.ones(2, 3, requires_grad=True)
        x = DTensor.from_local(part, mesh, [Shard(0)])
        assert x.shape == (4, 3)
        y = x * 2
        (y.to_local() * (rank + 1)).sum().backward()
        assert part.grad.tolist() == [[2.0 * (rank + 1)] * 3] * 2
        whole = distribute_tensor(torch.ones(4), mesh, [Replicate()]).requires_grad_()
        (whole.to_local(grad_placements=[Partial()]) * (rank + 1)).sum().backward()
        assert whole.grad.placements == (Partial(),)
        assert whole.grad.full_tensor().tolist() == [3.0] * 4
        part = torch.ones(2, requires_grad=True)
        DTensor.from_local(part, mesh, [Partial()]).full_tensor().sum().backward()
        return part.grad.tolist()

    assert spawn(run, nprocs=2) == [[1.0, 1.0]] * 2


def test_uneven_parts_and_values_of_the_first_rank():
    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        part = torch.full((2 - rank, 2), float(rank))
        x = DTensor.from_local(part, mesh, [Shard(0)], shape=torch.Size([3, 2]), stride=(2, 1))
        own = torch.full((2,), float(rank))
        same = DTensor.from_local(own, mesh, [Replicate()], run_check=True)
        distributed = distribute_tensor(torch.full((2,), float(rank)), mesh, [Replicate()])
        mine = distribute_tensor(own, mesh, [Replicate()], src_data_rank=None)
        assert mine.to_local().tolist() == own.tolist()
        return (
            x.full_tensor()[:, 0].tolist(),
            same.to_local().tolist(),
            distributed.to_local().tolist(),
        )

    assert spawn(run, nprocs=2) == [([0.0, 0.0, 1.0], [0.0, 0.0], [0.0, 0.0])] * 2


def test_other_dtypes_on_the_way():
    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(torch.ones(4), mesh, [Shard(0)]).requires_grad_()
        half = torch.bfloat16
        y = x.redistribute(
            placements=[Replicate()], forward_dtype=half, backward_dtype=torch.float64
        )
        y.sum().backward()
        return y.dtype, x.grad.dtype, x.grad.placements

    assert spawn(run, nprocs=2)[0] == (torch.bfloat16, torch.float32, (Shard(0),))


# ---------------------------------------------------------------- as a tensor
def test_it_is_a_tensor():
    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(WHOLE, mesh, [Shard(0)])
        assert isinstance(x, torch.Tensor)
        assert (x.shape, x.dtype, x.stride(), x.device.type) == (
            (5, 7),
            torch.float32,
            (7, 1),
            "cpu",
        )
        assert x.device_mesh is mesh
        assert x.sum().item() == WHOLE.sum().item()
        assert x.tolist() == WHOLE.tolist()
        assert bool((x == x).all())
        assert torch.equal(x, x)
        other = copy.deepcopy(x)
        other.add_(1)
        assert torch.equal(x.full_tensor(), WHOLE)
        parameter = nn.Parameter(x)
        assert isinstance(parameter, nn.Parameter)
        assert isinstance(parameter, DTensor)
        assert isinstance(copy.deepcopy(parameter), nn.Parameter)
        assert parameter.is_leaf
        with pytest.raises(RuntimeError, match="held by several ranks"):
            x.numpy()
        x.data = distribute_tensor(WHOLE + 1, mesh, [Replicate()])
        assert x.placements == (Replicate(),)
        with pytest.raises(RuntimeError, match="takes the data of a DTensor"):
            x.data = WHOLE
        return repr(distribute_tensor(torch.ones(2), mesh, [Shard(0)]))

    text = (
        "DTensor(local_tensor=tensor([1.]), device_mesh=DeviceMesh((2,), 'cpu', stride=(1,)), "
        "placements=(Shard(dim=0),))"
    )
    assert spawn(run, nprocs=2)[1] == text


def test_placements_of_results():
    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        rows = distribute_tensor(torch.randn(4, 6), mesh, [Shard(0)])
        columns = distribute_tensor(torch.randn(6, 4), mesh, [Shard(0)])
        by_columns = distribute_tensor(torch.randn(4, 6), mesh, [Shard(1)])
        image = distribute_tensor(torch.randn(4, 2, 5, 5), mesh, [Shard(0)])
        kernel = distribute_tensor(torch.randn(3, 2, 3, 3), mesh, [Replicate()])
        found = {
            "pointwise": rows + rows,
            "mm of cut inner": by_columns @ columns,
            "sum over cut": rows.sum(0),
            "sum over others": rows.sum(1),
            "mean": rows.mean(),
            "max": rows.max(),
            "transposed": rows.t(),
            "flat": rows.flatten(),
            "in two": rows.unflatten(0, (2, 2)),
            "softmax": rows.softmax(1),
            "cat": torch.cat([rows, rows], 1),
            "conv": nn.functional.conv2d(image, kernel),
            "partial, twice": (by_columns @ columns) * 2,
            "partial, made whole": (by_columns @ columns).relu(),
        }
        return {name: one.placements[0] for name, one in found.items()}

    assert spawn(run, nprocs=2)[0] == {
        "pointwise": Shard(0),
        "mm of cut inner": Partial(),
        "sum over cut": Partial(),
        "sum over others": Shard(0),
        "mean": Partial("avg"),
        "max": Partial("max"),
        "transposed": Shard(1),
        "flat": Shard(0),
        "in two": Shard(0),
        "softmax": Shard(0),
        "cat": Shard(0),
        "conv": Shard(0),
        "partial, twice": Partial(),
        "partial, made whole": Shard(0),
    }


def test_letters_of_dimensions():
    whole, rows, *_ = by_letters(["mk", "kn"], ["mn"])
    assert whole.inputs == (Replicate(), Replicate())
    assert (rows.inputs, rows.outputs) == ((Shard(0), Replicate()), (Shard(0),))
    found = by_letters(["ax", "yx", "y"], ["ay"], addends=(2,))
    assert any(one.inputs == (Shard(1), Shard(1), Partial()) for one in found)
    assert list(groups_of((2, 3, 4), (6, 2, 2))) == [([0, 1], [0]), ([2], [1, 2])]


def test_new_tensors():
    def run(rank):
        mesh = init_device_mesh("cpu", (2,))
        settings = {"device_mesh": mesh, "placements": [Shard(0)]}
        torch.manual_seed(0)
        drawn = [dtensor.rand(3, 2, **settings), dtensor.randn((3, 2), **settings)]
        torch.manual_seed(0)
        expected = [torch.rand(3, 2), torch.randn(3, 2)]
        for one, other in zip(drawn, expected, strict=True):
            assert torch.equal(one.full_tensor(), other)
        again = dtensor.zeros(3, 2, **settings)
        torch.manual_seed(0)
        again.uniform_()
        assert torch.equal(again.full_tensor(), expected[0])
        torch.manual_seed(1)
        kept = nn.functional.dropout(dtensor.ones(3, 4, **settings), 0.5)
        torch.manual_seed(1)
        assert torch.equal(kept.full_tensor(), nn.functional.dropout(torch.ones(3, 4), 0.5))
        assert dtensor.full((2, 2), 7, **settings).tolist() == [[7, 7], [7, 7]]
        assert dtensor.ones(2, dtype=torch.int64, device_mesh=mesh).placements == (Replicate(),)
        assert dtensor.empty([3, 2], requires_grad=True, **settings).requires_grad
        with pytest.raises(ValueError, match="sharded or replicated"):
            dtensor.zeros(2, device_mesh=mesh, placements=[Partial()])
        return dtensor.zeros(3, 2, **settings).to_local().shape

    assert spawn(run, nprocs=2) == [(2, 2), (1, 2)]


def test_modules():
    def run(rank):
        mesh = init_device_mesh("cpu", (2,))

        def cut(name, module, mesh):
            if isinstance(module, nn.Linear):
                cut_weight = distribute_tensor(module.weight.detach(), mesh, [Shard(0)])
                module.register_parameter("weight", nn.Parameter(cut_weight))

        model = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4))
        with pytest.raises(TypeError, match="expected an nn.Module"):
            distribute_module(3, mesh)
        distribute_module(
            model,
            mesh,
            cut,
            lambda owner, inputs, mesh: distribute_tensor(inputs[0], mesh, [Replicate()]),
            lambda owner, out, mesh: out.full_tensor(),
        )
        assert model[0].weight.placements == (Shard(0),)
        assert model[0].bias.placements == (Replicate(),)
        assert isinstance(model[1].running_mean, DTensor)
        with pytest.raises(RuntimeError, match="only be called once"):
            distribute_module(model, mesh)
        return model.eval()(torch.ones(3, 2)).shape

    assert spawn(run, nprocs=2) == [(3, 4), (3, 4)]


def test_pickles_and_files(tmp_path):
    def run(rank):
        mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
        x = distribute_tensor(WHOLE, mesh, [Shard(0)])
        again = pickle.loads(pickle.dumps(x))
        assert again.device_mesh == mesh
        assert torch.equal(again.full_tensor(), WHOLE)
        state = {"x": x, "weight": nn.Parameter(x * 2), "later": x.to(torch.float64)}
        torch.save(state, tmp_path / f"{rank}.pt")
        read = torch.load(tmp_path / f"{rank}.pt")
        assert isinstance(read["weight"], nn.Parameter)
        assert read["weight"].requires_grad
        assert read["x"].device_mesh is read["later"].device_mesh
        return read["x"].placements, torch.equal(read["weight"].full_tensor(), WHOLE * 2)

    assert spawn(run, nprocs=2) == [((Shard(0),), True)] * 2


# ---------------------------------------------------------------- what is refused
def test_what_is_refused():
    def run(rank):
        mesh, pair = init_device_mesh("cpu", (2,)), init_device_mesh("cpu", (1, 2))
        x = distribute_tensor(WHOLE, mesh, [Shard(0)])
        y = torch.ones(2, requires_grad=True) * 2
        on_pair = distribute_tensor(WHOLE, pair, [Replicate()] * 2)
        refused = [
            (lambda: x + WHOLE, RuntimeError, "got mixed"),
            (lambda: x + on_pair, RuntimeError, "cross-mesh"),
            (lambda: x.redistribute(placements=[Partial()]), RuntimeError, "internal use only"),
            (lambda: x.redistribute(), RuntimeError, "placements is needed"),
            (lambda: x.redistribute(pair, [Replicate()] * 2), NotImplementedError, "Cross device"),
            (lambda: x.redistribute(placements=[Shard(0)] * 2), ValueError, "same length"),
            (lambda: x.redistribute(placements=[0]), TypeError, "expected a Placement"),
            (lambda: distribute_tensor(WHOLE, mesh, [Shard(2)]), RuntimeError, "greater than"),
            (lambda: distribute_tensor(WHOLE, 3, [Shard(0)]), TypeError, "expected a DeviceMesh"),
            (lambda: distribute_tensor(3, mesh), TypeError, "expected a Tensor"),
            (lambda: distribute_tensor(WHOLE), RuntimeError, "No device mesh"),
            (lambda: distribute_tensor(y, mesh), RuntimeError, "non-leaf"),
            (lambda: distribute_tensor(x, mesh, [Replicate()]), ValueError, "call `redistribute`"),
            (lambda: distribute_tensor(x, pair), ValueError, "different device mesh"),
            (lambda: DTensor.from_local(3, mesh), TypeError, "expected a Tensor"),
            (lambda: DTensor.from_local(WHOLE, mesh, [Shard(5)]), RuntimeError, "greater than"),
        ]
        for call, error, text in refused:
            with pytest.raises(error, match=text):
                call()
        assert distribute_tensor(x, mesh, [Shard(0)]) is x

    spawn(run, nprocs=2)


def test_an_op_without_a_rule_says_so_once():
    def run(rank):
        mesh = init_device_mesh("cpu", (1,))
        x = distribute_tensor(torch.eye(3), mesh, [Shard(0)])
        from tensorlab.distributed.tensor import dispatching

        dispatching.TOLD.discard("_linalg_svd")
        dispatching.PLANS.clear()
        with pytest.warns(UserWarning, match="no rule for parts"):
            first = torch.linalg.svd(x)
        torch.linalg.svd(x * 2)
        return first.S.full_tensor().tolist()

    assert spawn(run, nprocs=1) == [[1.0, 1.0, 1.0]]


def test_a_rank_outside_of_the_mesh_holds_nothing():
    def program(rank):
        mesh = DeviceMesh("cpu", [0, 1])
        x = distribute_tensor(torch.arange(4.0), mesh, [Shard(0)])
        return x.to_local().tolist()

    assert dist.threads.spawn(program, nprocs=3) == [[0.0, 1.0], [2.0, 3.0], []]
