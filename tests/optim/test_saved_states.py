"""What a saved state may lack, and that what was loaded belongs to one optimizer alone."""

import copy
import pickle
from collections import Counter, OrderedDict, namedtuple

import numpy as np
import pytest

import tensorlab
from tensorlab import nn, optim
from tests.optim.test_optimizer import HALF_IS_REFUSED, NAMES
from tests.oracle import require_torch

DENSE = [name for name in NAMES if name not in ("LBFGS", "SparseAdam")]


def matrix():
    return nn.Parameter(tensorlab.arange(6.0).reshape(2, 3) / 5 - 0.4)


def step(optimizer, param):
    """Take a step along a gradient that follows from the parameter alone."""

    def closure():
        optimizer.zero_grad()
        loss = (param * param * (param * param + 1)).sum()
        loss.backward()
        return loss

    if isinstance(optimizer, optim.SparseAdam):
        param.grad = Sparse(param.detach() * param.detach())
        optimizer.step()
    else:
        optimizer.step(closure)


class Sparse(tensorlab.Tensor):
    """A gradient of some rows, here of all, as SparseAdam wants it."""

    @staticmethod
    def __new__(cls, values):
        return values.as_subclass(cls)

    is_sparse = True

    def coalesce(self):
        return self

    def _indices(self):
        return tensorlab.arange(2).reshape(1, 2)

    def _values(self):
        return self.as_subclass(tensorlab.Tensor)


def other_option(name, option):
    """Return an optimizer in which an option has not its usual value, where a simple other one is allowed."""
    usual = getattr(optim, name)([matrix()]).defaults[option]
    if isinstance(usual, bool) and option not in ("differentiable", "capturable"):
        if name == "AdamW" and option == "decoupled_weight_decay":
            return {}
        changed = {option: not usual}
        if name == "SGD" and option == "nesterov":
            changed["momentum"] = 0.5
        return changed
    if option in HALF_IS_REFUSED:
        return {option: HALF_IS_REFUSED[option]}
    return {option: usual * 0.5} if isinstance(usual, float) else {}


def each_option():
    return [
        (name, option) for name in NAMES for option in getattr(optim, name)([matrix()]).defaults
    ]


def sample(name, **options):
    param = matrix()
    return param, getattr(optim, name)([param], **options)


@pytest.mark.parametrize(("name", "option"), each_option())
def test_an_option_that_a_file_lacks_stays_as_it_was(name, option):
    changed = other_option(name, option)
    param, optimizer = sample(name, **changed)
    saved = copy.deepcopy(optimizer.state_dict())
    expected = saved["param_groups"][0].pop(option)
    twin_param, twin = sample(name, **changed)
    twin.load_state_dict(saved)
    assert option not in saved["param_groups"][0]
    assert twin.param_groups[0][option] == expected
    step(optimizer, param)
    step(twin, twin_param)
    assert tensorlab.equal(param, twin_param)


@pytest.mark.parametrize(
    ("name", "option"),
    [pair for pair in each_option() if pair != ("LBFGS", "max_eval")],  # which follows from another
)
def test_an_option_that_an_older_pickle_lacks_has_the_usual_value(name, option):
    param, optimizer = sample(name)
    expected = optimizer.param_groups[0][option]
    for options in (optimizer.defaults, optimizer.param_groups[0]):
        del options[option]
    twin = pickle.loads(pickle.dumps(optimizer))
    assert twin.param_groups[0][option] == expected
    assert twin.defaults[option] == expected
    step(twin, twin.param_groups[0]["params"][0])


def test_the_options_of_a_group_that_was_made_with_its_own_stay():
    param = matrix()
    optimizer = optim.SGD([{"params": [param], "maximize": True, "lr": 0.5}])
    saved = optimizer.state_dict()
    del saved["param_groups"][0]["maximize"]
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["maximize"] is True


def test_what_a_scheduler_left_in_a_group_does_not_stay():
    param, optimizer = sample("SGD")
    saved = copy.deepcopy(optimizer.state_dict())
    optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.load_state_dict(saved)
    assert "initial_lr" not in optimizer.param_groups[0]


def test_parameters_of_another_class_are_no_options():
    class Own(optim.SGD):
        def __init__(self, params, verbose=True):
            super().__init__(params, lr=0.1)

    twin = pickle.loads(pickle.dumps(optim.SGD([matrix()])))
    own = Own([matrix()])
    own.load_state_dict(own.state_dict())
    assert "verbose" not in own.param_groups[0]
    assert list(own.state_dict()["param_groups"][0]) == list(twin.state_dict()["param_groups"][0])


@pytest.mark.parametrize("option", ["amsgrad", "centered", "momentum"])
def test_an_option_that_is_turned_on_later_begins_from_nothing(option):
    name = "Adam" if option == "amsgrad" else "RMSprop"
    param, optimizer = sample(name)
    step(optimizer, param)
    optimizer.param_groups[0][option] = 0.5 if option == "momentum" else True
    step(optimizer, param)
    assert param.isfinite().all()


def test_adamw_takes_what_adam_has_saved_and_stays_adamw():
    results = []
    for package in (tensorlab, require_torch()):
        param = package.nn.Parameter(package.ones(2))
        optimizer = package.optim.AdamW([param], lr=0.1, weight_decay=0.5)
        adam = package.optim.Adam([package.nn.Parameter(package.ones(2))], lr=0.1, weight_decay=0.5)
        optimizer.load_state_dict(adam.state_dict())
        param.grad = package.ones(2)
        optimizer.step()
        results.append(param.tolist())
    np.testing.assert_allclose(*results, rtol=1e-6)


# ---------------------------------------------------------------- numbers of older files
@pytest.mark.parametrize("name", DENSE)
def test_numbers_of_older_files_become_tensors(name):
    param, optimizer = sample(name)
    step(optimizer, param)
    saved = copy.deepcopy(optimizer.state_dict())
    values = saved["state"].get(0, {})
    for key, value in values.items():
        if value.dim() == 0:
            values[key] = int(value) if key == "step" else value.item()
    twin_param, twin = sample(name)
    with tensorlab.no_grad():
        twin_param.copy_(param)
    twin.load_state_dict(saved)
    for _ in range(2):
        step(optimizer, param)
        step(twin, twin_param)
    assert tensorlab.equal(param, twin_param)
    again = pickle.loads(pickle.dumps(twin))
    assert [type(v) for v in again.state_dict()["state"].get(0, {}).values()] == [
        type(v) for v in optimizer.state_dict()["state"].get(0, {}).values()
    ]


# ---------------------------------------------------------------- nothing is shared
def tensors_of(value):
    """Return all tensors in nested containers."""
    if isinstance(value, tensorlab.Tensor):
        return [value]
    if isinstance(value, dict):
        return [found for one in value.values() for found in tensors_of(one)]
    if isinstance(value, (list, tuple)):
        return [found for one in value for found in tensors_of(one)]
    return []


@pytest.mark.parametrize("name", NAMES)
def test_what_was_loaded_is_a_copy(name):
    rate = tensorlab.tensor(0.1)
    param, optimizer = sample(name, lr=rate)
    for _ in range(3):
        step(optimizer, param)
    twin_param, twin = sample(name, lr=tensorlab.tensor(0.5))
    twin.load_state_dict(optimizer.state_dict())
    before = pickle.dumps(twin.state_dict())
    for tensor in tensors_of(optimizer.state_dict()):
        tensor.fill_(7)
    step(optimizer, param)
    assert pickle.dumps(twin.state_dict()) == before
    assert twin.param_groups[0]["lr"].item() == pytest.approx(0.1)


def test_a_rate_with_a_gradient_stays_a_leaf_that_has_one():
    rate = tensorlab.tensor(0.1, requires_grad=True)
    _, optimizer = sample("SGD", lr=rate)
    _, twin = sample("SGD", lr=tensorlab.tensor(0.5))
    twin.load_state_dict(optimizer.state_dict())
    loaded = twin.param_groups[0]["lr"]
    assert loaded.is_leaf
    assert loaded.requires_grad
    assert loaded is not rate


def test_containers_of_a_state_keep_their_class_and_are_copied():
    Pair = namedtuple("Pair", ["a", "b"])
    shared = object()
    own = {
        "counts": Counter(a=2),
        "pair": Pair(tensorlab.ones(1), [1]),
        "ordered": OrderedDict(x=np.ones(2)),
        "set": {1, 2},
        "shared": shared,
    }
    param, optimizer = sample("SGD")
    saved = {**optimizer.state_dict(), "state": {0: own, "mine": own}}
    optimizer.load_state_dict(saved)
    own["counts"]["a"] = 5
    own["pair"].a.fill_(3)
    own["pair"].b.append(2)
    own["ordered"]["x"][:] = 3
    own["set"].add(3)
    for loaded in (optimizer.state[param], optimizer.state["mine"]):
        assert loaded["counts"] == {"a": 2}
        assert (loaded["pair"].a.item(), loaded["pair"].b) == (1, [1])
        assert loaded["ordered"]["x"].tolist() == [1, 1]
        assert loaded["set"] == {1, 2}
        assert loaded["shared"] is shared


# ---------------------------------------------------------------- without super().__init__
def bare(package):
    """Return a class that wraps another optimizer and calls no constructor of its base, as wrappers do."""

    class Wrapper(package.optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        @property
        def param_groups(self):
            return self.inner.param_groups

        @property
        def state(self):
            return self.inner.state

        def step(self, closure=None):
            return self.inner.step(closure)

    return Wrapper


def test_a_wrapper_needs_no_constructor_of_its_base():
    param, inner = sample("SGD", lr=0.5, momentum=0.9)
    wrapper = bare(tensorlab)(inner)
    param.grad = tensorlab.ones(2, 3)
    before = param.tolist()
    calls = []
    wrapper.step()
    np.testing.assert_allclose(np.array(before) - param.tolist(), 0.5, rtol=1e-6)
    with wrapper.register_step_post_hook(lambda *_: calls.append("after")):
        wrapper.step()
    wrapper.step()
    assert calls == ["after"]
    assert wrapper.state_dict().keys() == {"state", "param_groups"}
    wrapper.zero_grad()
    assert param.grad is None
    assert "lr: 0.5" in repr(wrapper)


def test_hooks_of_two_wrappers_are_their_own():
    first, second = (bare(tensorlab)(sample("SGD")[1]) for _ in range(2))
    first.register_state_dict_pre_hook(lambda _: None)
    assert len(first._optimizer_state_dict_pre_hooks) == 1
    assert len(second._optimizer_state_dict_pre_hooks) == 0
    first._patch_step_function()


def test_an_own_optimizer_may_bring_its_groups_itself():
    class Plain(optim.Optimizer):
        def __init__(self, params):
            self.param_groups = [{"params": list(params), "lr": 0.5}]
            self.state = {}

        def step(self, closure=None):
            with tensorlab.no_grad():
                for group in self.param_groups:
                    for param in group["params"]:
                        param -= group["lr"] * param.grad

    param = matrix()
    optimizer = Plain([param])
    param.grad = tensorlab.ones(2, 3)
    before = param.detach().clone()
    optimizer.step()
    assert tensorlab.equal(param, before - 0.5)
    twin = Plain([matrix()])
    twin.load_state_dict(optimizer.state_dict())
    assert twin.param_groups[0]["lr"] == 0.5
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.25
