"""Schedulers set the rates that PyTorch's set, to the last bit, and go on where they stopped."""

import functools
import math
import pickle
import warnings

import pytest

import tensorlab
from tensorlab.optim import lr_scheduler
from tests.oracle import require_torch

EPOCHS = 14
SCHEDULERS = {
    "lambda": lambda S, o: S.LambdaLR(o, lambda epoch: 0.95**epoch),
    "lambdas": lambda S, o: S.LambdaLR(o, [lambda epoch: 1 / (1 + epoch), lambda epoch: 0.5]),
    "multiplicative": lambda S, o: S.MultiplicativeLR(o, lambda epoch: 0.9 + 0.01 * epoch),
    "step": lambda S, o: S.StepLR(o, 3, 0.7),
    "multistep": lambda S, o: S.MultiStepLR(o, [2, 5, 5, 9], 0.3),
    "exponential": lambda S, o: S.ExponentialLR(o, 0.83),
    "constant": lambda S, o: S.ConstantLR(o, 0.3, 4),
    "linear": lambda S, o: S.LinearLR(o, 0.1, 0.9, 6),
    "cosine": lambda S, o: S.CosineAnnealingLR(o, 5, 0.001),
    "cosine of one": lambda S, o: S.CosineAnnealingLR(o, 1),
    "cosine of two": lambda S, o: S.CosineAnnealingLR(o, 2, 0.01),
    "sequential": lambda S, o: S.SequentialLR(
        o, [S.LinearLR(o, 0.1, 1.0, 4), S.CosineAnnealingLR(o, 6), S.StepLR(o, 2)], [4, 10]
    ),
}
PLATEAUS = [
    {"patience": 1},
    {"patience": 0, "factor": 0.5, "cooldown": 2, "min_lr": [0.01, 0.3]},
    {"mode": "max", "threshold": 0.2, "threshold_mode": "abs", "patience": 2},
    {"mode": "max", "threshold": 0.2, "patience": 0, "eps": 0.05},
]


def make_optimizer(T):
    groups = [{"params": [T.zeros(1, requires_grad=True)], "lr": 0.1 + i} for i in range(2)]
    return T.optim.SGD(groups, lr=1.0)


def rates(T, make, epochs=EPOCHS):
    optimizer = make_optimizer(T)
    scheduler = make(T.optim.lr_scheduler, optimizer)
    assert scheduler.optimizer is optimizer
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(epochs):
            now = [group["lr"] for group in optimizer.param_groups]
            assert scheduler.get_last_lr() == now
            found.append((scheduler.last_epoch, now))
            optimizer.step()
            scheduler.step()
    return found


@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_rates_are_those_of_pytorch(name):
    assert rates(tensorlab, SCHEDULERS[name]) == rates(require_torch(), SCHEDULERS[name])


class Resuming:
    """The schedulers of a package, each made to go on after its epoch 4."""

    def __init__(self, package):
        self.package = package

    def __getattr__(self, name):
        return functools.partial(getattr(self.package.optim.lr_scheduler, name), last_epoch=4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in SCHEDULERS if name != "sequential"])
def test_a_scheduler_that_is_made_for_a_later_epoch_goes_on_as_in_pytorch(name):
    found = []
    for package in (tensorlab, require_torch()):
        optimizer = make_optimizer(package)
        for group in optimizer.param_groups:
            group["initial_lr"] = 2 * group["lr"]
        scheduler = SCHEDULERS[name](Resuming(package), optimizer)
        rates_of_package = [scheduler.last_epoch, scheduler.get_last_lr()]
        for _ in range(EPOCHS):
            optimizer.step()
            scheduler.step()
            rates_of_package.append(scheduler.get_last_lr())
        found.append(rates_of_package)
    assert found[0] == found[1]


def test_the_state_of_a_scheduler_holds_no_functions_of_the_program():
    for name in ("lambda", "lambdas", "multiplicative"):
        state = SCHEDULERS[name](lr_scheduler, make_optimizer(tensorlab)).state_dict()
        assert pickle.loads(pickle.dumps(state)) == state


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_goes_on_where_it_was_saved(name):
    whole = rates(tensorlab, SCHEDULERS[name])
    first = make_optimizer(tensorlab)
    scheduler = SCHEDULERS[name](lr_scheduler, first)
    for _ in range(5):
        first.step()
        scheduler.step()
    second = make_optimizer(tensorlab)
    resumed = SCHEDULERS[name](lr_scheduler, second)
    second.load_state_dict(first.state_dict())
    resumed.load_state_dict(scheduler.state_dict())
    rest = []
    for _ in range(5, EPOCHS):
        rest.append((resumed.last_epoch, [group["lr"] for group in second.param_groups]))
        second.step()
        resumed.step()
    assert rest == whole[5:]


@pytest.mark.parametrize("options", PLATEAUS)
def test_a_plateau_reduces_the_rate_as_in_pytorch(options):
    values = [5.0, 4.0, 4.1, 4.0, 3.9999, 4.5, 1.0, 1.1, 1.2, 9.0, 9.1, 9.5, math.nan, 1.0, 1.0]
    results = []
    for T in (tensorlab, require_torch()):
        optimizer = make_optimizer(T)
        scheduler = T.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        found = [scheduler.get_last_lr()]
        for value in values:
            optimizer.step()
            scheduler.step(T.tensor(value))
            found.append(
                (scheduler.last_epoch, scheduler.get_last_lr(), scheduler.cooldown_counter)
            )
        results.append((found, scheduler.num_bad_epochs, scheduler.best))
    assert results[0][0] == results[1][0]
    assert results[0][1:] == pytest.approx(results[1][1:])


def test_a_scheduler_that_goes_on_needs_the_initial_rate():
    with pytest.raises(KeyError, match="has no 'initial_lr'"):
        lr_scheduler.StepLR(make_optimizer(tensorlab), 2, last_epoch=3)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda o: lr_scheduler.StepLR("sgd", 2), TypeError),
        (lambda o: lr_scheduler.LRScheduler(o), NotImplementedError),
        (lambda o: lr_scheduler.LambdaLR(o, [abs]), ValueError),
        (lambda o: lr_scheduler.ConstantLR(o, 2.0), ValueError),
        (lambda o: lr_scheduler.LinearLR(o, 0.0), ValueError),
        (lambda o: lr_scheduler.LinearLR(o, 0.5, 2.0), ValueError),
        (lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(o, 2)], [1]), ValueError),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=1.0), ValueError),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, mode="low"), ValueError),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, min_lr=[0.1]), ValueError),
        (lambda o: lr_scheduler.ReduceLROnPlateau("sgd"), TypeError),
    ],
)
def test_a_scheduler_refuses_bad_arguments(make, error):
    with pytest.raises(error):
        make(make_optimizer(tensorlab))


def test_a_scheduler_of_another_optimizer_is_refused():
    one, other = make_optimizer(tensorlab), make_optimizer(tensorlab)
    with pytest.raises(ValueError, match="another optimizer"):
        lr_scheduler.SequentialLR(one, [lr_scheduler.StepLR(other, 2)], [])
