"""Convolution by Winograd's transforms: exact where sums are, and nowhere further off than it says."""

import numpy as np
import pytest

import tensorlab
from tests.ops.convolution_oracle import (
    definition,
    normal_numbers,
    numbers_for,
    results,
    settings_of,
    whole_numbers,
)

F = tensorlab.nn.functional

CASES = {  # input, out_channels, kernel, stride, padding, dilation, groups
    "even": ((2, 32, 8, 8), 32, (3, 3), 1, 1, 1, 1),
    "odd": ((2, 32, 7, 9), 33, (3, 3), 1, 1, 1, 1),
    "no padding": ((3, 33, 10, 9), 40, (3, 3), 1, 0, 1, 1),
    "much padding": ((2, 35, 7, 8), 32, (3, 3), 1, 2, 1, 1),
    "two paddings": ((2, 40, 9, 8), 32, (3, 3), 1, (0, 2), 1, 1),
    "groups": ((2, 64, 8, 9), 70, (3, 3), 1, 1, 1, 2),
    "more channels than a step": ((1, 260, 7, 7), 24, (3, 3), 1, 1, 1, 1),
    "several strips": ((1, 32, 35, 33), 32, (3, 3), 1, 1, 1, 1),
    "several batches": ((11, 32, 9, 9), 32, (3, 3), 1, 1, 1, 1),
    "several blocks of filters": ((1, 32, 8, 8), 139, (3, 3), 1, 1, 1, 1),
    "many small images": ((20, 33, 7, 8), 35, (3, 3), 1, 1, 1, 1),
    "many images in groups": ((9, 66, 9, 8), 64, (3, 3), 1, (2, 1), 1, 2),
    "a narrow image": ((2, 32, 60, 1), 32, (3, 3), 1, 1, 1, 1),
    "a flat image": ((2, 32, 1, 60), 32, (3, 3), 1, 1, 1, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_whole_numbers_give_exact_sums(name):
    case = CASES[name]
    numbers = numbers_for(case, whole_numbers())
    ours = results(*numbers, "float32", **settings_of(case))
    for mine, right in zip(ours, definition(*numbers, *case[3:]), strict=True):
        np.testing.assert_array_equal(mine, right)


@pytest.mark.parametrize("channels", [32, 64, 256])
def test_errors_are_those_of_sums(channels):
    """Relative to results of size 1: direct sums are off by 2.5e-7, these by up to twice as much."""
    case = ((3, channels, 14, 13), 32, (3, 3), 1, 1, 1, 1)
    numbers = [
        each.astype("float32").astype("float64") for each in numbers_for(case, normal_numbers())
    ]
    ours = results(*numbers, "float32", **settings_of(case))
    for mine, right in zip(ours, definition(*numbers, *case[3:]), strict=True):
        error = np.sqrt(((mine - right) ** 2).mean() / (right**2).mean())
        assert error < 6e-7


def test_an_image_has_the_same_bits_in_any_batch_and_any_number_of_threads():
    case = ((7, 32, 13, 14), 48, (3, 3), 1, 1, 1, 1)
    x, weight, grad = numbers_for(case, normal_numbers())
    alone = results(x[4:5], weight, grad[4:5], "float32", padding=1)[:2]
    before = tensorlab.get_num_threads()
    for threads in (1, 2, 5):
        tensorlab.set_num_threads(threads)
        together = results(x, weight, grad, "float32", padding=1)[:2]
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_array_equal(many[4], one[0])
    tensorlab.set_num_threads(before)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_what_is_not_finite_reaches_only_those_who_see_it(value):
    case = ((2, 32, 9, 10), 32, (3, 3), 1, 1, 1, 1)
    x, weight, grad = numbers_for(case, whole_numbers())
    weight[weight == 0] = 1
    x[1, 5, 4, 4] = value
    out = results(x, weight, grad, "float32", padding=1)[0]
    with np.errstate(over="ignore"):
        right = definition(x, weight, grad, *case[3:])[0].astype("float32")
    np.testing.assert_allclose(out, right, rtol=1e-6)
    seen = np.zeros_like(out, dtype=bool)
    seen[1, :, 3:6, 3:6] = True
    np.testing.assert_array_equal(out[~seen], right[~seen])


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e37])
def test_the_weight_of_a_filter_whose_gradient_is_not_finite(value):
    case = ((3, 32, 14, 16), 32, (3, 3), 1, 1, 1, 1)
    x, weight, grad = numbers_for(case, whole_numbers())
    x[x == 0] = 1
    grad[1, 4, 0, 5] = value
    by_weight = results(x, weight, grad, "float32", padding=1)[2]
    right = definition(x, weight, grad, *case[3:])[2].astype("float32")
    np.testing.assert_allclose(by_weight, right, rtol=1e-6)
    assert np.isfinite(by_weight[[0, 1, 2, 3, 5]]).all()


def test_an_output_depends_on_the_pixels_that_it_sees_and_no_others():
    case = ((1, 32, 8, 8), 32, (3, 3), 1, 1, 1, 1)
    x, weight, grad = numbers_for(case, normal_numbers())
    for row, column in np.ndindex(4, 4):  # all places within patches
        bright, seen = x.copy(), np.zeros((8, 8), dtype=bool)
        bright[0, 7, row + 2, column + 2] = 1e6
        seen[row + 1 : row + 4, column + 1 : column + 4] = True
        one, other = (results(each, weight, grad, "float32", padding=1)[0] for each in (x, bright))
        np.testing.assert_array_equal(one[..., ~seen], other[..., ~seen])
        assert (one[..., seen] != other[..., seen]).all()


def test_results_of_any_layout():
    case = ((2, 32, 8, 9), 40, (3, 3), 1, 1, 1, 1)
    x, weight, grad = numbers_for(case, whole_numbers())
    image = tensorlab.from_numpy(x.astype("float32")).to(memory_format=tensorlab.channels_last)
    out = F.conv2d(image, tensorlab.from_numpy(weight.astype("float32")), padding=1)
    assert out.is_contiguous(memory_format=tensorlab.channels_last)
    np.testing.assert_array_equal(out.numpy(), definition(x, weight, grad, *case[3:])[0])


def test_a_transposed_convolution_goes_the_same_way():
    case = ((2, 32, 9, 8), 40, (3, 3), 1, 1, 1, 1)
    x, weight, grad = (each.astype("float32") for each in numbers_for(case, whole_numbers()))
    out = F.conv_transpose2d(*map(tensorlab.from_numpy, (grad, weight)), padding=1).numpy()
    np.testing.assert_array_equal(out, definition(x, weight, grad, *case[3:])[1])
