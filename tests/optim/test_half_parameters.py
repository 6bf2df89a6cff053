"""Parameters in bfloat16 and float16: they step, and take PyTorch's numbers."""

import pytest

import tensorlab
from tests.ops.agreement import agree

# (optimizer, options, does each number agree to the last bit?) PyTorch rounds the factor of
# `x.add(y, alpha=factor)` to the half type first, and so moves by 0.1001 where the rate is 0.1;
# here it isn't rounded.
CASES = [
    ("SGD", {"lr": 0.1}, False),
    ("SGD", {"lr": 0.125}, True),
    ("SGD", {"lr": 0.125, "momentum": 0.5, "weight_decay": 0.25}, True),
    ("SGD", {"lr": 0.125, "momentum": 0.5, "nesterov": True, "maximize": True}, True),
    ("Adam", {}, True),
    ("Adam", {"amsgrad": True, "lr": 0.01}, True),
    ("AdamW", {"lr": 0.01}, True),
    ("Adagrad", {}, True),
    ("Adadelta", {}, True),
    ("Adamax", {}, True),
    ("NAdam", {}, True),
    ("RAdam", {}, True),
    ("RMSprop", {}, True),
    ("RMSprop", {"momentum": 0.9, "centered": True}, False),
    ("Rprop", {}, True),
    ("ASGD", {}, False),
    ("LBFGS", {}, True),
    ("Adafactor", {}, False),
    ("Muon", {}, False),
]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("name", "options", "exact"), CASES)
def test_it_steps_with_pytorchs_numbers(name, options, exact, dtype):
    def weights(T):
        shapes = [(4, 6)] if name == "Muon" else [(4, 6), (5,)]
        params = [
            T.nn.Parameter(T.ones(shape).cumsum(0).sin().to(getattr(T, dtype))) for shape in shapes
        ]
        optimizer = getattr(T.optim, name)(params, **options)

        def loss_of():
            optimizer.zero_grad()
            loss = sum((p.float() - 0.3).square().sum() for p in params)
            loss.backward()
            return loss

        for _ in range(10):
            if name == "LBFGS":
                optimizer.step(loss_of)
            else:
                loss_of()
                optimizer.step()
        assert all(p.dtype == getattr(T, dtype) for p in params)
        return [p.detach().float() for p in params]

    agree(weights, tolerance=0 if exact else {"bfloat16": 2e-2, "float16": 3e-3}[dtype])


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_half_and_whole_parameters_go_into_one_group(optimizer):
    def trained(dtype):
        params = [
            tensorlab.nn.Parameter(tensorlab.ones(3)),
            tensorlab.nn.Parameter(tensorlab.ones(3, dtype=dtype)),
        ]
        step = getattr(tensorlab.optim, optimizer)(params, lr=0.25)
        for _ in range(3):
            step.zero_grad()
            sum((p * p).sum().float() for p in params).backward()
            step.step()
        return [p.tolist() for p in params]

    whole, half = trained(tensorlab.float32), trained(tensorlab.bfloat16)
    assert half[0] == whole[0]
    assert half[1] == pytest.approx(whole[1], rel=2e-2)
