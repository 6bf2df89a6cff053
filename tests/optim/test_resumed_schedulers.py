"""A run that was stopped and goes on has the rates of one that was not, however it is put together again."""

import copy
import functools
import itertools
import pickle

import pytest

import tensorlab
from tensorlab import optim
from tensorlab.optim import lr_scheduler
from tests.optim.test_lr_scheduler import MADE_OF_OTHERS, SCHEDULERS, make_optimizer

EPOCHS = 12
MAKERS = {
    **SCHEDULERS,
    "swa": lambda S, o: swa(o, last_epoch=getattr(S, "last_epoch", -1)),
    "swa in a line": lambda S, o: swa(o, 4, "linear", getattr(S, "last_epoch", -1)),
    "swa at once": lambda S, o: swa(o, 0, last_epoch=getattr(S, "last_epoch", -1)),
}


def swa(optimizer, epochs=5, strategy="cos", last_epoch=-1):
    return optim.swa_utils.SWALR(optimizer, 0.02, epochs, strategy, last_epoch)


pytestmark = pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")


class GoingOn:
    """The schedulers, each made to go on after an epoch."""

    def __init__(self, last_epoch):
        self.last_epoch = last_epoch

    def __getattr__(self, name):
        return functools.partial(getattr(lr_scheduler, name), last_epoch=self.last_epoch)


def options_of(optimizer):
    """Return rate and momentum of all groups."""
    return [group[key] for group in optimizer.param_groups for key in ("lr", "momentum")]


def rest_of(optimizer, scheduler, first):
    """Return the options in the epochs from the first one on."""
    found = [options_of(optimizer)]
    for _ in range(first, EPOCHS):
        optimizer.step()
        scheduler.step()
        found.append(options_of(optimizer))
    return found


@functools.cache
def whole_run(name):
    """Return options and states after each epoch of a run that was not stopped."""
    optimizer = make_optimizer(tensorlab)
    scheduler = MAKERS[name](lr_scheduler, optimizer)
    options, states = [], []
    for epoch in range(EPOCHS + 1):
        if epoch > 0:
            optimizer.step()
            scheduler.step()
        options.append(options_of(optimizer))
        states.append(pickle.dumps((optimizer.state_dict(), scheduler.state_dict())))
    return options, states


def assert_equal_rates(found, expected):
    assert len(found) == len(expected)
    for mine, other in zip(found, expected, strict=True):
        assert mine == pytest.approx(other, rel=1e-9, abs=1e-15)


# The rate of SWALR depends on where it came from, so only the one of its epoch will do.
RATES = [
    (name, rate)
    for name, rate in itertools.product(MAKERS, ["this epoch", "the one before", "initial"])
    if name not in MADE_OF_OTHERS and (rate == "this epoch" or not name.startswith("swa"))
]


@pytest.mark.parametrize(("name", "rate"), RATES)
def test_a_scheduler_that_is_made_to_go_on_has_the_rates_of_the_whole_run(name, rate):
    options, states = whole_run(name)
    for epoch in range(1, EPOCHS + 1):
        optimizer = make_optimizer(tensorlab)
        optimizer.load_state_dict(pickle.loads(states[epoch - (rate == "the one before")])[0])
        if rate == "initial":
            for group in optimizer.param_groups:
                group["lr"] = group["initial_lr"]
        scheduler = MAKERS[name](GoingOn(epoch - 1), optimizer)
        assert scheduler.last_epoch == epoch
        assert_equal_rates(rest_of(optimizer, scheduler, epoch), options[epoch:])


def test_a_rate_that_is_a_tensor_goes_on_too():
    rate = tensorlab.tensor(0.08)
    optimizer = optim.SGD([tensorlab.zeros(1, requires_grad=True)], lr=rate)
    optimizer.param_groups[0]["initial_lr"] = 0.1
    scheduler = lr_scheduler.LinearLR(optimizer, 1.0, 0.5, 5, last_epoch=2)
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.07)
    optimizer.step()
    scheduler.step()
    assert rate.item() == pytest.approx(0.06)


@pytest.mark.parametrize("epoch", range(1, EPOCHS))
def test_schedulers_in_a_chain_go_on_with_the_rate_that_they_have_made_together(epoch):
    options, states = whole_run("chained")
    optimizer = make_optimizer(tensorlab)
    optimizer.load_state_dict(pickle.loads(states[epoch])[0])
    scheduler = SCHEDULERS["chained"](Chained(epoch - 1), optimizer)
    if (
        epoch != 2
    ):  # there the first one gives its factor back: to a rate of several it does so twice, as in PyTorch
        assert_equal_rates(rest_of(optimizer, scheduler, epoch), options[epoch:])


class Chained(GoingOn):
    def ChainedScheduler(self, schedulers):
        return lr_scheduler.ChainedScheduler(schedulers)


class Sequence:
    def __init__(self, last_epoch):
        self.last_epoch = last_epoch

    def __getattr__(self, name):
        made = getattr(lr_scheduler, name)
        if name == "SequentialLR":
            return functools.partial(made, last_epoch=self.last_epoch)
        return made


@pytest.mark.parametrize("name", ["sequential", "sequence with a chain"])
def test_a_sequence_goes_on_after_an_epoch(name):
    options, states = whole_run(name)
    for epoch in range(1, EPOCHS + 1):
        optimizer = make_optimizer(tensorlab)
        optimizer.load_state_dict(pickle.loads(states[epoch])[0])
        scheduler = SCHEDULERS[name](Sequence(epoch - 1), optimizer)
        assert scheduler.last_epoch == epoch
        assert_equal_rates(rest_of(optimizer, scheduler, epoch), options[epoch:])


# ---------------------------------------------------------------- the order of loading
ORDERS = [
    order
    for order in itertools.permutations(["make", "load optimizer", "load scheduler"])
    if order.index("make") < order.index("load scheduler")
]


@pytest.mark.parametrize("order", ORDERS, ids=" - ".join)
@pytest.mark.parametrize("name", MAKERS)
def test_the_order_of_loading_does_not_matter(name, order):
    options, states = whole_run(name)
    for epoch in range(EPOCHS + 1):
        of_optimizer, of_scheduler = pickle.loads(states[epoch])
        optimizer = make_optimizer(tensorlab)
        for step in order:
            if step == "make":
                scheduler = MAKERS[name](lr_scheduler, optimizer)
            elif step == "load optimizer":
                optimizer.load_state_dict(of_optimizer)
            else:
                scheduler.load_state_dict(of_scheduler)
        assert_equal_rates(rest_of(optimizer, scheduler, epoch), options[epoch:])


def test_a_rate_that_the_program_chooses_stays():
    _, states = whole_run("linear")
    of_optimizer, of_scheduler = pickle.loads(states[4])
    for chosen_before in (False, True):
        optimizer = make_optimizer(tensorlab)
        optimizer.load_state_dict(of_optimizer)
        if chosen_before:
            for group in optimizer.param_groups:
                group["lr"] = 5.0
        scheduler = SCHEDULERS["step"](lr_scheduler, optimizer)
        if not chosen_before:
            for group in optimizer.param_groups:
                group["lr"] = 5.0
        scheduler.load_state_dict(of_scheduler)
        assert [group["lr"] for group in optimizer.param_groups] == [5.0, 5.0]


# ---------------------------------------------------------------- states
@pytest.mark.parametrize("name", MAKERS)
def test_two_schedulers_of_one_state_share_nothing(name):
    optimizers = [make_optimizer(tensorlab) for _ in range(2)]
    one, other = (MAKERS[name](lr_scheduler, optimizer) for optimizer in optimizers)
    other.load_state_dict(one.state_dict())
    mine, others = ({id(part) for part in containers(vars(x))} for x in (one, other))
    assert not mine & others
    assert "_before" not in one.state_dict()
    assert one.state_dict().keys() == other.state_dict().keys()


def containers(value):
    """Yield lists and dicts within a scheduler, but not those of its optimizer."""
    if hasattr(value, "load_state_dict"):
        value = vars(value)
    if isinstance(value, dict):
        yield value
        for key, one in value.items():
            if key != "optimizer":
                yield from containers(one)
    elif isinstance(value, (list, tuple)):
        if isinstance(value, list):
            yield value
        for one in value:
            yield from containers(one)


@pytest.mark.parametrize("name", MAKERS)
def test_a_scheduler_of_an_older_pickle_goes_on(name):
    optimizer = make_optimizer(tensorlab)
    scheduler = MAKERS[name](lr_scheduler, optimizer)
    options, _ = whole_run(name)
    for one in [scheduler, *getattr(scheduler, "_schedulers", [])]:
        for attribute in ("_is_initial", "_get_lr_called_within_step", "_before"):
            vars(one).pop(attribute, None)
    twin = copy.deepcopy(scheduler)
    assert_equal_rates(rest_of(twin.optimizer, twin, 0), options)


def test_a_state_without_the_shape_of_a_cycle_can_be_loaded():
    optimizer = make_optimizer(tensorlab)
    scheduler = lr_scheduler.CyclicLR(optimizer, 0.01, 0.5, 4)
    state = scheduler.state_dict()
    del state["_scale_fn_custom"]  # PyTorch writes it only where it is needed
    scheduler.load_state_dict(state)
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == pytest.approx([0.1325, 0.1325])


# ---------------------------------------------------------------- restarts
@pytest.mark.parametrize(("first", "factor"), [(1, 2), (1, 3), (2, 3), (1, 5), (3, 2), (4, 1)])
def test_restarts_are_found_exactly(first, factor):
    """By a logarithm, as in PyTorch, some are not: log(243, 3) is below 5."""

    def make(last_epoch=-1):
        optimizer = make_optimizer(tensorlab)
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
        return lr_scheduler.CosineAnnealingWarmRestarts(optimizer, first, factor, 0.0, last_epoch)

    by_steps = make()
    by_steps.optimizer.step()
    for epoch in range(1, 400):
        by_steps.step()
        if epoch < 130 or epoch % 40 < 3:
            jumped = make()
            jumped.step(epoch)
            for other in (jumped, make(epoch - 1)):
                assert (other.T_cur, other.T_i) == (by_steps.T_cur, by_steps.T_i)
                assert other.get_last_lr() == by_steps.get_last_lr()
