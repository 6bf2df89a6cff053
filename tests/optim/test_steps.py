"""SGD and Adam take the steps that PyTorch takes, whatever the options and the layout."""

import numpy as np
import pytest
from tensorlab.ops.optim_steps import sgd_step

import tensorlab
from tensorlab import nn, optim
from tensorlab._core.dispatch.recorder import Counter
from tests.oracle import assert_same_values, require_torch

SGD_OPTIONS = [
    {},
    {"lr": 0.1, "weight_decay": 0.05},
    {"lr": 0.1, "momentum": 0.9},
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01},
    {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    {"lr": 0.1, "momentum": 0.5, "maximize": True, "weight_decay": 0.1},
    {"lr": 0.0, "momentum": 0.9},
]
ADAM_OPTIONS = [
    {},
    {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3},
    {"lr": 0.1, "weight_decay": 0.1},
    {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1},
    {"lr": 0.1, "maximize": True, "amsgrad": True},
    {"lr": 0.1, "betas": (0.0, 0.0)},
]
RMSPROP_OPTIONS = [
    {},
    {"lr": 0.1, "alpha": 0.5, "eps": 1e-3, "weight_decay": 0.1},
    {"lr": 0.1, "momentum": 0.9, "centered": True},
    {"lr": 0.1, "centered": True, "maximize": True},
]
CASES = (
    [("SGD", options) for options in SGD_OPTIONS]
    + [("Adam", options) for options in ADAM_OPTIONS]
    + [("AdamW", options) for options in ADAM_OPTIONS]
    + [("RMSprop", options) for options in RMSPROP_OPTIONS]
    + [("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True})]
)


def run_steps(package, name, options, dtype, strided, steps=6):
    """Return the parameters after some steps against gradients that are given, and the state."""
    generator = np.random.default_rng(0)

    def random(*shape):
        values = generator.standard_normal(shape).tolist()
        return package.tensor(values, dtype=getattr(package, dtype))

    weight = random(5, 7)
    # every second column: a parameter with gaps between its elements
    weight = random(5, 14)[:, ::2] if strided else weight
    params = [package.nn.Parameter(weight), package.nn.Parameter(random(3))]
    optimizer = getattr(package.optim, name)(params, **options)
    for step in range(steps):
        for param in params:
            # the gradient's memory is transposed in some steps
            shape = tuple(param.shape)
            grad = random(*shape) if step % 2 else random(*shape[::-1]).T
            param.grad = grad
        optimizer.step()
    return params, optimizer


@pytest.mark.filterwarnings("ignore:x.T", "ignore:The use of `x.T` on tensors of dimension")
@pytest.mark.parametrize("strided", [False, True], ids=["dense", "strided"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_steps_are_those_of_pytorch(name, options, dtype, strided):
    ours, our_optimizer = run_steps(tensorlab, name, options, dtype, strided)
    theirs, their_optimizer = run_steps(require_torch(), name, options, dtype, strided)
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for our_param, their_param in zip(ours, theirs, strict=True):
        assert_same_values(our_param, their_param, tolerance)
        our_state, their_state = our_optimizer.state[our_param], their_optimizer.state[their_param]
        assert list(our_state) == list(their_state)
        for key, value in our_state.items():
            assert_same_values(value, their_state[key], tolerance)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_step_counts_as_one_write_and_is_not_recorded(name):
    param = nn.Parameter(tensorlab.ones(3))
    param.grad = tensorlab.ones(3)
    version = param._version
    getattr(optim, name)([param]).step()
    assert param._version == version + 1
    assert param.is_leaf
    assert param.grad_fn is None


def test_backward_through_a_parameter_that_a_step_changed_is_refused():
    param = nn.Parameter(tensorlab.ones(3))
    out = (param * param).sum()
    param.grad = tensorlab.ones(3)
    optim.SGD([param]).step()
    with pytest.raises(RuntimeError, match="version"):
        out.backward()


@pytest.mark.parametrize(
    ("name", "stepped"), [("SGD", 0.5), ("Adam", 0.5), ("AdamW", 0.495), ("RMSprop", -4.0)]
)
def test_parameters_without_gradient_or_elements_are_left_alone(name, stepped):
    params = [nn.Parameter(tensorlab.ones(2)) for _ in range(2)] + [nn.Parameter()]
    params[1].grad = tensorlab.ones(2)
    params[2].grad = tensorlab.ones(0)
    optimizer = getattr(optim, name)(params, lr=0.5)
    optimizer.step()
    assert params[0].tolist() == [1.0, 1.0]
    assert params[1].tolist() == pytest.approx([stepped, stepped])
    assert params[0] not in optimizer.state


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "RMSprop", "Adadelta", "Adagrad", "Adamax", "NAdam"]
)
def test_without_decay_what_is_infinite_does_not_reach_the_state(name):
    params = []
    for T in (tensorlab, require_torch()):
        param = T.nn.Parameter(T.tensor([float("inf"), 1.0]))
        optimizer = getattr(T.optim, name)([param], lr=0.5, weight_decay=0.0)
        for _ in range(2):
            param.grad = T.ones(2)
            optimizer.step()
        params.append(param)
    assert params[0][0].item() == float("inf")
    assert_same_values(*params)


WITH_DENSE_GRADIENTS = [
    name
    for name, one in vars(optim).items()
    if isinstance(one, type) and name not in ("LBFGS", "Optimizer", "SparseAdam")
]


@pytest.mark.parametrize("name", WITH_DENSE_GRADIENTS)
def test_a_parameter_without_gradient_gets_no_step_and_no_state(name):
    idle, stepped = (nn.Parameter(tensorlab.ones(2, 2)) for _ in range(2))
    stepped.grad = tensorlab.eye(2)
    optimizer = getattr(optim, name)([idle, stepped], lr=0.5)
    optimizer.step()
    assert idle.equal(tensorlab.ones(2, 2))
    assert not stepped.equal(tensorlab.ones(2, 2))
    if name == "Adagrad":  # makes its state before the first step
        assert optimizer.state[idle]["step"].item() == 0
    else:
        assert idle not in optimizer.state


@pytest.mark.parametrize(
    ("name", "options"), [("SGD", {"momentum": 0.9}), ("Adam", {"amsgrad": True})]
)
def test_state_of_another_shape_is_refused_and_nothing_is_changed(name, options):
    param = nn.Parameter(tensorlab.ones(2, 3))
    param.grad = tensorlab.ones(2, 3)
    optimizer = getattr(optim, name)([param], **options)
    optimizer.step()
    state = optimizer.state[param]
    key = list(state)[-1]
    state[key] = tensorlab.zeros(3, 2)
    before = param.tolist()
    with pytest.raises(RuntimeError, match=rf"{name}: {key} is .* of shape \(3, 2\).*\(2, 3\)"):
        optimizer.step()
    assert param.tolist() == before


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_the_state_shares_no_memory_with_the_gradient_or_the_parameter(name, options):
    param = nn.Parameter(tensorlab.tensor([1.0, -2.0]))
    param.grad = tensorlab.tensor([0.5, 0.25])
    optimizer = getattr(optim, name)([param], **options)
    optimizer.step()
    state = {key: value.tolist() for key, value in optimizer.state[param].items()}
    with tensorlab.no_grad():
        param.grad.fill_(7.0)
        param.fill_(9.0)
    assert {key: value.tolist() for key, value in optimizer.state[param].items()} == state
    before = {key: value.clone() for key, value in optimizer.state[param].items()}
    optimizer.step()
    assert param.grad.tolist() == [7.0, 7.0]
    assert all(before[key].shape == value.shape for key, value in optimizer.state[param].items())


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_the_state_counts_its_writes(name, options):
    """So that a graph that saved it notices."""
    param = nn.Parameter(tensorlab.ones(2))
    param.grad = tensorlab.ones(2)
    optimizer = getattr(optim, name)([param], **options)
    optimizer.step()
    versions = {key: value._version for key, value in optimizer.state[param].items()}
    optimizer.step()
    for key, value in optimizer.state[param].items():
        assert value._version > versions[key], key


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_gradient_of_another_shape_or_type_is_refused_and_nothing_is_changed(name):
    for wrong in (tensorlab.ones(2, 1), tensorlab.ones(2, dtype=tensorlab.float64)):
        param = nn.Parameter(tensorlab.ones(1, 2))
        optimizer = getattr(optim, name)([param])

        def step(param=param, wrong=wrong, optimizer=optimizer):
            param.grad = wrong
            optimizer.step()

        with pytest.raises(RuntimeError):
            step()
        assert param.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    "name, setting",
    [
        *[("SGD", setting) for setting in ("lr", "momentum", "weight_decay")],
        *[
            (name, setting)
            for name in ("Adam", "AdamW")
            for setting in ("lr", "eps", "weight_decay")
        ],
        *[("RMSprop", setting) for setting in ("lr", "alpha", "eps", "weight_decay", "momentum")],
    ],
)
def test_a_negative_setting_is_refused(name, setting):
    torch = require_torch()
    for T, module in ((tensorlab, optim), (torch, torch.optim)):
        with pytest.raises(ValueError, match="Invalid"):
            getattr(module, name)([T.ones(2, requires_grad=True)], **{setting: -0.1})
    what = "learning rate" if setting == "lr" else f"{setting} value"
    with pytest.raises(ValueError, match=f"^{name}: Invalid {what}: -0.1"):
        getattr(optim, name)([tensorlab.ones(2, requires_grad=True)], **{setting: -0.1})


def test_an_integer_parameter_is_refused():
    param = tensorlab.ones(2, dtype=tensorlab.int64)
    with pytest.raises(RuntimeError, match=r"the parameter is tensorlab\.int64; expected float32"):
        sgd_step([param], [param], [], 0.1, 0, 0, 0, False, False, False)


def test_a_nan_gradient_is_not_hidden_by_amsgrad():
    param = nn.Parameter(tensorlab.ones(1))
    optimizer = optim.Adam([param], amsgrad=True)
    for gradient in (1.0, float("nan"), 1.0):
        param.grad = tensorlab.tensor([gradient])
        optimizer.step()
    assert param.isnan().item()


def test_a_first_step_that_is_refused_leaves_no_momentum_behind():
    params = [nn.Parameter(tensorlab.ones(2)), nn.Parameter(tensorlab.ones(3))]
    optimizer = optim.SGD(params, lr=0.1, momentum=0.9)
    params[0].grad, params[1].grad = tensorlab.ones(2), tensorlab.ones(3)
    params[1].data = params[1].data.to(tensorlab.float64)  # so its gradient has another type
    with pytest.raises(RuntimeError):
        optimizer.step()
    assert params[0].tolist() == [1.0, 1.0]  # nor does the first parameter move
    params[1].grad = tensorlab.ones(3, dtype=tensorlab.float64)
    optimizer.step()
    assert optimizer.state[params[0]]["momentum_buffer"].tolist() == [1.0, 1.0]


def test_a_step_is_one_call_of_an_op_that_layers_see():
    params = [nn.Parameter(tensorlab.ones(2)), nn.Parameter(tensorlab.ones(3))]
    for name, options in (("SGD", {"momentum": 0.9}), ("Adam", {"amsgrad": True})):
        optimizer = getattr(optim, name)(params, **options)
        for param in params:
            param.grad = tensorlab.ones_like(param)
        optimizer.step()
        with Counter() as counter:
            optimizer.step()
        assert counter.counts == {f"{name.lower()}_step_": 1}
