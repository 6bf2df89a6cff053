"""Convolution with one input channel per group, against PyTorch and against the definition."""

from pathlib import Path

import numpy
import pytest

import tensorlab

CASES = [  # input, out_channels, kernel, stride, padding, dilation
    ((3, 4, 28, 28), 4, (3, 3), 1, 1, 1),
    ((2, 3, 9, 7), 6, (3, 2), 1, (1, 0), 1),
    ((2, 1, 12, 11), 5, (5, 5), 1, 2, 1),
    ((2, 4, 17, 16), 4, (3, 3), 2, 1, 1),
    ((1, 2, 13, 20), 4, (2, 4), (3, 2), (4, 1), (2, 3)),
    ((2, 3, 1, 9), 3, (3, 3), (1, 2), (1, 3), 1),
    ((2, 2, 70, 65), 2, (7, 7), 1, 3, 1),
    ((1, 2, 40, 40), 2, (2, 1), 4, 0, 1),
    ((2, 5, 33), 10, (4,), 3, 2, 2),
    ((1, 1, 5000), 3, (9,), 1, 0, 5),
    ((2, 2, 5, 6, 7), 4, (2, 3, 2), (1, 2, 3), (1, 0, 2), (2, 1, 1)),
]


def results(T, x, weight, stride, padding, dilation, chosen_grad):
    """The output and both gradients, as arrays."""
    x = T.from_numpy(x.copy()).requires_grad_()
    weight = T.from_numpy(weight.copy()).requires_grad_()
    convolve = getattr(T.nn.functional, f"conv{x.ndim - 2}d")
    out = convolve(x, weight, stride=stride, padding=padding, dilation=dilation, groups=x.shape[1])
    out.backward(T.from_numpy(chosen_grad(tuple(out.shape))))
    return [each.detach().numpy() for each in (out, x.grad, weight.grad)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_output_and_gradients_are_pytorch_s(case, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle")
    shape, out_channels, kernel, *numbers = case
    rng = numpy.random.default_rng(0)
    x = rng.standard_normal(shape).astype(dtype)
    weight = rng.standard_normal((out_channels, 1, *kernel)).astype(dtype)

    def grad(shape):
        return numpy.random.default_rng(1).standard_normal(shape).astype(dtype)

    ours = results(tensorlab, x, weight, *numbers, grad)
    theirs = results(torch, x, weight, *numbers, grad)
    for mine, other in zip(ours, theirs, strict=True):
        scale = abs(other).max() * (1e-5 if dtype == "float32" else 1e-13)
        numpy.testing.assert_allclose(mine, other, rtol=0, atol=scale)


@pytest.mark.parametrize("stride", [1, 2])
def test_an_infinity_reaches_only_the_weights_that_meet_it(stride):
    rng = numpy.random.default_rng(2)
    x = rng.standard_normal((2, 3, 6, 5)).astype("float32")
    weight = rng.standard_normal((3, 1, 3, 3)).astype("float32")
    x[0, 1, 2, 4] = numpy.inf
    x[1, 2, 0, 0] = numpy.nan
    out, _, grad_weight = results(
        tensorlab, x, weight, stride, 1, 1, lambda shape: numpy.ones(shape, "float32")
    )
    padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for channel in range(3):
        for row in range(3):
            for column in range(3):
                met = padded[:, channel, row:, column:]
                met = met[:, :6, :5]
                met = met[:, ::stride, ::stride]
                assert met.shape[1:] == out.shape[2:]
                numpy.testing.assert_allclose(
                    grad_weight[channel, 0, row, column], met.sum(), rtol=1e-4, atol=1e-4
                )


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("groups", [1, 2])
def test_integers_are_convolved_as_numbers_are(dtype, groups):
    rng = numpy.random.default_rng(0)
    x = tensorlab.from_numpy(rng.integers(0, 3, (2, 4, 6, 5)).astype(dtype))
    weight = tensorlab.from_numpy(rng.integers(0, 3, (6, 4 // groups, 3, 2)).astype(dtype))
    bias = tensorlab.from_numpy(rng.integers(0, 3, 6).astype(dtype))
    found = tensorlab.conv2d(x, weight, bias, stride=(1, 2), padding=1, groups=groups)
    expected = tensorlab.conv2d(
        x.double(), weight.double(), bias.double(), stride=(1, 2), padding=1, groups=groups
    )
    assert found.dtype == x.dtype
    assert found.tolist() == expected.tolist()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")
def test_the_rows_that_are_copied_are_freed():
    x, weight = tensorlab.ones(1, 1, 512, 512, requires_grad=True), tensorlab.ones(1, 1, 3, 3)
    weight.requires_grad_()

    def pages_after(calls):
        for _ in range(calls):
            out = tensorlab.conv2d(x, weight, padding=1)
            tensorlab.autograd.grad(out, [x, weight], tensorlab.ones_like(out))
        return int(Path("/proc/self/statm").read_text().split()[1])

    before = pages_after(3)
    assert pages_after(25) - before < 25 * 150  # three copies of a megabyte are 768 pages
