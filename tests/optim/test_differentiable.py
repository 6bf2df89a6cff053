"""Steps with `differentiable=True` are recorded: a loss after some of them has the gradient of all that went in."""

import inspect

import pytest

import tensorlab
from tensorlab import optim
from tests.oracle import require_torch

CASES = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"maximize": True, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("AdamW", {"amsgrad": True}),
    ("NAdam", {}),
    ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"betas": (0.9, 0.8)}),
    ("RAdam", {"betas": (0.5, 0.99), "weight_decay": 0.1}),
    ("Adamax", {"weight_decay": 0.1}),
    ("Adadelta", {"eps": 1e-2, "weight_decay": 0.1}),
    ("Adagrad", {"initial_accumulator_value": 0.1, "lr_decay": 0.1}),
    ("ASGD", {"t0": 0, "lambd": 0.1, "weight_decay": 0.1}),
    ("RMSprop", {"eps": 1e-1}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1, "eps": 1e-1}),
    ("Rprop", {}),
]
STEPS = {"RAdam": 7}  # from the sixth one on it scales


def run(T, name, options, start, data, steps):
    """Return the parameter after some steps on a loss of `data`."""
    param = start.clone()
    optimizer = getattr(T.optim, name)([param], differentiable=True, **options)
    for _ in range(steps):
        here = param.clone()
        loss = (here.pow(3) * data).sum() + here.square().sum()
        (param.grad,) = T.autograd.grad(loss, here, create_graph=True)
        optimizer.step()
    return param


def tensors(T, *values):
    return [T.tensor(value, dtype=T.float64, requires_grad=True) for value in values]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_the_gradient_by_the_start_and_by_options_is_right(name, options):
    """Finite differences say so: PyTorch refuses some of these, or leaves the rate out."""
    known = inspect.signature(getattr(optim, name)).parameters
    start, data = tensors(tensorlab, [0.3, -0.7, 1.3], [0.5, 1.5, -0.8])
    (rate, decay, *betas) = tensors(tensorlab, 0.05, 0.2, *options.get("betas", (0.9, 0.8)))
    given = [
        rate,
        *([decay] if "weight_decay" in known else []),
        *(betas if "betas" in known else []),
    ]

    def after_steps(start, data, rate, *others):
        more = {"lr": rate}
        if "weight_decay" in known:
            more["weight_decay"], *others = others
        if "betas" in known:
            more["betas"] = tuple(others)
        return run(tensorlab, name, {**options, **more}, start, data, STEPS.get(name, 3))

    assert tensorlab.autograd.gradcheck(after_steps, (start, data, *given), atol=1e-4)


# PyTorch raises an error for the others, for it changes in place what backward needs; and SGD's first velocity is
# detached there, so that a part of the gradient is missing.
AS_IN_PYTORCH = [
    (name, options)
    for name, options in CASES
    if name not in ("Adamax", "Rprop") and not {"amsgrad", "momentum"} & options.keys()
]


@pytest.mark.parametrize(("name", "options"), AS_IN_PYTORCH, ids=str)
def test_where_pytorch_gives_a_gradient_it_is_the_same(name, options):
    found = []
    for T in (tensorlab, require_torch()):
        start, data = tensors(T, [0.3, -0.7, 1.3], [0.5, 1.5, -0.8])
        param = run(T, name, {"lr": 0.05, **options}, start, data, STEPS.get(name, 3))
        grads = T.autograd.grad(param.square().sum(), (start, data))
        found.append([value for row in (param, *grads) for value in row.tolist()])
    assert found[0] == pytest.approx(found[1], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RAdam"])
def test_the_gradient_by_the_rate_is_pytorchs(name):
    found = []
    for T in (tensorlab, require_torch()):
        start, data = tensors(T, [0.3, -0.7, 1.3], [0.5, 1.5, -0.8])
        (rate,) = tensors(T, 0.05)
        param = run(T, name, {"lr": rate}, start, data, 3)
        found.append(T.autograd.grad(param.square().sum(), rate)[0].item())
    assert found[0] == pytest.approx(found[1], rel=1e-4)


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_a_recorded_step_is_the_step_that_is_not(name, options):
    start, data = tensors(tensorlab, [0.3, -0.7, 1.3], [0.5, 1.5, -0.8])
    recorded = run(tensorlab, name, {"lr": 0.05, **options}, start, data, 3)
    param = start.detach().clone().requires_grad_()
    optimizer = getattr(optim, name)([param], lr=0.05, **options)
    for _ in range(3):
        optimizer.zero_grad()
        ((param.pow(3) * data.detach()).sum() + param.square().sum()).backward()
        optimizer.step()
    assert recorded.tolist() == pytest.approx(param.tolist(), rel=1e-6)
    assert not any(
        value.requires_grad for value in optimizer.state[param].values() if value is not None
    )
