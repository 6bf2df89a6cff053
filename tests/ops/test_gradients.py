"""Every differentiable op against finite differences, over the samples of all families: gradcheck and gradgradcheck.

test_all_samples.py compares derivatives with PyTorch's; here they are compared with the op itself, so that a mistake
that both packages make would show, and an op that PyTorch lacks is tested too. Fast mode by default; slow mode, and
every other shape of a sample, at night.
"""

import numpy as np
import pytest

import tensorlab
from tensorlab.autograd import gradcheck, gradgradcheck
from tests.ops.every_sample import DIFFERENTIABLE as ALL
from tests.ops.every_sample import each_sample, other_inputs
from tests.ops.samples import is_floating, make_tensor

# Inputs that an op takes for constants, in PyTorch too: class weights, running statistics.
CONSTANTS = {
    "cross_entropy": [2],
    "nll_loss": [2],
    "binary_cross_entropy weighted": [2],
    "binary_cross_entropy_with_logits weighted": [2, 3],
    "batch_norm evaluation": [1, 2],
}
# Samples at points without a derivative, or whose derivative is not meant to be that of the value. A test holds each
# of them to failing.
NOT_COMPARABLE = {
    "embedding": "the row padding_idx is read and yet gets no gradient",
    "embedding frequency": "gradients are divided by how often a row is read",
    "sin of large numbers": "a step of eps is many turns",
    "cos of large numbers": "a step of eps is many turns",
    "clamp at its bounds": "kinks",
    "hardswish of specials": "kinks",
    "minimum of equals": "kinks",
    "fmax of equals": "kinks",
    "fmin of equals": "kinks",
    "amax of ties": "kinks",
    "max of ties": "kinks",
    "mode": "the value of the commonest jumps as soon as one of them moves",
    "sum to float32": "the result has not the precision",
    "to": "the result has not the precision",
    "float": "the result has not the precision",
    "cat dtypes": "the result has not the precision",
}
TIED_IN_OTHER_SHAPES = {
    "maximum of equals",
    "scatter_reduce amax",
    "scatter_reduce amin",
    "scatter_reduce amin alone",
    "index_reduce amax",
    "index_reduce amin",
}
FEW = 300  # elements of the inputs: what slow mode checks in a moment
MANY = 3000  # what fast mode does
LARGEST = 50_000
CHECKS = {1: [gradcheck], 2: [gradcheck, gradgradcheck]}

DIFFERENTIABLE = [
    sample for sample in ALL if all(np.isfinite(array).all() for array in sample.arrays())
]
COMPARABLE = [sample for sample in DIFFERENTIABLE if sample.name not in NOT_COMPARABLE]


def size(sample):
    return sum(array.size for array in sample.arrays())


def is_small(sample):
    return size(sample) < MANY


def inputs_of(sample, arrays):
    """Tensors that require grad, but for integers and for what the op takes for constants."""
    constants = next((held for name, held in CONSTANTS.items() if sample.name.startswith(name)), [])
    return tuple(
        make_tensor(tensorlab, array, requires_grad=is_floating(array) and number not in constants)
        for number, array in enumerate(arrays)
    )


def check(sample, call, arrays, **settings):
    """First and second derivative, as far as the sample says that there are any."""
    inputs = inputs_of(sample, arrays)
    if any(x.requires_grad for x in inputs):
        for checker in CHECKS[sample.derivatives]:
            assert checker(call, inputs, **settings)


def out_of_place(sample):
    def call(*tensors):
        return sample.call(tensorlab, *tensors)

    call.__name__ = sample.op
    return call


def in_place(sample):
    def call(x, *rest):
        return sample.inplace(tensorlab, x * 1, *rest)

    call.__name__ = f"{sample.op}_"
    return call


@each_sample([s for s in COMPARABLE if is_small(s)])
def test_derivatives_are_the_limits_of_difference_quotients(sample):
    check(sample, out_of_place(sample), sample.arrays(), fast_mode=True)


@each_sample([s for s in COMPARABLE if s.inplace and is_small(s)])
def test_derivatives_in_place_are_the_limits_of_difference_quotients(sample):
    check(sample, in_place(sample), sample.arrays(), fast_mode=True)


@each_sample([s for s in DIFFERENTIABLE if s.name in NOT_COMPARABLE])
def test_what_is_left_out_would_fail(sample):
    with pytest.raises(AssertionError):
        check(sample, out_of_place(sample), sample.arrays(), raise_exception=False)


def test_what_is_left_out_exists():
    names = [sample.name for sample in DIFFERENTIABLE]
    assert sorted(set(NOT_COMPARABLE) - set(names)) == []
    assert all(any(name.startswith(prefix) for name in names) for prefix in CONSTANTS)
    assert sorted(TIED_IN_OTHER_SHAPES - set(names)) == []
    assert len(COMPARABLE) > 550


@pytest.mark.nightly
@each_sample(COMPARABLE)
def test_every_entry_of_every_jacobian_agrees(sample):
    check(sample, out_of_place(sample), sample.arrays(), fast_mode=size(sample) >= FEW)


@pytest.mark.nightly
@each_sample(
    [s for s in COMPARABLE if s.name not in TIED_IN_OTHER_SHAPES and (s.pointwise or s.more)]
)
def test_every_entry_agrees_for_other_shapes(sample):
    for arrays in other_inputs(sample):
        elements = sum(array.size for array in arrays)
        if elements < LARGEST and all(np.isfinite(array).all() for array in arrays):
            check(sample, out_of_place(sample), arrays, fast_mode=elements >= FEW)
