"""Schedulers set the rates that PyTorch's set, to the last bit, and go on where they stopped."""

import copy
import functools
import math
import pickle
import warnings

import pytest

import tensorlab
from tensorlab.optim import lr_scheduler
from tensorlab.optim.swa_utils import SWALR
from tests.oracle import require_torch

EPOCHS = 14


class Halved:
    """A function with state: half to the power of epochs."""

    def __init__(self, factor=0.5):
        self.factor = factor

    def __call__(self, epoch):
        return self.factor**epoch


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
    "callable object": lambda S, o: S.LambdaLR(o, Halved()),
    "constant from the start": lambda S, o: S.ConstantLR(o),
    "linear down to nothing": lambda S, o: S.LinearLR(o, 1.0, 0.0, 9),
    "polynomial": lambda S, o: S.PolynomialLR(o, 9, 1.7),
    "polynomial, defaults": lambda S, o: S.PolynomialLR(o),
    "restarts": lambda S, o: S.CosineAnnealingWarmRestarts(o, 4, 1, 0.003),
    "longer restarts": lambda S, o: S.CosineAnnealingWarmRestarts(o, 2, 2),
    "cyclic": lambda S, o: S.CyclicLR(o, 0.01, 0.5, 4),
    "cyclic halved": lambda S, o: S.CyclicLR(
        o, [0.01, 0.02], [0.5, 0.7], 2, 3, "triangular2", base_momentum=[0.7, 0.6]
    ),
    "cyclic range": lambda S, o: S.CyclicLR(
        o, 0.01, 0.5, 3, mode="exp_range", gamma=0.9, cycle_momentum=False
    ),
    "cyclic scaled": lambda S, o: S.CyclicLR(o, 0.01, 0.5, 2, scale_fn=lambda x: 1 / (1 + x)),
    "cyclic by batches": lambda S, o: S.CyclicLR(
        o, 0.01, 0.5, 2, scale_fn=Halved(0.9), scale_mode="iterations", max_momentum=0.99
    ),
    "one cycle": lambda S, o: S.OneCycleLR(o, 0.9, EPOCHS),
    "one cycle of three phases": lambda S, o: S.OneCycleLR(
        o, [0.9, 1.9], epochs=4, steps_per_epoch=4, pct_start=0.4, three_phase=True
    ),
    "one cycle of lines": lambda S, o: S.OneCycleLR(
        o,
        0.9,
        15,
        anneal_strategy="linear",
        cycle_momentum=False,
        div_factor=10.0,
        final_div_factor=100.0,
    ),
    "one cycle with momentum": lambda S, o: S.OneCycleLR(
        o, 0.9, 17, pct_start=0.5, base_momentum=0.5, max_momentum=[0.8, 0.9]
    ),
    "sequential": lambda S, o: S.SequentialLR(
        o, [S.LinearLR(o, 0.1, 1.0, 4), S.CosineAnnealingLR(o, 6), S.StepLR(o, 2)], [4, 10]
    ),
    "chained": lambda S, o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)]),
    "sequence with a chain": lambda S, o: S.SequentialLR(
        o,
        [
            S.ChainedScheduler([S.LinearLR(o, 0.2, total_iters=3), S.StepLR(o, 2, 0.8)]),
            S.ExponentialLR(o, 0.7),
        ],
        [15],
    ),
}
MADE_OF_OTHERS = ["sequential", "chained", "sequence with a chain"]
PLATEAUS = [
    {"patience": 1},
    {"patience": 0, "factor": 0.5, "cooldown": 2, "min_lr": [0.01, 0.3]},
    {"mode": "max", "threshold": 0.2, "threshold_mode": "abs", "patience": 2},
    {"mode": "max", "threshold": 0.2, "patience": 0, "eps": 0.05},
]


def make_optimizer(T, kind="SGD"):
    groups = [{"params": [T.zeros(1, requires_grad=True)], "lr": 0.1 + i} for i in range(2)]
    if kind == "SGD":
        return T.optim.SGD(groups, lr=1.0, momentum=0.9)
    return getattr(T.optim, kind)(groups, lr=1.0)


def options_of(optimizer):
    """Return all options of the groups but the parameters."""
    return [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]


def walk(T, make, epochs=EPOCHS, kind="SGD"):
    """Return after each epoch the options of the optimizer and the state of its scheduler."""
    optimizer = make_optimizer(T, kind)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler = make(T.optim.lr_scheduler, optimizer)
        assert scheduler.optimizer is optimizer
        for _ in range(epochs):
            now = copy.deepcopy(options_of(optimizer))
            assert scheduler.get_last_lr() == [options["lr"] for options in now]
            found.append((now, copy.deepcopy(scheduler.state_dict())))
            optimizer.step()
            scheduler.step()
    return found


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_momenta_and_states_are_those_of_pytorch(name, kind):
    ours, theirs = (walk(T, SCHEDULERS[name], kind=kind) for T in (tensorlab, require_torch()))
    for (options, state), (their_options, their_state) in zip(ours, theirs, strict=True):
        for mine, other in zip(options, their_options, strict=True):
            assert mine == {k: other[k] for k in mine}
            assert set(other) - set(mine) <= {"decoupled_weight_decay"}
        assert state == their_state


@pytest.mark.parametrize("name", ["exponential", "cosine", "longer restarts", "cyclic"])
def test_ten_thousand_epochs_later_the_rates_are_still_those_of_pytorch(name):
    ours, theirs = [], []
    for T, found in ((tensorlab, ours), (require_torch(), theirs)):
        optimizer = make_optimizer(T)
        scheduler = SCHEDULERS[name](T.optim.lr_scheduler, optimizer)
        optimizer.step()
        for _ in range(10_000):
            scheduler.step()
            found.append(scheduler.get_last_lr())
    assert ours == theirs


class Resuming:
    """The schedulers of a package, each made to go on after its epoch 4."""

    def __init__(self, package):
        self.package = package

    def __getattr__(self, name):
        return functools.partial(getattr(self.package.optim.lr_scheduler, name), last_epoch=4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    # PyTorch forgets that waves have become longer
    [name for name in SCHEDULERS if name not in (*MADE_OF_OTHERS, "longer restarts")],
)
def test_a_scheduler_that_is_made_for_a_later_epoch_goes_on_as_in_pytorch(name):
    found = []
    for package in (tensorlab, require_torch()):
        optimizer = make_optimizer(package)
        for group in optimizer.param_groups:
            group["initial_lr"] = 2 * group["lr"]
            group |= {"max_lr": 3.0, "min_lr": 0.1, "max_momentum": 0.9, "base_momentum": 0.8}
        scheduler = SCHEDULERS[name](Resuming(package), optimizer)
        rates_of_package = [scheduler.last_epoch, scheduler.get_last_lr()]
        for _ in range(EPOCHS - 6):
            optimizer.step()
            scheduler.step()
            rates_of_package.append(scheduler.get_last_lr())
        found.append(rates_of_package)
    assert found[0] == found[1]


def test_the_state_of_a_scheduler_holds_no_functions_of_the_program():
    for name in ("lambda", "lambdas", "multiplicative", "cyclic scaled", "cyclic range"):
        state = SCHEDULERS[name](lr_scheduler, make_optimizer(tensorlab)).state_dict()
        assert pickle.loads(pickle.dumps(state)) == state


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_goes_on_where_it_was_saved(name):
    whole = walk(tensorlab, SCHEDULERS[name])
    first = make_optimizer(tensorlab)
    scheduler = SCHEDULERS[name](lr_scheduler, first)
    for _ in range(5):
        first.step()
        scheduler.step()
    second = make_optimizer(tensorlab)
    resumed = SCHEDULERS[name](lr_scheduler, second)
    second.load_state_dict(first.state_dict())
    state = scheduler.state_dict()
    resumed.load_state_dict(state)
    assert state == scheduler.state_dict()
    for options, at in whole[5:]:
        assert (options_of(second), resumed.state_dict()) == (options, at)
        second.step()
        resumed.step()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_state_goes_to_pytorch_and_back(name):
    torch = require_torch()
    whole = walk(tensorlab, SCHEDULERS[name])
    for source, target in ((tensorlab, torch), (torch, tensorlab)):
        first, second = make_optimizer(source), make_optimizer(target)
        scheduler = SCHEDULERS[name](source.optim.lr_scheduler, first)
        for _ in range(5):
            first.step()
            scheduler.step()
        resumed = SCHEDULERS[name](target.optim.lr_scheduler, second)
        for group, options in zip(second.param_groups, options_of(first), strict=True):
            group.update(options)
        resumed.load_state_dict(scheduler.state_dict())
        for options, _ in whole[5:]:
            assert resumed.get_last_lr() == [one["lr"] for one in options]
            second.step()
            resumed.step()


def test_the_attributes_of_a_callable_object_are_saved_and_loaded():
    for make in (
        lambda o, function: lr_scheduler.LambdaLR(o, [function, abs_of_epoch]),
        lambda o, function: lr_scheduler.CyclicLR(o, 0.1, 0.5, scale_fn=function),
    ):
        state = make(make_optimizer(tensorlab), Halved(0.25)).state_dict()
        assert pickle.loads(pickle.dumps(state)) == state
        function = Halved()
        make(make_optimizer(tensorlab), function).load_state_dict(state)
        assert function.factor == 0.25


def abs_of_epoch(epoch):
    return abs(epoch)


@pytest.mark.filterwarnings("ignore:scheduler.step:UserWarning", "ignore:The epoch:UserWarning")
@pytest.mark.parametrize("name", [name for name in SCHEDULERS if name not in MADE_OF_OTHERS])
def test_a_step_to_an_epoch_uses_the_closed_form(name):
    found = []
    for T in (tensorlab, require_torch()):
        optimizer = make_optimizer(T)
        scheduler = SCHEDULERS[name](T.optim.lr_scheduler, optimizer)
        optimizer.step()
        seen = []
        for epoch in (0, 3, 4, 5, 9, 2, 7):
            scheduler.step(epoch)
            seen.append((scheduler.last_epoch, scheduler.get_last_lr()))
        found.append(seen)
    assert found[0] == found[1]


@pytest.mark.parametrize("T_mult", [1, 2, 3])
def test_restarts_take_fractions_of_an_epoch(T_mult):
    found = []
    for T in (tensorlab, require_torch()):
        optimizer = make_optimizer(T)
        scheduler = T.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2, T_mult, 0.01)
        seen = []
        for tenths in range(0, 200, 3):
            scheduler.step(tenths / 10)
            seen.append(
                (scheduler.get_last_lr(), scheduler.last_epoch, scheduler.T_cur, scheduler.T_i)
            )
        found.append(seen)
        with pytest.raises(ValueError, match=r"-1"):
            scheduler.step(-1)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "name", ["exponential", "cosine", "longer restarts", "cyclic", "one cycle"]
)
def test_a_rate_that_is_a_tensor_is_filled(name):
    found = []
    for T in (tensorlab, require_torch()):
        optimizer = T.optim.Adam([T.zeros(1, requires_grad=True)], lr=T.tensor(0.5), foreach=False)
        rate = optimizer.param_groups[0]["lr"]
        scheduler = SCHEDULERS[name](T.optim.lr_scheduler, optimizer)
        seen = []
        for _ in range(6):
            optimizer.step()
            scheduler.step()
            assert optimizer.param_groups[0]["lr"] is rate
            (last,) = scheduler.get_last_lr()
            assert last is not rate
            seen += [float(rate), float(last)]
        found.append(seen)
    assert found[0] == pytest.approx(found[1], rel=1e-6)


# ------------------------------------------------------------ warnings
def test_a_scheduler_warns_if_it_steps_first():
    optimizer = make_optimizer(tensorlab)
    scheduler = lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="before `optimizer.step") as caught:
        scheduler.step()
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()  # only once
        lr_scheduler.StepLR(optimizer, 2)
        in_order = make_optimizer(tensorlab)
        schedulers = [lr_scheduler.StepLR(in_order, 2), lr_scheduler.ExponentialLR(in_order, 0.5)]
        in_order.step()
        schedulers[0].step()
        lr_scheduler.StepLR(in_order, 3)  # does not forget that there was a step
        schedulers[1].step()


@pytest.mark.parametrize("name", [name for name in SCHEDULERS if name not in MADE_OF_OTHERS])
def test_get_lr_warns_outside_of_a_step(name):
    scheduler = SCHEDULERS[name](lr_scheduler, make_optimizer(tensorlab))
    with pytest.warns(UserWarning, match="get_last_lr") as caught:
        scheduler.get_lr()
    assert caught[0].filename == __file__


def test_an_epoch_given_to_a_step_is_warned_of():
    optimizer = make_optimizer(tensorlab)
    optimizer.step()
    for scheduler, arguments in (
        (lr_scheduler.StepLR(optimizer, 2), ()),
        (lr_scheduler.ReduceLROnPlateau(optimizer), (1.0,)),
    ):
        optimizer.step()
        with pytest.warns(UserWarning, match="epoch parameter is deprecated") as caught:
            scheduler.step(*arguments, epoch=7)
        assert caught[0].filename == __file__
        assert scheduler.last_epoch == 7


@pytest.mark.parametrize("mode", ["min", "max"])
def test_a_metric_that_stays_is_no_improvement(mode):
    optimizer = tensorlab.optim.SGD([tensorlab.ones(1, requires_grad=True)], lr=1.0)
    scheduler = tensorlab.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode, patience=1, threshold=0, threshold_mode="abs"
    )
    for _ in range(4):
        scheduler.step(2.0)
    assert scheduler.get_last_lr() == [0.1]


# ------------------------------------------------------------ plateaus
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


def test_a_plateau_knows_groups_that_are_added_later():
    for T in (tensorlab, require_torch()):
        optimizer = make_optimizer(T)
        scheduler = T.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=0.05)
        listed = T.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.05, 0.05])
        optimizer.add_param_group({"params": [T.zeros(1, requires_grad=True)], "lr": 0.2})
        for value in (1.0, 2.0):
            scheduler.step(value)
        assert scheduler.get_last_lr() == [0.05, 0.11000000000000001, 0.05]
        listed.step(1.0)
        with pytest.raises(RuntimeError, match=r"3.*2"):
            listed.step(2.0)


def test_a_plateau_goes_on_where_it_was_saved():
    states = []
    for T in (tensorlab, require_torch()):
        first, second = make_optimizer(T), make_optimizer(T)
        scheduler = T.optim.lr_scheduler.ReduceLROnPlateau(
            first, mode="max", patience=1, cooldown=1
        )
        for value in (1.0, 0.5, 0.5, 0.4):
            scheduler.step(value)
        states.append(scheduler.state_dict())
        resumed = T.optim.lr_scheduler.ReduceLROnPlateau(second, patience=5)
        resumed.load_state_dict(scheduler.state_dict())
        assert resumed.state_dict() == scheduler.state_dict()
        resumed.step(2.0)
        assert (resumed.best, resumed.num_bad_epochs, resumed.in_cooldown) == (2.0, 0, False)
    assert states[0] == states[1]


# ------------------------------------------------------------ what is refused
def test_a_scheduler_that_goes_on_needs_the_initial_rate():
    with pytest.raises(KeyError, match="has no 'initial_lr'"):
        lr_scheduler.StepLR(make_optimizer(tensorlab), 2, last_epoch=3)


REFUSED = [
    (lambda S, o: S.StepLR("sgd", 2), "str"),
    (lambda S, o: S.CyclicLR("sgd", 0.1, 0.2), "str"),
    (lambda S, o: S.OneCycleLR("sgd", 0.1, 5), "str"),
    (lambda S, o: S.ReduceLROnPlateau("sgd"), "str"),
    (lambda S, o: S.LRScheduler(o), "get_lr|"),
    (lambda S, o: S.LambdaLR(o, [abs]), "2.*1"),
    (lambda S, o: S.MultiplicativeLR(o, [abs, abs, abs]), "2.*3"),
    (lambda S, o: S.MultiplicativeLR(o, 0.5), "float"),
    (lambda S, o: S.MultiplicativeLR(o, [abs, 0.5]), "float"),
    (lambda S, o: S.ConstantLR(o, 2.0), "factor|Factor"),
    (lambda S, o: S.ConstantLR(o, -0.1), "factor|Factor"),
    (lambda S, o: S.LinearLR(o, 0.0), "factor|Factor"),
    (lambda S, o: S.LinearLR(o, 1.1), "factor|Factor"),
    (lambda S, o: S.LinearLR(o, 0.5, 2.0), "factor|Factor"),
    (lambda S, o: S.LinearLR(o, 0.5, -0.1), "factor|Factor"),
    (lambda S, o: S.CosineAnnealingWarmRestarts(o, 0), "0"),
    (lambda S, o: S.CosineAnnealingWarmRestarts(o, 1.5), "1.5"),
    (lambda S, o: S.CosineAnnealingWarmRestarts(o, 1, 0), "0"),
    (lambda S, o: S.CosineAnnealingWarmRestarts(o, 1, 1.5), "1.5"),
    (lambda S, o: S.CosineAnnealingWarmRestarts(o, 1, 1, "low"), "low"),
    (lambda S, o: S.CyclicLR(o, 0.1, 0.2, mode="square"), "invalid|square"),
    (lambda S, o: S.CyclicLR(o, [0.1], 0.2), "base_lr.*1.*2"),
    (lambda S, o: S.CyclicLR(o, 0.1, [0.2, 0.3, 0.4]), "max_lr.*3.*2"),
    (lambda S, o: S.CyclicLR(no_momentum(o), 0.1, 0.2), "momentum"),
    (lambda S, o: S.OneCycleLR(no_momentum(o), 0.1, 5), "momentum"),
    (lambda S, o: S.OneCycleLR(o, 0.1), "total_steps"),
    (lambda S, o: S.OneCycleLR(o, 0.1, epochs=3), "total_steps"),
    (lambda S, o: S.OneCycleLR(o, 0.1, steps_per_epoch=3), "total_steps"),
    (lambda S, o: S.OneCycleLR(o, 0.1, 0), "0"),
    (lambda S, o: S.OneCycleLR(o, 0.1, 1.5), "1.5"),
    (lambda S, o: S.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=2), "epochs.*0"),
    (lambda S, o: S.OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=0), "steps_per_epoch.*0"),
    (lambda S, o: S.OneCycleLR(o, 0.1, 5, pct_start=1), "1"),
    (lambda S, o: S.OneCycleLR(o, 0.1, 5, pct_start=1.1), "1.1"),
    (lambda S, o: S.OneCycleLR(o, 0.1, 5, pct_start=-0.1), "-0.1"),
    (lambda S, o: S.OneCycleLR(o, 0.1, 5, anneal_strategy="sin"), "sin"),
    (lambda S, o: S.OneCycleLR(o, [0.1], 5), "max_lr.*1.*2"),
    (lambda S, o: S.SequentialLR(o, [S.StepLR(o, 2)], [1]), "1.*1"),
    (lambda S, o: S.SequentialLR(o, [], []), "at least one"),
    (lambda S, o: S.SequentialLR(o, [S.StepLR(o, 2), 3], [1]), "1"),
    (lambda S, o: S.SequentialLR(o, [S.ReduceLROnPlateau(o)], []), "ReduceLROnPlateau"),
    (lambda S, o: S.SequentialLR(o, [S.StepLR(copy.deepcopy(o), 2)], []), "optimizer"),
    (lambda S, o: S.ChainedScheduler([]), "at least one"),
    (lambda S, o: S.ChainedScheduler([S.StepLR(o, 2), 3]), "1"),
    (lambda S, o: S.ChainedScheduler([S.StepLR(o, 2), S.ReduceLROnPlateau(o)]), "1"),
    (lambda S, o: S.ChainedScheduler([S.StepLR(o, 2), S.StepLR(copy.deepcopy(o), 2)]), "1"),
    (lambda S, o: S.ChainedScheduler([S.StepLR(copy.deepcopy(o), 2)], o), "optimizer"),
    (lambda S, o: S.ReduceLROnPlateau(o, factor=1.0), "factor|Factor"),
    (lambda S, o: S.ReduceLROnPlateau(o, mode="low"), "low"),
    (lambda S, o: S.ReduceLROnPlateau(o, threshold_mode="low"), "low"),
    (lambda S, o: S.ReduceLROnPlateau(o, min_lr=[0.1]), "2.*1"),
    (lambda S, o: S.StepLR(o, 2, last_epoch=3), "initial_lr"),
]


def no_momentum(optimizer):
    """Return an optimizer of the same package that has none."""
    T = require_torch() if type(optimizer).__module__.startswith("torch") else tensorlab
    return T.optim.Rprop([T.zeros(1, requires_grad=True)])


@pytest.mark.parametrize("index", range(len(REFUSED)))
def test_a_scheduler_refuses_bad_arguments_as_pytorch_does(index):
    make, message = REFUSED[index]
    errors = []
    for T in (tensorlab, require_torch()):
        optimizer = make_optimizer(T)
        before = options_of(optimizer)
        with pytest.raises(Exception, match=message) as caught:
            make(T.optim.lr_scheduler, optimizer)
        errors.append(caught.type)
        if T is tensorlab:
            after = zip(options_of(optimizer), before, strict=True)
            assert all(now[k] == old[k] for now, old in after for k in old)
    assert issubclass(errors[0], errors[1])


def test_what_is_no_optimizer_is_refused_by_name():
    for make in (lr_scheduler.LambdaLR, lr_scheduler.StepLR, SWALR):
        with pytest.raises(TypeError, match="str, which is not an Optimizer"):
            make("sgd", 1)


def test_a_cycle_that_is_over_takes_no_steps_more():
    for T in (tensorlab, require_torch()):
        optimizer = make_optimizer(T)
        scheduler = T.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 2)
        optimizer.step()
        scheduler.step()
        scheduler.step()
        last = scheduler.get_last_lr()
        with pytest.raises(ValueError, match=r"3.*2"):
            scheduler.step()
        assert [group["lr"] for group in optimizer.param_groups] == last


def test_halved_cycles_fade_to_nothing():
    scheduler = lr_scheduler.CyclicLR(make_optimizer(tensorlab), 0.1, 0.5, 1, mode="triangular2")
    scheduler.optimizer.step()
    for _ in range(2500):
        scheduler.step()
    assert scheduler.get_last_lr() == [0.1, 0.1]


def test_a_cosine_that_goes_on_is_asked_for_its_rate_before_the_first_step():
    found = []
    for package in (tensorlab, require_torch()):
        optimizer = make_optimizer(package)
        for group in optimizer.param_groups:
            group["initial_lr"] = 2 * group["lr"]
        scheduler = package.optim.lr_scheduler.CosineAnnealingLR(optimizer, 7, 0.01, last_epoch=4)
        with pytest.warns(UserWarning, match="get_last_lr"):
            found.append(scheduler.get_lr())
    assert found[0] == found[1]


class Counter:
    """What a sequence asks of a scheduler, without a `last_epoch`."""

    def __init__(self, optimizer):
        self.optimizer, self.steps = optimizer, []

    def step(self):
        self.steps.append("step")

    def _initial_step(self):
        self.steps.append("first")

    def _update_lr(self, epoch):
        self.steps.append(epoch)

    def get_last_lr(self):
        return [group["lr"] for group in self.optimizer.param_groups]


@pytest.mark.filterwarnings("ignore")
def test_a_sequence_takes_schedulers_that_do_not_count_epochs():
    found = []
    for package in (tensorlab, require_torch()):
        S, optimizer = package.optim.lr_scheduler, make_optimizer(package)
        counter = Counter(optimizer)
        scheduler = S.SequentialLR(optimizer, [counter, S.StepLR(optimizer, 2)], [3])
        rates = []
        for _ in range(7):
            scheduler.step()
            rates.append(scheduler.get_last_lr())
        found.append((rates, counter.steps))
    assert found[0] == found[1]
