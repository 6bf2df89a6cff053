"""nn.grad: the gradients of convolutions as functions, without the convolution."""

import pytest

import tensorlab
from tensorlab import nn
from tensorlab.utils.flop_counter import FlopCounterMode
from tests.oracle import assert_same_values, require_torch

F = nn.functional

CASES = {  # input, out_channels, kernel, settings
    "plain": ((2, 4, 6), 3, (3,), {}),
    "stride": ((2, 4, 9), 6, (3,), {"stride": 2, "padding": 1, "groups": 2}),
    "a rest": ((1, 2, 8), 2, (3,), {"stride": 3, "padding": 2}),
    "one number in a tuple": ((1, 2, 8), 2, (2,), {"stride": (2,), "dilation": (3,)}),
    "image": ((2, 3, 7, 8), 4, (3, 2), {"padding": (1, 0), "stride": (2, 1)}),
    "depthwise": ((2, 6, 6, 5), 12, (3, 3), {"padding": 1, "groups": 6}),
    "transform": ((1, 32, 8, 9), 32, (3, 3), {"padding": 1}),
    "no images": ((0, 3, 5, 5), 4, (3, 3), {}),
    "dilation": ((1, 3, 9, 9), 4, (3, 3), {"dilation": (1, 3), "stride": 2}),
    "volume": ((2, 2, 4, 5, 6), 4, (2, 3, 1), {"padding": (0, 1, 0), "stride": 2}),
}


def tensors(T, case, dtype="float64"):
    shape, filters, kernel, settings = case
    T.manual_seed(3)
    x = T.randn(shape, dtype=T.float64)
    weight = T.randn(filters, shape[1] // settings.get("groups", 1), *kernel, dtype=T.float64)
    convolve = getattr(T.nn.functional, f"conv{len(kernel)}d")
    out = convolve(x, weight, None, **settings)
    grad = T.randn(out.shape, dtype=T.float64)
    return [each.to(getattr(T, dtype)) for each in (x, weight, grad)]


def gradients(T, case, x, weight, grad):
    name, settings = f"conv{len(case[2])}d", case[3]
    by_input = getattr(T.nn.grad, name + "_input")(x.shape, weight, grad, **settings)
    by_weight = getattr(T.nn.grad, name + "_weight")(x, weight.shape, grad, **settings)
    return by_input, by_weight


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "complex128"])
@pytest.mark.parametrize("name", CASES)
def test_they_are_those_that_autograd_finds(name, dtype):
    x, weight, grad = tensors(tensorlab, CASES[name], dtype)
    found = gradients(tensorlab, CASES[name], x, weight, grad)
    x.requires_grad_(), weight.requires_grad_()
    out = getattr(F, f"conv{len(CASES[name][2])}d")(x, weight, None, **CASES[name][3])
    for mine, right in zip(found, tensorlab.autograd.grad(out, [x, weight], grad), strict=True):
        assert mine.dtype is right.dtype
        assert mine.resolve_conj().tolist() == right.resolve_conj().tolist()


@pytest.mark.parametrize("name", CASES)
def test_they_are_those_of_pytorch(name):
    torch = require_torch()
    ours, theirs = (gradients(T, CASES[name], *tensors(T, CASES[name])) for T in (tensorlab, torch))
    for mine, right in zip(ours, theirs, strict=True):
        assert_same_values(mine, right, 1e-10)


def test_no_output_is_computed():
    x, weight, grad = tensors(tensorlab, CASES["image"])
    with FlopCounterMode(display=False) as alone:
        F.conv2d(x, weight, None, **CASES["image"][3])
    with FlopCounterMode(display=False) as both:
        gradients(tensorlab, CASES["image"], x, weight, grad)
    assert both.get_total_flops() == 2 * alone.get_total_flops()


def test_a_single_image():
    x, weight, grad = tensors(tensorlab, CASES["plain"])
    by_input, by_weight = gradients(tensorlab, CASES["plain"], x[0], weight, grad[0])
    batch = gradients(tensorlab, CASES["plain"], x[:1], weight, grad[:1])
    assert by_input.tolist() == batch[0][0].tolist()
    assert by_weight.tolist() == batch[1].tolist()


@pytest.mark.parametrize(
    ("shape", "grad", "message"),
    [
        ((2, 4, 6), (2, 3, 5), r"grad_output has shape \(2, 3, 5\), but .* has \(2, 3, 4\)"),
        ((2, 4, 6), (3, 4), r"grad_output has shape \(3, 4\)"),
        ((2, 4, -6), (2, 3, 4), "size -6 in .* is negative"),
        ((2, 5, 6), (2, 3, 4), "has 5 channels"),
        ((2, 4, 2), (2, 3, 4), "larger than the padded input"),
    ],
)
def test_sizes_that_do_not_fit(shape, grad, message):
    weight = tensorlab.ones(3, 4, 3)
    with pytest.raises(tensorlab.errors.ShapeError, match=message):
        nn.grad.conv1d_input(shape, weight, tensorlab.ones(grad))


def test_types_that_do_not_fit():
    x, grad = tensorlab.ones(1, 1, 5), tensorlab.ones(1, 2, 4, dtype=tensorlab.float64)
    with pytest.raises(tensorlab.errors.DTypeError, match="they must be equal"):
        nn.grad.conv1d_weight(x, (2, 1, 2), grad)
    with pytest.raises(TypeError, match="grad"):
        nn.grad.conv1d_weight(x, (2, 1, 2), None)
