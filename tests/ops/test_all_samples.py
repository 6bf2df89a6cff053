"""Every op against PyTorch, over the samples of all families: values, derivatives, layouts, shapes, dtypes, errors."""

import warnings

import numpy as np
import pytest
from tensorlab._core.engine.backward import grad as tensorlab_grad

import tensorlab
from tests.ops.every_sample import (
    IN_PYTORCH,
    SAMPLES,
    as_tuple,
    dtype_name,
    each_sample,
    first_gradients,
    other_inputs,
    second_gradients,
)
from tests.ops.samples import is_floating, make_tensor, stepped, to_dtype, transposed
from tests.oracle import require_torch

torch = require_torch()

TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


# ------------------------------------------------------------------------------------------------ comparing
def assert_same(ours, theirs, sample, what, strides=False):
    """Shape, dtype, values and perhaps strides of all results."""
    ours, theirs = as_tuple(ours), as_tuple(theirs)
    assert len(ours) == len(theirs), what
    for x, y in zip(ours, theirs, strict=True):
        if y is None or not hasattr(y, "dtype"):
            assert x == y, what
            continue
        assert x is not None, f"{what}: no gradient where PyTorch has one"
        assert tuple(x.shape) == tuple(y.shape), what
        assert dtype_name(x) == dtype_name(y), what
        if strides and sample.same_strides:
            assert tuple(x.stride()) == tuple(y.stride()), what
        tolerance = TOLERANCE.get(dtype_name(y), 0.0) * sample.tolerance
        np.testing.assert_allclose(
            np.array(x.tolist(), dtype="float64" if tolerance else None),
            np.array(y.tolist(), dtype="float64" if tolerance else None),
            rtol=tolerance,
            atol=tolerance,
            err_msg=what,
        )


def assert_zero_where_missing(ours, theirs, sample, what):
    """A second derivative that is zero everywhere may be a tensor of zeros or missing."""
    for x, y in zip(ours, theirs, strict=True):
        if y is not None and y._is_zerotensor():  # zeros that PyTorch never wrote down
            y = None
        if x is None or y is None:
            other = x if y is None else y
            assert other is None or not np.any(other.tolist()), what
        else:
            assert_same(x, y, sample, what)


def compare_derivatives(sample, arrays, what, call=None):
    our_inputs, ours = first_gradients(tensorlab, tensorlab_grad, sample, arrays, call)
    their_inputs, theirs = first_gradients(torch, torch.autograd.grad, sample, arrays, call)
    assert_zero_where_missing(ours, theirs, sample, f"{what}: first derivative")
    if sample.derivatives > 1:
        ours = second_gradients(tensorlab, tensorlab_grad, our_inputs, ours)
        theirs = second_gradients(torch, torch.autograd.grad, their_inputs, theirs)
        if not ours or not theirs:
            ours = ours or [None] * len(our_inputs)
            theirs = theirs or [None] * len(their_inputs)
        assert_zero_where_missing(ours, theirs, sample, f"{what}: second derivative")


# ------------------------------------------------------------------------------------------------ the tests
@each_sample(IN_PYTORCH)
def test_values_in_float64_are_those_of_pytorch(sample):
    arrays = sample.arrays()
    assert_same(
        sample.call(tensorlab, *[make_tensor(tensorlab, array) for array in arrays]),
        sample.call(torch, *[make_tensor(torch, array) for array in arrays]),
        sample,
        "value",
        strides=True,
    )


@each_sample(IN_PYTORCH, dtype=lambda sample: sample.dtypes)
def test_each_dtype_gives_the_value_and_the_type_that_pytorch_gives(sample, dtype):
    arrays = sample.arrays()
    ours = [make_tensor(tensorlab, array, dtype) for array in arrays]
    theirs = [make_tensor(torch, array, dtype) for array in arrays]
    try:
        expected = sample.call(torch, *theirs)
    except (RuntimeError, TypeError):
        with pytest.raises((RuntimeError, TypeError)):
            sample.call(tensorlab, *ours)
        return
    assert_same(sample.call(tensorlab, *ours), expected, sample, f"{sample.name} in {dtype}")


@each_sample([s for s in IN_PYTORCH if s.derivatives])
def test_derivatives_in_float64_are_those_of_pytorch(sample):
    compare_derivatives(sample, sample.arrays(), sample.name)


@pytest.mark.filterwarnings("ignore:torch.searchsorted")  # PyTorch's, once in a process
@each_sample(IN_PYTORCH, layout=(transposed, stepped))
def test_strided_inputs_give_the_same_as_contiguous_ones(sample, layout):
    for dtype in ("float64", "float32"):
        arrays = [layout(to_dtype(array, dtype)) for array in sample.arrays()]
        assert_same(
            sample.call(tensorlab, *[tensorlab.from_numpy(array) for array in arrays]),
            sample.call(torch, *[torch.from_numpy(array) for array in arrays]),
            sample,
            f"{layout.__name__} in {dtype}",
            strides=True,
        )


@each_sample([s for s in IN_PYTORCH if s.pointwise or s.more])
def test_other_shapes_give_the_values_and_gradients_of_pytorch(sample):
    for arrays in other_inputs(sample):
        what = f"{sample.name} of shapes {[array.shape for array in arrays]}"
        assert_same(
            sample.call(tensorlab, *[make_tensor(tensorlab, array) for array in arrays]),
            sample.call(torch, *[make_tensor(torch, array) for array in arrays]),
            sample,
            what,
            strides=True,
        )
        if sample.derivatives:
            compare_derivatives(sample, arrays, what)


@each_sample([s for s in IN_PYTORCH if s.inplace])
def test_in_place_it_writes_over_the_input_and_differentiates(sample):
    arrays = sample.arrays()
    results = []
    for T in (tensorlab, torch):
        tensors = [make_tensor(T, array) for array in arrays]
        version = tensors[0]._version
        assert sample.inplace(T, *tensors) is tensors[0]
        assert tensors[0]._version == version + 1
        results.append(tensors[0])
    assert_same(results[0], results[1], sample, "in place")
    if sample.derivatives and dtype_name(results[1]) == "float64":

        def call(T, x, *rest):
            return sample.inplace(T, x * 1, *rest)

        try:
            first_gradients(torch, torch.autograd.grad, sample, arrays, call)
        except (
            NotImplementedError
        ):  # PyTorch cannot: "the derivative for 'inplace version of asinh' ..."
            return
        compare_derivatives(sample, arrays, "in place", call)


@each_sample([s for s in IN_PYTORCH if s.out])
def test_out_gets_the_result_and_refuses_what_needs_a_gradient(sample):
    arrays = sample.arrays()
    results = []
    for T in (tensorlab, torch):
        tensors = [make_tensor(T, array) for array in arrays]
        expected = sample.call(T, *tensors)
        out = make_tensor(T, np.zeros(tuple(expected.shape)), dtype_name(expected))
        assert sample.out(T, *tensors, out=out) is out
        resized = make_tensor(T, np.zeros(0), dtype_name(expected))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sample.out(T, *tensors, out=resized)
        assert tuple(resized.shape) == tuple(expected.shape)
        results.append(out)
        if sample.derivatives:
            first = next(i for i, array in enumerate(arrays) if is_floating(array))
            tensors[first] = make_tensor(T, arrays[first], requires_grad=True)
            with pytest.raises(RuntimeError):
                sample.out(T, *tensors, out=out)
    assert_same(results[0], results[1], sample, "out=")


@each_sample([s for s in IN_PYTORCH if s.bad])
def test_bad_input_raises_what_pytorch_raises_and_changes_nothing(sample):
    arrays = sample.arrays()
    for number, call in enumerate(sample.bad):
        with pytest.raises(Exception) as theirs:  # noqa: PT011 (which class is what we ask)
            call(torch, *[make_tensor(torch, array) for array in arrays])
        tensors = [make_tensor(tensorlab, array) for array in arrays]
        before = [repr(x.tolist()) for x in tensors]
        with pytest.raises(Exception) as ours:  # noqa: PT011
            call(tensorlab, *tensors)
        builtin = next(c for c in type(theirs.value).__mro__ if c.__module__ == "builtins")
        assert isinstance(ours.value, builtin), f"bad call {number}: {ours.value!r}"
        assert [repr(x.tolist()) for x in tensors] == before


def test_what_is_said_to_be_missing_in_pytorch_is():
    for sample in SAMPLES:
        if not sample.in_pytorch:
            with pytest.raises(AttributeError):
                sample.call(torch, *[make_tensor(torch, array) for array in sample.arrays()])
