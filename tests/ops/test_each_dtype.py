"""Every op in every dtype, without PyTorch: the type of the result is the recorded one, the value that of a wider type.

Half types, float32 and int64 are compared with float64 on the same numbers; narrow integers and bool with int64, whose
result wraps around to theirs.
"""

import numpy as np
import pytest

import tensorlab
from tests.ops.every_sample import SAMPLES, call_quietly, dtype_name, each_sample, tensors_of
from tests.ops.record import RECORDED, answers, recorded_types, type_names
from tests.ops.samples import Sample, is_floating, make_tensor, normal

TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
WIDER = dict.fromkeys(("float32", "float16", "bfloat16", "int64"), "float64")

# Where the type itself decides the value, by sample: which types, and why. A test holds each to differing.
BY_TYPE = {
    "exp of large numbers": ("float16 bfloat16 int64 int8", "30 x is rounded before"),
    "sin of large numbers": ("float32 float16 bfloat16", "1e7 x is rounded before"),
    "cos of large numbers": ("float32 float16 bfloat16", "1e7 x is rounded before"),
    "sinh of 20 x": ("float16 int64 int8", "20 x is rounded before; float32 is what integers give"),
    "cosh of 20 x": ("float16 int64", "20 x is rounded before; float32 is what integers give"),
    "threshold 0.1 20.0 of specials": ("float32", "0.1 in float32 is above 0.1"),
    "nan_to_num of specials": ("float32", "infinity becomes the largest number of the type"),
    "nan_to_num limits": ("float32", "infinity becomes the largest number of the type"),
    "clamp integers": ("uint8", "-1 wraps around before it is a bound"),
    "clamp inverted": ("uint8", "-1 wraps around before it is a bound"),
    "masked_fill": ("bool", "0.5 is true, and 0 as an integer"),
    "diff twice": ("bool", "the difference of two bools is their exclusive or"),
    "scatter_reduce mean": ("int64", "the mean of integers is rounded down"),
    "index_reduce mean": ("int64", "the mean of integers is rounded down"),
}


def test_every_sample_is_recorded_and_nothing_else():
    assert list(RECORDED) == [sample.name for sample in SAMPLES], (
        "python -m tests.ops.record asks PyTorch again (make oracle installs it)"
    )


def test_of_an_op_that_pytorch_lacks_tensorlab_is_asked():
    twice = Sample(
        "twice",
        lambda T, x: {"tensorlab": x * 2}[T.__name__],
        normal(2, 3),
        dtypes=["float32", "bool"],
        bad=[lambda T, x: {"tensorlab": x.view(7)}[T.__name__]],
        in_pytorch=False,
    )
    strides = ["3 1", "1 2", "3 1"]
    assert answers(twice) == {"types": "= int64", "strides": strides, "bad": "RuntimeError"}


def wide_numbers(array, dtype):
    """What a tensor of that dtype holds, as a tensor of a wider type."""
    held = make_tensor(tensorlab, array, dtype)
    return held.to(getattr(tensorlab, WIDER.get(dtype, "int64"))) if is_floating(array) else held


def assert_close(found, wide, sample, what):
    """A result equals that of the wider type, rounded or wrapped around to its own."""
    found_as = np.array(found.tolist()) if found.dtype is tensorlab.bfloat16 else found.numpy()
    expected = wide.detach().numpy()
    if found_as.dtype.kind in "iub":
        np.testing.assert_array_equal(found_as, expected.astype(found_as.dtype), err_msg=what)
    else:
        tolerance = TOLERANCE[dtype_name(found)] * sample.tolerance
        np.testing.assert_allclose(
            found_as.astype("float64"),
            expected.astype("float64"),
            rtol=tolerance,
            atol=tolerance,
            err_msg=what,
        )


def assert_values_of_a_wider_type(sample, dtype, results):
    tensors = [wide_numbers(array, dtype) for array in sample.arrays()]
    wide = call_quietly(sample.call, tensorlab, *tensors)
    for number, (x, y) in enumerate(zip(results, wide, strict=True)):
        if isinstance(x, tensorlab.Tensor):
            assert x.shape == y.shape
            assert_close(x, y, sample, f"result {number}")
        else:
            assert x == y


@each_sample(dtype=lambda sample: sample.dtypes)
def test_a_result_has_the_recorded_type_and_the_value_of_a_wider_one(sample, dtype):
    answers = recorded_types(sample)
    tensors = tensors_of(sample.arrays(), dtype)
    if answers[dtype].endswith("Error"):
        with pytest.raises((RuntimeError, TypeError)):
            sample.call(tensorlab, *tensors)
        return
    results = call_quietly(sample.call, tensorlab, *tensors)
    assert type_names(results, dtype) == answers[dtype]
    if dtype not in BY_TYPE.get(sample.name, ("",))[0].split():
        assert_values_of_a_wider_type(sample, dtype, results)


@pytest.mark.parametrize("name", BY_TYPE)
def test_where_the_type_decides_the_values_do_differ(name):
    sample = next(sample for sample in SAMPLES if sample.name == name)
    for dtype in BY_TYPE[name][0].split():
        results = call_quietly(sample.call, tensorlab, *tensors_of(sample.arrays(), dtype))
        with pytest.raises(AssertionError):
            assert_values_of_a_wider_type(sample, dtype, results)
