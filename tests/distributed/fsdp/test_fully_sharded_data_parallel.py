"""FullyShardedDataParallel: the same weights as one process, policies, and forms of state dicts."""

import copy
import dataclasses
import functools
import importlib

import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab import nn
from tensorlab.distributed import fsdp
from tensorlab.distributed.fsdp import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateKeyType,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictType,
)
from tensorlab.distributed.fsdp import FullyShardedDataParallel as FSDP
from tensorlab.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from tensorlab.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    always_wrap_policy,
    enable_wrap,
    lambda_auto_wrap_policy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
    wrap,
)
from tensorlab.distributed.tensor import DTensor, Replicate, Shard
from tests.distributed import networks
from tests.distributed.networks import CASES, alone, assert_same, train, whole
from tests.oracle import require_torch

spawn = dist.threads.spawn
FULL, LOCAL, SHARDED = (
    StateDictType.FULL_STATE_DICT,
    StateDictType.LOCAL_STATE_DICT,
    StateDictType.SHARDED_STATE_DICT,
)
POLICY = ModuleWrapPolicy({networks.Block, nn.Linear})


def same_on_all_ranks(run, ranks, expected):
    for found in spawn(run, nprocs=ranks, timeout=30):
        assert_same(found, expected, losses=False)


@pytest.mark.filterwarnings("ignore:The `NO_SHARD`:FutureWarning")
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("strategy", ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"])
@pytest.mark.parametrize("case", CASES)
def test_gradients_and_weights_are_those_of_one_process(case, strategy, ranks):
    def run(rank):
        model, x, loss_of = CASES[case]()
        model = FSDP(model, sharding_strategy=ShardingStrategy[strategy], auto_wrap_policy=POLICY)
        return train(model, x.chunk(ranks)[rank], loss_of, clip=0.1)

    same_on_all_ranks(run, ranks, alone(case, clip=0.1))


def test_replicas_of_shards_by_mesh_and_by_groups():
    def run(rank, kind):
        model, x, loss_of = networks.mlp_case()
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
        if kind == "mesh":
            where = {"device_mesh": mesh}
        else:
            where = {"process_group": (mesh.get_group("shard"), mesh.get_group("replicate"))}
        model = FSDP(model, sharding_strategy=ShardingStrategy.HYBRID_SHARD, **where)
        assert model.up.weight.placements == (Replicate(), Shard(0))
        assert model.up.weight.device_mesh == mesh
        return train(model, x.chunk(4)[rank], loss_of)

    for kind in ("mesh", "groups"):
        for found in spawn(run, (kind,), nprocs=4):
            assert_same(found, alone("mlp"), losses=False)


def test_it_looks_like_the_module():
    def run(rank):
        plain = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
        model = FSDP(plain, auto_wrap_policy=always_wrap_policy, cpu_offload=CPUOffload(True))
        assert model.module is plain
        assert isinstance(model[0], FSDP)
        names = [name for name, _ in model.named_parameters()]
        assert model.check_is_root()
        assert not model[0].check_is_root()
        return names, len(FSDP.fsdp_modules(model)), len(FSDP.fsdp_modules(model, root_only=True))

    names = ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert spawn(run, nprocs=2)[0] == (names, 4, 1)


def test_policies():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.big, self.small = nn.Linear(20, 20), nn.Linear(2, 2)
            self.parts = nn.ModuleList([nn.Linear(20, 20)])

    def wrapped(policy):
        model = FSDP(Net(), auto_wrap_policy=policy)
        found = {one.module for one in FSDP.fsdp_modules(model)}
        base = model.module
        parts = {"big": base.big, "small": base.small, "parts.0": base.parts[0]}
        return sorted(name for name, one in parts.items() if getattr(one, "module", None) in found)

    def run(rank):
        small = functools.partial(size_based_auto_wrap_policy, min_num_params=100)
        by_class = functools.partial(
            transformer_auto_wrap_policy, transformer_layer_cls={nn.Linear}
        )
        by_function = functools.partial(
            lambda_auto_wrap_policy, lambda_fn=lambda one: getattr(one, "in_features", 0) == 2
        )
        custom = CustomPolicy(
            lambda one: (
                {"backward_prefetch": BackwardPrefetch.BACKWARD_POST}
                if getattr(one, "in_features", 0) == 20
                else False
            )
        )
        with pytest.raises(ValueError, match="should return False/True"):
            FSDP(Net(), auto_wrap_policy=CustomPolicy(lambda one: None))
        with enable_wrap(wrapper_cls=FSDP, backward_prefetch=None):
            assert isinstance(wrap(nn.Linear(2, 2)), FSDP)
        assert isinstance(wrap(nn.Linear(2, 2)), nn.Linear)
        return [wrapped(one) for one in (small, by_class, by_function, custom, POLICY)]

    big, all_of_them = ["big", "parts.0"], ["big", "parts.0", "small"]
    assert spawn(run, nprocs=2)[1] == [big, all_of_them, ["small"], big, all_of_them]


def test_gradients_are_added_up_without_sync():
    def run(rank):
        model, x, loss_of = networks.mlp_case()
        model = FSDP(model, auto_wrap_policy=POLICY)
        parts = x.chunk(4)[rank::2]
        with model.no_sync():
            (loss_of(model(parts[0]), x) / 2).backward()
        (loss_of(model(parts[1]), x) / 2).backward()
        return {name: whole(one.grad) for name, one in model.named_parameters()}

    model, x, loss_of = networks.mlp_case()
    loss_of(model(x), x).backward()
    for found in spawn(run, nprocs=2):
        for name, one in model.named_parameters():
            assert (found[name] - one.grad).abs().max() < 1e-12


@pytest.mark.parametrize("settings", [{"forward_prefetch": True}, {"backward_prefetch": None}])
def test_gathering_ahead_and_not(settings):
    def run(rank):
        model, x, loss_of = networks.gpt_case()
        model = FSDP(model, auto_wrap_policy=POLICY, **settings)
        return train(model, x.chunk(2)[rank], loss_of)

    same_on_all_ranks(run, 2, alone("gpt"))


def test_the_norm_of_all_gradients():
    def run(rank):
        model, x, loss_of = networks.mlp_case()
        model = FSDP(model)
        loss_of(model(x), x).backward()
        return model.clip_grad_norm_(0.05).item(), whole(model.up.weight.grad)

    model, x, loss_of = networks.mlp_case()
    loss_of(model(x), x).backward()
    expected = nn.utils.clip_grad_norm_(model.parameters(), 0.05).item()
    for norm, grad in spawn(run, nprocs=2):
        assert abs(norm - expected) < 1e-12
        assert (grad - model.up.weight.grad).abs().max() < 1e-12


def test_mixed_precision_of_parameters_buffers_and_inputs():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("shift", torch.ones(4))

        def forward(self, x):
            return self.layer(x) + self.shift

    def run(rank):
        half = torch.bfloat16
        model = FSDP(Net(), mixed_precision=MixedPrecision(half, torch.float32, half))
        out = model(torch.ones(1, 4))
        out.sum().backward()
        return out.dtype, model.shift.dtype, model.layer.weight.grad.dtype

    assert spawn(run, nprocs=2)[0] == (torch.bfloat16, torch.bfloat16, torch.float32)


def test_modules_without_memory_and_the_values_of_the_first_rank():
    def run(rank):
        with torch.device("meta"):
            model = networks.MLP()
        torch.manual_seed(rank)
        model = FSDP(model, sync_module_states=True)
        with FSDP.summon_full_params(model):
            return model.up.weight.detach().clone()

    first, second = spawn(run, nprocs=2)
    assert torch.equal(first, second)
    assert first.abs().sum() > 0


# ---------------------------------------------------------------- whole parameters, state dicts
def test_whole_parameters_in_a_block():
    def run(rank):
        plain, x, loss_of = networks.mlp_case()
        want = plain.up.weight.detach().clone()
        model = FSDP(plain, auto_wrap_policy=POLICY)
        loss_of(model(x), x).backward()
        with FSDP.summon_full_params(model, with_grads=True):
            assert torch.equal(model.up.weight, want)
            assert model.up.weight.grad.shape == want.shape
            with torch.no_grad():
                model.up.weight.add_(1)
                model.up.weight.grad.zero_()
        assert isinstance(model.up.weight, DTensor)
        assert torch.equal(whole(model.up.weight.detach()), want + 1)
        assert whole(model.up.weight.grad).abs().sum() == 0
        with FSDP.summon_full_params(model, writeback=False), torch.no_grad():
            model.up.weight.add_(1)
        model.apply(lambda one: one.bias.data.zero_() if isinstance(one, nn.Linear) else None)
        assert whole(model.down.bias.detach()).abs().sum() == 0
        return torch.equal(whole(model.up.weight.detach()), want + 1)

    assert spawn(run, nprocs=2) == [True, True]


@pytest.mark.parametrize("kind", [FULL, LOCAL, SHARDED])
def test_state_dicts_of_each_form_go_out_and_in(kind):
    def run(rank):
        plain, x, _ = networks.gpt_case()
        names = list(plain.state_dict())
        expected = plain(x)
        model = FSDP(plain, auto_wrap_policy=POLICY)
        with FSDP.state_dict_type(model, kind):
            state = model.state_dict()
        assert list(state) == names
        assert FSDP.get_state_dict_type(model).state_dict_type is FULL
        one = state["scores.weight"]
        assert isinstance(one, DTensor) == (kind is SHARDED)
        assert tuple(one.shape) == ((6 - rank, 16) if kind is LOCAL else (11, 16))
        other = FSDP(networks.GPT().double(), auto_wrap_policy=POLICY)
        FSDP.set_state_dict_type(other, kind)
        result = other.load_state_dict(state)
        assert not result.missing_keys
        return (other(x) - expected).abs().max().item()

    assert spawn(run, nprocs=2) == [0.0, 0.0]


def test_a_whole_state_dict_loads_in_one_process_and_back():
    def run(rank):
        model = FSDP(networks.MLP(), auto_wrap_policy=POLICY)
        config = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
        with FSDP.state_dict_type(model, FULL, config):
            state = model.state_dict()
        assert bool(state) == (rank == 0)
        return {name: one.clone() for name, one in state.items()}

    state, nothing = spawn(run, nprocs=2)
    assert nothing == {}
    networks.MLP().load_state_dict(state)


CONFIGS = [
    "StateDictConfig",
    "FullStateDictConfig",
    "LocalStateDictConfig",
    "ShardedStateDictConfig",
    "OptimStateDictConfig",
    "FullOptimStateDictConfig",
    "LocalOptimStateDictConfig",
    "ShardedOptimStateDictConfig",
]


@pytest.mark.parametrize("name", CONFIGS)
def test_settings_of_state_dicts_are_pytorchs(name):
    torch = require_torch()
    ours = getattr(fsdp, name)
    theirs = getattr(
        importlib.import_module("torch.distributed.fsdp.fully_sharded_data_parallel"), name
    )
    assert [(one.name, one.default) for one in dataclasses.fields(ours)] == [
        (one.name, one.default) for one in dataclasses.fields(theirs)
    ]
    bases = [one.__name__ for one in theirs.__mro__]
    assert [one.__name__ for one in ours.__mro__] == bases, torch.__version__


FORMS = {
    FULL: (fsdp.FullStateDictConfig, fsdp.FullOptimStateDictConfig),
    LOCAL: (fsdp.LocalStateDictConfig, fsdp.LocalOptimStateDictConfig),
    SHARDED: (fsdp.ShardedStateDictConfig, fsdp.ShardedOptimStateDictConfig),
}


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("is_given", [False, True])
def test_the_settings_of_a_form_are_set_and_restored(kind, is_given):
    def run(rank):
        model = FSDP(networks.MLP(), auto_wrap_policy=POLICY)
        given = [one(offload_to_cpu=True) for one in FORMS[kind]] if is_given else []
        before = FSDP.get_state_dict_type(model)
        with FSDP.state_dict_type(model, kind, *given):
            now = FSDP.get_state_dict_type(model)
            assert now.state_dict_type is kind
            found = [now.state_dict_config, now.optim_state_dict_config]
            assert found == (given or [one() for one in FORMS[kind]])
        return FSDP.get_state_dict_type(model) == before

    assert spawn(run, nprocs=2) == [True, True]


@pytest.mark.parametrize("rank0_only", [False, True])
def test_the_state_of_an_optimizer_at_all_ranks_or_at_the_first(rank0_only):
    def run(rank):
        model, x, loss_of = networks.mlp_case()
        model = FSDP(model, auto_wrap_policy=POLICY)
        optimizer = torch.optim.Adam(model.parameters())
        loss_of(model(x), x).backward()
        optimizer.step()
        config = fsdp.FullOptimStateDictConfig(rank0_only=rank0_only)
        with FSDP.state_dict_type(model, FULL, FullStateDictConfig(), config):
            state = FSDP.optim_state_dict(model, optimizer)
        return sorted(state.get("state", {}))

    names = ["down.bias", "down.weight", "up.bias", "up.weight"]
    assert spawn(run, nprocs=2) == [names, [] if rank0_only else names]


def test_a_sharded_part_in_a_plain_module():
    def run(rank):
        net = nn.Sequential(nn.Linear(2, 2), FSDP(nn.Linear(2, 2)))
        state = net.state_dict()
        other = nn.Sequential(nn.Linear(2, 2), FSDP(nn.Linear(2, 2)))
        other.load_state_dict(state)
        return list(state), torch.equal(whole(other[1].weight), whole(net[1].weight))

    names = ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert spawn(run, nprocs=2)[0] == (names, True)


def test_state_of_optimizers():
    def make(state=None):
        model, x, loss_of = networks.mlp_case()
        model = FSDP(model, auto_wrap_policy=POLICY)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        return model, x, loss_of, optimizer

    def step(model, x, loss_of, optimizer):
        optimizer.zero_grad()
        loss_of(model(x), x).backward()
        optimizer.step()

    def run(rank):
        model, x, loss_of, optimizer = make()
        step(model, x, loss_of, optimizer)
        weights, found = model.state_dict(), []
        full = FSDP.full_optim_state_dict(model, optimizer, rank0_only=False)
        assert tuple(full["state"]["down.weight"]["exp_avg"].shape) == (3, 12)
        assert (FSDP.full_optim_state_dict(model, optimizer) == {}) == (rank == 1)
        by_number = FSDP.rekey_optim_state_dict(
            full, OptimStateKeyType.PARAM_ID, model, optim=optimizer
        )
        assert list(by_number["state"]) == [0, 1, 2, 3]
        sharded = copy.deepcopy(FSDP.sharded_optim_state_dict(model, optimizer))
        assert isinstance(sharded["state"]["down.weight"]["exp_avg"], DTensor)
        scattered = full if rank == 0 else None
        step(model, x, loss_of, optimizer)
        expected = model.state_dict()
        for kind in ("full", "sharded", "scatter", "setting"):
            other, x, loss_of, another = make()
            other.load_state_dict(weights)
            if kind == "scatter":
                load = FSDP.scatter_full_optim_state_dict(scattered, other, optim=another)
                another.load_state_dict(load)
            elif kind == "setting":
                with FSDP.state_dict_type(
                    other, FULL, FullStateDictConfig(), FullOptimStateDictConfig()
                ):
                    load = FSDP.optim_state_dict_to_load(other, another, full, load_directly=True)
                    again = FSDP.optim_state_dict(other, another)
                assert torch.equal(
                    again["state"]["up.bias"]["exp_avg_sq"], full["state"]["up.bias"]["exp_avg_sq"]
                )
            else:
                given = full if kind == "full" else sharded
                another.load_state_dict(FSDP.optim_state_dict_to_load(other, another, given))
            step(other, x, loss_of, another)
            found.append(
                all(torch.equal(one, expected[name]) for name, one in other.state_dict().items())
            )
        return found

    assert spawn(run, nprocs=2) == [[True] * 4] * 2


# ---------------------------------------------------------------- what is refused
def test_what_is_refused():
    def run(rank):
        with pytest.raises(TypeError, match=r"expected an nn\.Module"):
            FSDP(3)
        with pytest.raises(TypeError, match="expected a ShardingStrategy"):
            FSDP(nn.Linear(1, 1), sharding_strategy="FULL_SHARD")
        with pytest.raises(ValueError, match="both ignored_modules and ignored_states"):
            FSDP(nn.Linear(1, 1), ignored_modules=[], ignored_states=[])
        mesh = dist.init_device_mesh("cpu", (2,))
        with pytest.raises(ValueError, match="both process_group and device_mesh"):
            FSDP(nn.Linear(1, 1), process_group=mesh.get_group(), device_mesh=mesh)
        with pytest.raises(ValueError, match="needs a device_mesh of 2 dimensions"):
            FSDP(nn.Linear(1, 1), device_mesh=mesh, sharding_strategy=ShardingStrategy.HYBRID_SHARD)
        with pytest.raises(ValueError, match="pair of process groups"):
            FSDP(nn.Linear(1, 1), mesh.get_group(), sharding_strategy=ShardingStrategy.HYBRID_SHARD)
        model = FSDP(nn.Linear(2, 2))
        with pytest.raises(RuntimeError, match="Expected FullStateDictConfig"):
            FSDP.set_state_dict_type(model, FULL, ShardedStateDictConfig())
        with pytest.raises(ValueError, match="no part of the module"):
            FSDP.get_state_dict_type(nn.Linear(1, 1))
        with pytest.raises(NotImplementedError, match="communication hooks"):
            model.register_comm_hook(None, None)
        with (
            pytest.raises(NotImplementedError, match="rank0_only"),
            FSDP.summon_full_params(model, rank0_only=True),
        ):
            pass
        with pytest.raises(AttributeError):
            _ = model.nothing_like_it
        net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        model = FSDP(net, ignored_modules=[net[0]])
        FSDP.set_state_dict_type(model, LOCAL, LocalStateDictConfig())
        return type(model[0].weight).__name__, type(model[1].weight).__name__

    assert spawn(run, nprocs=2)[0] == ("Parameter", "DTensor")


def test_a_step_is_left_out_at_all_ranks_or_at_none():
    def run(rank):
        model, x, loss_of = networks.mlp_case(torch.float32)
        model = FSDP(model, ignored_states=[model.down.bias])
        scaler = ShardedGradScaler(init_scale=4.0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with pytest.raises(TypeError, match="expected a ProcessGroup"):
            ShardedGradScaler(process_group=3)
        scales = []
        for bad in (False, True):
            optimizer.zero_grad()
            x = x.clone()
            if bad and rank == 1:
                x[0, 0] = float("inf")
            scaler.scale(loss_of(model(x), x)).backward()
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        return scales, bool(whole(model.up.weight.detach()).isfinite().all())

    assert spawn(run, nprocs=2) == [([4.0, 2.0], True)] * 2
