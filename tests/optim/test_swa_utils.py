"""Averages of models, statistics for them and the rate while averaging: PyTorch's numbers."""

import copy
import warnings

import pytest

import tensorlab
from tensorlab.optim import swa_utils
from tests.oracle import require_torch


def make_model(T):
    """Return a small network with the same numbers in both packages, one buffer not of floats."""
    T.manual_seed(3)
    return T.nn.Sequential(T.nn.Linear(3, 4), T.nn.BatchNorm1d(4), T.nn.ReLU(), T.nn.Linear(4, 2))


def train(T, averaged_of, steps=5):
    """Train a model and take it into an average after each step; return the average."""
    model = make_model(T)
    averaged = averaged_of(T, model)
    optimizer = T.optim.SGD(model.parameters(), lr=0.1)
    for i in range(steps):
        x = T.linspace(-1, 1, 24).reshape(8, 3) * (i + 1)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        averaged.update_parameters(model)
    return averaged


def flat(x):
    return x.reshape(-1).tolist()


def plain_function(average, current, count):
    return 0.3 * average + 0.7 * current + 0.01 * count


AVERAGES = {
    "mean": lambda U: {},
    "mean by a function": lambda U: {"avg_fn": U.get_swa_avg_fn()},
    "mean by a function of lists": lambda U: {"multi_avg_fn": U.get_swa_multi_avg_fn()},
    "fading": lambda U: {"avg_fn": U.get_ema_avg_fn(0.8)},
    "fading lists": lambda U: {"multi_avg_fn": U.get_ema_multi_avg_fn()},
    "buffers too": lambda U: {"use_buffers": True},
    "fading buffers": lambda U: {"use_buffers": True, "multi_avg_fn": U.get_ema_multi_avg_fn(0.6)},
    "own": lambda U: {"avg_fn": plain_function},
}


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_are_those_of_pytorch(name):
    def averaged_of(T, model):
        utils = T.optim.swa_utils
        return utils.AveragedModel(model, **AVERAGES[name](utils))

    ours, theirs = (train(T, averaged_of) for T in (tensorlab, require_torch()))
    mine, other = ours.state_dict(), theirs.state_dict()
    assert list(mine) == list(other)
    for key, value in mine.items():
        assert str(value.dtype).split(".")[1] == str(other[key].dtype).split(".")[1]
        assert flat(value) == pytest.approx(flat(other[key]), rel=1e-5, abs=1e-6)
    x = [[0.5, -1.0, 2.0], [1.0, 1.0, 1.0]]
    results = ours(tensorlab.tensor(x)), theirs(require_torch().tensor(x))
    assert flat(results[0]) == pytest.approx(flat(results[1]), rel=1e-5, abs=1e-6)


def test_an_average_is_a_copy_that_says_how_many_it_holds():
    model = make_model(tensorlab)
    averaged = swa_utils.AveragedModel(model)
    assert averaged.n_averaged.dtype is tensorlab.int64
    assert averaged.n_averaged.shape == ()
    first = model[0].weight.detach().clone()
    with tensorlab.no_grad():
        model[0].weight.add_(1)
    assert tensorlab.equal(averaged.module[0].weight, first)
    averaged.update_parameters(model)  # the first is taken as it is
    assert tensorlab.equal(averaged.module[0].weight, first + 1)
    assert averaged.n_averaged == 1
    assert averaged.module[0].weight.grad_fn is None
    other = swa_utils.AveragedModel(make_model(tensorlab))
    other.load_state_dict(averaged.state_dict())
    assert other.n_averaged == 1
    assert "module.0.weight" in averaged.state_dict()


def test_an_average_on_another_device_and_two_functions():
    model = make_model(tensorlab)
    averaged = swa_utils.AveragedModel(model, device="meta")
    assert {x.device.type for x in averaged.parameters()} == {"meta"}
    assert averaged.n_averaged.device.type == "meta"
    assert {x.device.type for x in model.parameters()} == {"cpu"}
    with pytest.raises(AssertionError, match="one of them"):
        swa_utils.AveragedModel(model, avg_fn=plain_function, multi_avg_fn=plain_function)


@pytest.mark.parametrize("decay", [-0.1, 1.1])
def test_a_decay_out_of_range_is_refused(decay):
    for make in (swa_utils.get_ema_avg_fn, swa_utils.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match=str(decay)):
            make(decay)
        make(0)
        make(1)


def test_averages_of_integers_keep_their_type():
    average = [tensorlab.tensor([2, 4])]
    swa_utils.get_swa_multi_avg_fn()(average, [tensorlab.tensor([5, 11])], tensorlab.tensor(2))
    assert average[0].tolist() == [3, 6]
    for T in (tensorlab, require_torch()):
        average = [T.tensor([3, 7])]
        T.optim.swa_utils.get_ema_multi_avg_fn(0.75)(average, [T.tensor([7, 23])], None)
        assert average[0].tolist() == [4, 11]


# ------------------------------------------------------------ statistics
@pytest.mark.parametrize("as_pairs", [False, True])
def test_statistics_are_computed_anew(as_pairs):
    found = []
    for T in (tensorlab, require_torch()):
        model = make_model(T)
        norm = model[1]
        norm.momentum = 0.3
        with T.no_grad():
            norm.running_mean.fill_(100)
        model.eval()
        batches = [T.linspace(0, i + 1.0, 12).reshape(4, 3) for i in range(3)]
        loader = [(batch, None) for batch in batches] if as_pairs else batches
        assert T.optim.swa_utils.update_bn(loader, model, device="cpu") is None
        assert (norm.momentum, model.training, norm.training) == (0.3, False, False)
        assert norm.num_batches_tracked == 3
        assert norm.running_mean.requires_grad is False
        found.append(norm.running_mean.tolist() + norm.running_var.tolist())
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_a_model_without_batch_norm_is_not_run():
    def loader():
        raise AssertionError("not needed")
        yield

    swa_utils.update_bn(loader(), tensorlab.nn.Linear(1, 1))


def test_statistics_are_moved_to_the_device_that_is_given():
    class Batch:
        def to(self, device):
            moved_to.append(device)
            return tensorlab.ones(4, 3)

    moved_to = []
    swa_utils.update_bn([Batch(), [Batch(), "label"]], make_model(tensorlab), device="cpu")
    assert moved_to == ["cpu", "cpu"]


# ------------------------------------------------------------ the rate
RATES = {
    "cosine": {"swa_lr": 0.05},
    "line": {"swa_lr": [0.5, 0.05], "anneal_epochs": 3, "anneal_strategy": "linear"},
    "at once": {"swa_lr": 0.05, "anneal_epochs": 0},
    "long": {"swa_lr": 0.2, "anneal_epochs": 40},
}


@pytest.mark.parametrize("name", RATES)
def test_the_rate_goes_to_its_target_as_in_pytorch(name):
    found = []
    for T in (tensorlab, require_torch()):
        groups = [{"params": [T.zeros(1, requires_grad=True)], "lr": 0.1 + i} for i in range(2)]
        optimizer = T.optim.SGD(groups, lr=1.0)
        before = T.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        scheduler = T.optim.swa_utils.SWALR(optimizer, **RATES[name])
        seen = []
        for i in range(16):
            optimizer.step()
            (before if i == 4 else scheduler).step()
            state = scheduler.state_dict()
            seen.append(
                (scheduler.get_last_lr(), state, [g["swa_lr"] for g in optimizer.param_groups])
            )
            copied = T.optim.swa_utils.SWALR(copy.deepcopy(optimizer), 9.0, anneal_strategy="cos")
            copied.load_state_dict(state)
            assert copied.state_dict() == state
        found.append(seen)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anneal_strategy": "sin"}, "sin"),
        ({"anneal_epochs": -1}, "-1"),
        ({"anneal_epochs": 1.5}, "1.5"),
        ({"swa_lr": [0.1, 0.2, 0.3]}, "swa_lr.*3.*1"),
    ],
)
def test_rates_out_of_range_are_refused_as_in_pytorch(options, message):
    for T in (tensorlab, require_torch()):
        optimizer = T.optim.SGD([T.zeros(1, requires_grad=True)], lr=1.0)
        with pytest.raises(ValueError, match=message):
            T.optim.swa_utils.SWALR(optimizer, **{"swa_lr": 0.1, **options})
        assert T is not tensorlab or "swa_lr" not in optimizer.param_groups[0]


def test_the_rate_asked_for_outside_of_a_step_is_warned_of():
    optimizer = tensorlab.optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler = swa_utils.SWALR(optimizer, 0.1)
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()
