"""Groups, state, closures and errors of optimizers."""

import copy
import inspect
import itertools
import pickle

import pytest

import tensorlab
from tensorlab import nn, optim
from tests.oracle import require_torch


def parameter(*values):
    param = nn.Parameter(tensorlab.tensor(list(values)))
    param.grad = tensorlab.ones(len(values))
    return param


def test_groups_have_options_of_their_own():
    first, second = parameter(1.0), parameter(1.0)
    optimizer = optim.SGD([{"params": [first], "lr": 0.5}, {"params": second}], lr=0.25)
    optimizer.step()
    assert (first.item(), second.item()) == (0.5, 0.75)
    optimizer.param_groups[0]["lr"] = 0.0
    optimizer.add_param_group({"params": parameter(2.0), "momentum": 0.5})
    optimizer.step()
    assert first.item() == 0.5
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0, 0.5]


def test_the_closure_is_called_with_recording_on_and_its_loss_returned():
    param = parameter(3.0)
    optimizer = optim.SGD([param], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    with tensorlab.no_grad():
        assert optimizer.step(closure).item() == 9.0
    assert param.item() == pytest.approx(3.0 - 0.6)
    assert optimizer.step() is None


def test_zero_grad_forgets_gradients_or_fills_them():
    param = parameter(1.0, 2.0)
    grad = param.grad
    optimizer = optim.Adam([param])
    optimizer.zero_grad(set_to_none=False)
    assert param.grad is grad
    assert grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert param.grad is None


@pytest.mark.parametrize(
    ("name", "options"),
    [("SGD", {"momentum": 0.9}), ("Adam", {"amsgrad": True}), ("AdamW", {"lr": 0.5})],
)
def test_training_goes_on_from_a_state_dict_as_if_it_had_not_stopped(name, options):
    def build():
        tensorlab.manual_seed(1)
        model = nn.Linear(3, 2)
        return model, getattr(optim, name)(model.parameters(), **options)

    def train(model, optimizer, steps):
        x = tensorlab.ones(4, 3)
        for _ in range(steps):
            optimizer.zero_grad()
            model(x).pow(2).sum().backward()
            optimizer.step()

    whole_model, whole_optimizer = build()
    train(whole_model, whole_optimizer, 6)

    model, optimizer = build()
    train(model, optimizer, 3)
    weights = pickle.loads(pickle.dumps(model.state_dict()))
    state = pickle.loads(pickle.dumps(optimizer.state_dict()))
    resumed_model, resumed_optimizer = build()
    resumed_model.load_state_dict(weights)
    resumed_optimizer.load_state_dict(state)
    train(resumed_model, resumed_optimizer, 3)
    assert resumed_model.weight.tolist() == whole_model.weight.tolist()
    assert resumed_model.bias.tolist() == whole_model.bias.tolist()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_state_dict_and_text_have_pytorchs_form(name):
    def build(package):
        params = [package.nn.Parameter(package.ones(2)) for _ in range(3)]
        groups = [{"params": params[:2], "lr": 0.5}, {"params": params[2:]}]
        optimizer = getattr(package.optim, name)(groups, lr=0.25)
        params[2].grad = package.ones(2)
        optimizer.step()
        return optimizer

    ours, theirs = build(tensorlab), build(require_torch())
    assert repr(ours) == repr(theirs)
    our_state, their_state = ours.state_dict(), theirs.state_dict()
    assert our_state["param_groups"] == their_state["param_groups"]
    assert {number: list(values) for number, values in our_state["state"].items()} == {
        number: list(values)
        for number, values in their_state["state"].items()
        if any(value is not None for value in values.values())
    }


def test_loading_converts_the_state_to_the_dtype_of_the_parameters():
    optimizer = optim.Adam([parameter(1.0)])
    optimizer.step()
    wide = nn.Parameter(tensorlab.ones(1, dtype=tensorlab.float64))
    other = optim.Adam([wide])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[wide]["exp_avg"].dtype == tensorlab.float64
    assert other.state[wide]["step"].dtype == tensorlab.float32


def test_state_of_no_parameter_is_kept():
    """A state dict may hold more than parameters have, under names of its own."""

    def load(package):
        param = package.nn.Parameter(package.ones(1))
        optimizer = package.optim.SGD([param], momentum=0.5)
        saved = optimizer.state_dict()
        saved["state"] = {"schedule": [1, 2], 0: {"momentum_buffer": package.ones(1)}}
        optimizer.load_state_dict(saved)
        return optimizer.state["schedule"], list(optimizer.state[param])

    assert load(tensorlab) == load(require_torch())


def test_a_state_dict_of_other_groups_is_refused():
    optimizer = optim.SGD([parameter(1.0)])
    two_groups = optim.SGD([{"params": parameter(1.0)}, {"params": parameter(1.0)}])
    two_params = optim.SGD([parameter(1.0), parameter(1.0)])
    with pytest.raises(ValueError, match=r"has 2 parameter groups.*the optimizer's 1"):
        optimizer.load_state_dict(two_groups.state_dict())
    with pytest.raises(ValueError, match=r"doesn't match.*sizes are \[2\] and \[1\]"):
        optimizer.load_state_dict(two_params.state_dict())


def test_an_optimizer_can_be_copied_with_its_model():
    param = parameter(1.0)
    optimizer = optim.SGD([param], momentum=0.9)
    optimizer.step()
    twin_param, twin = copy.deepcopy((param, optimizer))
    assert twin.param_groups[0]["params"][0] is twin_param
    assert list(twin.state) == [twin_param]
    assert twin.state[twin_param] is not optimizer.state[param]


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (lambda: tensorlab.ones(2), TypeError, "params is a Tensor; expected an iterable"),
        (list, ValueError, "optimizer got an empty parameter list"),
        (lambda: [1.0], TypeError, "a parameter is of type float; expected a Tensor"),
        (lambda: [{"params": {parameter(1.0)}}], TypeError, "params is a set"),
        (lambda: [parameter(1.0) * 2], ValueError, "can't optimize a non-leaf Tensor.*MulBackward"),
    ],
)
def test_what_cannot_be_optimized_is_refused(params, error, message):
    with pytest.raises(error, match=message):
        optim.SGD(params())


def test_a_parameter_in_two_groups_is_refused_and_twice_in_one_warned_of():
    param = parameter(1.0)
    with pytest.raises(ValueError, match="appear in more than one parameter group"):
        optim.SGD([{"params": param}, {"params": [param]}])
    with pytest.warns(UserWarning, match="twice in one group"):
        optim.SGD([param, param])
    with pytest.raises(TypeError, match="a parameter group is list, not a dict"):
        optim.SGD([param]).add_param_group([param])


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("SGD", {"lr": -1.0}, ValueError, "SGD: Invalid learning rate: -1.0"),
        ("SGD", {"momentum": -0.1}, ValueError, "Invalid momentum value"),
        ("SGD", {"nesterov": True}, ValueError, "Nesterov momentum requires a momentum"),
        ("Adam", {"eps": float("nan")}, ValueError, "Adam: Invalid eps value: nan"),
        ("Adam", {"betas": (0.9, 1.0)}, ValueError, "Invalid beta parameter at index 1: 1.0"),
        ("AdamW", {"weight_decay": -1}, ValueError, "AdamW: Invalid weight_decay value: -1"),
    ],
)
def test_options_out_of_range_are_refused(name, options, error, message):
    with pytest.raises(error, match=message):
        getattr(optim, name)([parameter(1.0)], **options)


def test_a_subclass_only_says_its_update():
    class SignDescent(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def update_group(self, group):
            with tensorlab.no_grad():
                for param in group["params"]:
                    param.sub_(param.grad.sign(), alpha=group["lr"])

    param = parameter(1.0, -1.0)
    SignDescent([param], lr=0.5).step()
    assert param.tolist() == [0.5, -1.5]
    with pytest.raises(NotImplementedError, match="Optimizer: has no update_group"):
        optim.Optimizer([param], {}).step()


@pytest.mark.parametrize(
    "step",
    [tensorlab.zeros(2), tensorlab.zeros((), dtype=tensorlab.int64), tensorlab.zeros(1).expand(2)],
)
def test_a_number_of_steps_that_is_not_one_float_is_refused_before_anything_is_written(step):
    parameter = tensorlab.ones(3, requires_grad=True)
    optimizer = optim.Adam([parameter])
    parameter.grad = tensorlab.ones(3)
    optimizer.step()
    before = parameter.tolist()
    optimizer.state[parameter]["step"] = step
    with pytest.raises(RuntimeError, match="^Adam: step is"):
        optimizer.step()
    assert parameter.tolist() == before


# ---------------------------------------------------------------- every option of every optimizer
NAMES = [name for name in optim.__all__ if name[0].isupper() and name != "Optimizer"]
MATTERS_WITH = {"nesterov": {"momentum": 0.9}, "dampening": {"momentum": 0.9}}
HALF_IS_REFUSED = {"d": 2.0, "etas": (0.3, 1.7), "adjust_lr_fn": "match_rms_adamw"}


def other_value(value):
    """A value that is not the default; half of a number is in range nearly everywhere."""
    if isinstance(value, tuple):
        return tuple(other_value(one) for one in value)
    if value is None or isinstance(value, bool):
        return not value
    return value / 2 or 0.25


def each_option(name):
    """Yield options of which one is not the default of the optimizer of this name."""
    for option, parameter in inspect.signature(getattr(optim, name)).parameters.items():
        if option != "params":
            value = HALF_IS_REFUSED.get(option, other_value(parameter.default))
            yield {"lr": 0.1, option: value, **MATTERS_WITH.get(option, {})}


@pytest.mark.parametrize("name", NAMES)
def test_each_option_stands_in_the_groups_as_in_pytorch(name):
    for options in each_option(name):
        found = []
        for package in (tensorlab, require_torch()):
            matrix = package.nn.Parameter(package.ones(2, 2))
            optimizer = getattr(package.optim, name)([matrix], **options)
            (group,) = optimizer.param_groups
            found.append({key: value for key, value in group.items() if key != "params"})
            assert found[-1].items() >= options.items()
        assert found[0] == found[1]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_each_option_means_the_same_in_the_fused_step_and_in_its_formula(name):
    for options in each_option(name):
        found = []
        for differentiable in (False, True) if "fused" not in options else ():
            param = tensorlab.tensor([1.0, -2.0, 0.5], dtype=tensorlab.float64)
            given = {**options, "differentiable": differentiable}
            optimizer = getattr(optim, name)([param], **given)
            for step in range(4):
                param.grad = tensorlab.tensor([0.3 * step, -0.7, 1.0 - step]).double()
                optimizer.step()
            found.append((param, list(optimizer.state[param].values())))
        for fused, formula in itertools.pairwise(found):
            tensorlab.testing.assert_close(fused, formula)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_the_formula_of_a_step_passes_over_what_has_no_gradient(name):
    params = [tensorlab.tensor([1.0]), tensorlab.tensor([1.0])]
    params[1].grad = tensorlab.ones(1)
    optimizer = getattr(optim, name)(params, lr=0.5, differentiable=True)
    optimizer.step()
    assert params[0].item() == 1
    assert params[1].item() < 1
    assert not optimizer.state.get(params[0])
