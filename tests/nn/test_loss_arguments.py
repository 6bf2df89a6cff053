"""Arguments of losses: PyTorch's, in its order. What follows size_average and reduce there goes by name here."""

import inspect

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

torch = require_torch()

LEFT_OUT = {"size_average", "reduce"}
FUNCTIONS = [
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss"),
    *("nll_loss", "cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits"),
]
CLASSES = [
    *("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "KLDivLoss", "PoissonNLLLoss"),
    *("NLLLoss", "CrossEntropyLoss", "BCELoss", "BCEWithLogitsLoss"),
]


def arguments(function):
    """Those that may be given by position, and the defaults of all."""
    parameters = list(inspect.signature(function).parameters.values())
    by_position = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    return by_position, {p.name: p.default for p in parameters if p.name not in LEFT_OUT}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        *[
            (getattr(tensorlab.nn.functional, f), getattr(torch.nn.functional, f))
            for f in FUNCTIONS
        ],
        *[(getattr(tensorlab.nn, c), getattr(torch.nn, c)) for c in CLASSES],
    ],
)
def test_losses_take_the_arguments_of_pytorch(ours, theirs):
    (by_position, defaults), (their_positions, their_defaults) = arguments(ours), arguments(theirs)
    assert defaults == their_defaults
    until = next((i for i, name in enumerate(their_positions) if name in LEFT_OUT), None)
    assert by_position == their_positions[:until]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weights_of_elements(name, reduction):
    def program(T):
        x, y, w = T.tensor(numbers, dtype=T.float64)
        for one in (x, y, w):
            one.requires_grad_()
        loss = getattr(T.nn.functional, name)(x, y, reduction=reduction, weight=w)
        return [loss, *T.autograd.grad(loss.sum(), [x, y, w])]

    numbers = np.random.default_rng(0).uniform(0.1, 3, size=(3, 2, 4)).tolist()
    for ours, theirs in zip(program(tensorlab), program(torch), strict=True):
        np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-12)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weights_of_another_shape_are_refused(name):
    x = tensorlab.ones(2, 3)
    for T, given in ((tensorlab, x), (torch, torch.ones(2, 3))):
        with pytest.raises(ValueError, match="size|shape"):
            getattr(T.nn.functional, name)(given, given, weight=T.ones(3))
    with pytest.raises(ValueError, match=rf"^{name}: reduction is 'all'"):
        getattr(tensorlab.nn.functional, name)(x, x, reduction="all", weight=x)
