"""Complex parameters: every optimizer's steps, state and files, against PyTorch's."""

import warnings

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

torch = require_torch()

OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1}),
    ("Adadelta", {"lr": 0.5}),
    ("Adagrad", {"lr": 0.5, "initial_accumulator_value": 0.1}),
    ("ASGD", {"lr": 0.1, "t0": 2}),
    ("RMSprop", {"lr": 0.1, "centered": True, "momentum": 0.5}),
    ("Rprop", {"lr": 0.1}),
    ("LBFGS", {"lr": 0.5, "max_iter": 4}),
    ("LBFGS", {"lr": 1, "max_iter": 4, "line_search_fn": "strong_wolfe"}),
]


def numbers(x):
    return np.array(x.detach().tolist())


def trained(T, name, options, steps=5):
    """The parameters, one complex and one real, after some steps; and the optimizer."""
    rng = np.random.default_rng(0)
    z = T.tensor(
        (rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))).tolist(), dtype=T.complex128
    )
    w = T.tensor(rng.normal(size=3).tolist(), dtype=T.float64)
    target = T.tensor([1 + 2j, -1j, 0.5], dtype=T.complex128)
    params = [z.requires_grad_(), w.requires_grad_()]
    optimizer = getattr(T.optim, name)(params, **options)

    def closure():
        optimizer.zero_grad()
        loss = (z * w - target).abs().square().sum()
        loss.backward()
        return loss

    for _ in range(steps):
        if name == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    return params, optimizer


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_steps_are_those_of_pytorch(name, options):
    ours, optimizer = trained(tensorlab, name, options)
    theirs, their_optimizer = trained(torch, name, options)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(numbers(x), numbers(y), rtol=1e-9)
    found = optimizer.state_dict()["state"].get(0, {})
    wanted = their_optimizer.state_dict()["state"].get(0, {})
    for key, value in found.items():
        if isinstance(value, tensorlab.Tensor) and key in wanted and key != "mu_product":
            assert value.is_complex() == wanted[key].is_complex(), key
            np.testing.assert_allclose(numbers(value), numbers(wanted[key]), rtol=1e-9, err_msg=key)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_who_has_no_formula_for_them_refuses(name):
    z = tensorlab.ones(2, 2, dtype=tensorlab.complex64, requires_grad=True)
    z.grad = tensorlab.ones_like(z)
    optimizer = getattr(tensorlab.optim, name)([z])
    with pytest.raises(RuntimeError, match=f"{name} does not support complex parameters"):
        optimizer.step()
    assert z.tolist() == [[1, 1], [1, 1]]


def test_training_goes_on_from_a_file(tmp_path):
    (z, w), optimizer = trained(tensorlab, "Adam", {"lr": 0.1}, steps=3)
    tensorlab.save(optimizer.state_dict(), tmp_path / "state.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin = tensorlab.optim.Adam([x.detach().clone().requires_grad_() for x in (z, w)], lr=0.1)
        twin.load_state_dict(tensorlab.load(tmp_path / "state.pt"))
    again = twin.param_groups[0]["params"]
    for x, y in zip((z, w), again, strict=True):
        x.grad = y.grad = tensorlab.ones_like(x)
    optimizer.step()
    twin.step()
    assert z.tolist() == again[0].tolist()
