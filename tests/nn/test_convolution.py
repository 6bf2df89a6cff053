"""Convolutions at their edges: every padding mode, and inputs without images, channels or pixels."""

import itertools

import numpy as np
import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [0, 1, "same", "valid", "one for each axis"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_every_padding_mode_of_every_convolution_is_pytorchs(axes, padding, mode, seed):
    torch = require_torch()
    if padding == "one for each axis":
        padding = (2, 0, 1)[:axes]
    values = np.random.default_rng(seed).standard_normal((2, 2, *(5, 4, 3)[:axes]))
    found = []
    for T in (tensorlab, torch):
        T.manual_seed(0)
        kernel = (4, 3, 2)[:axes]  # of an even size: what "same" puts on both sides differs
        layer = getattr(T.nn, f"Conv{axes}d")(
            2, 3, kernel, padding=padding, padding_mode=mode, dtype=T.float64
        )
        x = T.tensor(values.tolist(), dtype=T.float64, requires_grad=True)
        out = layer(x * 1)
        (out * out).sum().backward()
        found.append((repr(layer), out, x.grad, layer.weight.grad, layer.bias.grad))
    assert found[0][0] == found[1][0]
    for ours, theirs in zip(found[0][1:], found[1][1:], strict=True):
        assert_same_values(ours, theirs, 1e-10)


def answer(T, axes, is_transposed, batch, ins, outs, size, kernel, groups, has_bias):
    """The shapes of result and gradients, or "RuntimeError"."""
    x = T.ones(*batch, ins, *[size] * axes).requires_grad_()
    first, second = (ins, outs) if is_transposed else (outs, ins)
    weight = T.ones(first, second // groups, *[kernel] * axes).requires_grad_()
    bias = T.ones(outs).requires_grad_() if has_bias else None
    name = f"conv{'_transpose' if is_transposed else ''}{axes}d"
    try:
        out = getattr(T.nn.functional, name)(x, weight, bias, groups=groups)
    except RuntimeError:
        return "RuntimeError"
    except IndexError:  # PyTorch's, when it looks at the first of no output channels
        assert not outs
        return "RuntimeError"
    out.sum().backward()
    gradients = [x.grad, weight.grad, *([bias.grad] if has_bias else [])]
    assert not any(bool(one.any()) for one in gradients if out.numel() == 0)
    return [tuple(one.shape) for one in (out, *gradients)]


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_nothing_is_convolved_to_what_pytorch_says(axes, is_transposed):
    torch = require_torch()
    for case in itertools.product(
        ((), (0,), (2,)), (0, 2), (0, 2), (0, 4), (1, 3), (1, 2), (False, True)
    ):
        if 0 in (*case[0], *case[1:4]):
            ours = answer(tensorlab, axes, is_transposed, *case)
            assert ours == answer(torch, axes, is_transposed, *case), case


def test_a_layer_without_input_channels_gives_no_channels():
    with pytest.warns(UserWarning, match="zero-element"):
        layer = nn.Conv2d(0, 2, 3)
    assert layer(tensorlab.ones(5, 0, 6, 7)).shape == (5, 0, 4, 5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Conv1d(2, 2, 3, padding="foo"), "'foo'; expected ints, or one of same, valid"),
        (lambda: nn.Conv2d(2, 2, 3, (1, 2), "same"), r"padding='same' .* stride=\(1, 2\)"),
        (lambda: nn.CircularPad2d(1)(tensorlab.ones(3, 3)), r"\(3, 3\); expected 3D or 4D"),
    ],
)
def test_what_does_not_fit_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_every_padding_layer_is_told_from_the_others_by_class():
    assert isinstance(nn.ZeroPad3d(1), nn.ConstantPad1d)
    assert not isinstance(nn.CircularPad3d(1), nn.ConstantPad1d)
