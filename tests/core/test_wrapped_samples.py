"""Every sample, computed by wrappers: values and gradients are those of plain tensors, and all results are wrappers."""

import warnings

import numpy as np
import pytest

import tensorlab as torch
from tests.core.wrappers import wrapper_class
from tests.ops.every_sample import SAMPLES, as_tuple
from tests.ops.samples import is_floating, make_tensor

BELOW, ABOVE = wrapper_class("mode"), wrapper_class("transform")
CHUNK = 60
CHUNKS = [SAMPLES[start : start + CHUNK] for start in range(0, len(SAMPLES), CHUNK)]

# Samples that this does not hold for, and why.
NO_WRAPPERS = {
    "histogram": "its edges are made of numbers",
    "histogram edges": "its edges are among the results, as they are given",
}
ONLY_BELOW = {
    "linalg.matrix_power 0": "a wrapper above autograd does not say that it wants a gradient of 0",
    "scaled_dot_product_attention bias": "a wrapper above autograd does not say that its bias wants "
    "a gradient, which the op that is fused has not",
}


def wrap(x, cls, depth):
    for _ in range(depth):
        x = cls.around(x)
    return x


def unwrap(x, cls, depth):
    for _ in range(depth):
        assert type(x) is cls, "a result is no wrapper"
        x = x.inner
    assert type(x) is torch.Tensor
    return x


def inputs_of(sample):
    return [
        make_tensor(torch, a, requires_grad=is_floating(a) and bool(sample.derivatives))
        for a in sample.arrays()
    ]


def results_of(call, inputs):
    """All results of a call, which draws the same numbers each time."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return as_tuple(call(torch, *inputs))


def assert_same(got, expected):
    if not isinstance(expected, torch.Tensor):
        assert got == expected
        return
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.detach().numpy(), expected.detach().numpy())


def gradients(results, inputs, ones_like=torch.ones_like):
    """The gradients by all inputs that have one; None if the results have no history."""
    results = [y for y in results if isinstance(y, torch.Tensor) and y.requires_grad]
    leaves = [x for x in inputs if x.requires_grad]
    if not results:
        return ()
    ones = [ones_like(y) for y in results]
    return torch.autograd.grad(results, leaves, ones, allow_unused=True)


def check(sample, call, cls, depth):
    inputs = inputs_of(sample)
    expected = results_of(call, inputs)
    expected_grads = gradients(expected, inputs)
    inputs = inputs_of(sample)
    with torch.DisableTorchFunctionSubclass():
        if cls is BELOW:
            wrapped = [wrap(x.detach(), cls, depth).requires_grad_(x.requires_grad) for x in inputs]
        else:
            wrapped = [wrap(x, cls, depth) for x in inputs]
        got = results_of(call, wrapped)
        inside = [unwrap(y, cls, depth) if isinstance(y, torch.Tensor) else y for y in got]
        if cls is BELOW:
            grads = gradients(got, wrapped)
            grads = [None if g is None else unwrap(g, cls, depth) for g in grads]
        else:
            grads = gradients(inside, inputs)
    assert len(inside) == len(expected)
    for one, other in zip([*inside, *grads], [*expected, *expected_grads], strict=True):
        assert (one is None) == (other is None)
        assert_same(one, other)


def failures(samples, cls, depth, call_of):
    """What goes wrong, by the name of the sample."""
    found = {}
    excepted = NO_WRAPPERS if cls is BELOW else NO_WRAPPERS | ONLY_BELOW
    for sample in samples:
        if sample.name in excepted or call_of(sample) is None:
            continue
        try:
            check(sample, call_of(sample), cls, depth)
        except Exception as error:
            found[sample.name] = f"{type(error).__name__}: {error}"
    return found


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("cls", [BELOW, ABOVE], ids=["below autograd", "above"])
@pytest.mark.parametrize("chunk", range(len(CHUNKS)))
def test_wrappers_compute_what_plain_tensors_do(chunk, cls, depth):
    assert failures(CHUNKS[chunk], cls, depth, lambda sample: sample.call) == {}


def in_place(sample):
    """The call of a sample in place, on a tensor that may be written."""
    if not sample.inplace:
        return None
    return lambda T, x, *rest: sample.inplace(T, x * 1, *rest)


@pytest.mark.parametrize("cls", [BELOW, ABOVE], ids=["below autograd", "above"])
def test_wrappers_are_written_as_plain_tensors_are(cls):
    assert failures(SAMPLES, cls, 1, in_place) == {}
