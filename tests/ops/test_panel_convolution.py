"""Convolution in panels packed from the image, and straight from it, against the definition in float64.

Most tensors hold small whole numbers: all sums are exact then, and results must be equal.
"""

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
    "plain": ((3, 5, 9, 8), 8, (3, 3), 1, 1, 1, 1),
    "a row of a tile too many": ((2, 3, 7, 7), 9, (3, 3), 1, 0, 1, 1),
    "a row of a tile too few": ((2, 3, 7, 7), 7, (3, 3), 1, 0, 1, 1),
    "three rows": ((2, 3, 7, 7), 3, (3, 3), 1, 0, 1, 1),
    "several tiles": ((1, 4, 6, 5), 20, (2, 3), 1, 1, 1, 1),
    "filters longer than a step": ((2, 30, 5, 4), 6, (3, 3), 1, 1, 1, 1),
    "filters of many steps": ((1, 67, 3, 3), 4, (3, 3), 1, 1, 1, 1),
    "panels of several chunks": ((1, 29, 25, 23), 5, (3, 3), 1, 1, 1, 1),
    "as wide as a panel": ((2, 4, 3, 48), 8, (1, 1), 1, 0, 1, 1),
    "an element wider than a panel": ((1, 4, 1, 49), 8, (1, 3), 1, (0, 1), 1, 1),
    "a panel and a vector": ((1, 4, 8, 8), 4, (3, 3), 1, 1, 1, 1),
    "a panel and a vector and an element": ((1, 4, 5, 13), 4, (3, 3), 1, 1, 1, 1),
    "one channel": ((2, 1, 11, 10), 16, (5, 5), 1, 2, 1, 1),
    "groups": ((2, 8, 6, 7), 12, (3, 3), 1, 1, 1, 2),
    "groups of one channel": ((2, 3, 6, 7), 15, (3, 3), 1, 1, 1, 3),
    "stride": ((2, 4, 9, 10), 8, (3, 3), 2, 1, 1, 1),
    "stride larger than the kernel": ((2, 4, 13, 11), 8, (2, 1), (3, 4), 0, 1, 1),
    "strides and dilations": ((2, 4, 14, 15), 8, (3, 2), (2, 3), (3, 1), (2, 3), 1),
    "dilation": ((2, 4, 9, 10), 8, (3, 3), 1, 2, 2, 1),
    "padding larger than the kernel": ((2, 4, 5, 4), 8, (3, 2), 1, (5, 4), 1, 1),
    "one pixel": ((3, 4, 1, 1), 8, (3, 3), 1, 1, 1, 1),
    "kernel of one element": ((3, 9, 5, 6), 8, (1, 1), 1, 0, 1, 1),
    "kernel of one element with stride": ((3, 9, 5, 6), 8, (1, 1), 2, 1, 1, 1),
    "kernel of one element with padding": ((3, 9, 5, 6), 8, (1, 1), 1, (1, 2), 1, 1),
    "kernel as large as the image": ((3, 4, 4, 5), 8, (4, 5), 1, 0, 1, 1),
    "signal": ((2, 6, 50), 8, (5,), 2, 3, 2, 1),
    "volume": ((2, 4, 5, 4, 6), 8, (2, 3, 2), (1, 2, 1), (1, 0, 2), (2, 1, 1), 1),
    "gaps much larger than the image": ((1, 4, 3, 3), 4, (3, 3), 1, 1000, 1000, 1),
    # many filters, and many weights or many places: straight from the image
    "many places": ((2, 5, 13, 12), 20, (3, 3), 1, 1, 1, 1),
    "many places in steps": ((2, 3, 19, 17), 17, (3, 3), 1, 1, 1, 1),
    "many places in groups with a stride": ((2, 8, 26, 25), 36, (3, 3), 2, 1, 1, 2),
    "many places and weights": ((3, 16, 13, 12), 65, (3, 3), 1, 1, 1, 1),
    "many places of one element": ((2, 19, 12, 13), 17, (1, 1), 1, 0, 1, 1),
    "many places, strides and dilations": ((2, 4, 34, 55), 24, (3, 2), (2, 3), (3, 1), (2, 3), 1),
    "a vector of filters": ((2, 16, 5, 6), 16, (3, 3), 1, 1, 1, 1),
    "a vector of filters and one": ((2, 17, 9, 7), 17, (3, 3), 1, 1, 1, 1),
    "several panels of filters": ((1, 16, 6, 5), 115, (3, 3), 1, 1, 1, 1),
    "many filters of many steps": ((2, 67, 5, 4), 20, (3, 3), 1, 1, 1, 1),
    "many filters in groups": ((2, 32, 6, 7), 40, (3, 3), 1, 1, 1, 2),
    "many filters without padding": ((2, 20, 6, 7), 33, (3, 3), 1, 0, 1, 1),
    "many filters with a stride": ((2, 16, 9, 10), 20, (3, 3), 2, 1, 1, 1),
    "many filters, strides and dilations": ((2, 24, 14, 15), 24, (3, 2), (2, 3), (3, 1), (2, 3), 1),
    "many filters of one element": ((3, 130, 5, 6), 140, (1, 1), 1, 0, 1, 1),
    "many filters of one element with padding": ((3, 130, 5, 6), 24, (1, 1), 1, (1, 2), 1, 1),
    "many filters of one element with stride": ((3, 130, 5, 6), 24, (1, 1), 2, 0, 1, 1),
    "a stride larger than the kernel": ((3, 20, 13, 11), 70, (2, 1), (3, 4), 0, 1, 1),
    "a stride and one element": ((5, 20, 9, 8), 130, (1, 1), 2, 0, 1, 1),
    "a stride and much padding": ((2, 16, 7, 6), 20, (3, 3), 2, 3, 1, 1),
    "a stride and padding larger than the kernel": ((2, 16, 9, 8), 20, (3, 2), 3, (4, 5), 1, 1),
    "a stride in one dimension": ((3, 33, 9, 10), 20, (3, 3), (1, 2), 1, 1, 1),
    "a stride that leaves pixels": ((2, 16, 12, 13), 20, (3, 3), 4, 0, 1, 1),
    "a stride and a dilation with a common factor": ((2, 16, 13, 14), 20, (3, 3), 2, 2, 2, 1),
    "a stride, several images and groups": ((7, 36, 9, 8), 44, (3, 3), 2, 1, 1, 2),
    "many small images": ((41, 16, 3, 4), 20, (3, 3), 1, 1, 1, 1),
    "many images of one pixel": ((300, 20, 1, 1), 24, (1, 1), 1, 0, 1, 1),
    "one pixel and many filters": ((3, 20, 1, 1), 24, (3, 3), 1, 1, 1, 1),
    "signals and many filters": ((2, 30, 50), 20, (5,), 2, 3, 2, 1),
    "volumes and many filters": (
        (2, 16, 5, 4, 6),
        20,
        (2, 3, 2),
        (1, 2, 1),
        (1, 0, 2),
        (2, 1, 1),
        1,
    ),
}


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = tensorlab.get_num_threads()
    tensorlab.set_num_threads(request.param)
    yield request.param
    tensorlab.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_output_and_gradients_are_what_the_definition_says(name, dtype):
    case = CASES[name]
    numbers = numbers_for(case, whole_numbers())
    ours = results(*numbers, dtype, **settings_of(case))
    for mine, right in zip(ours, definition(*numbers, *case[3:]), strict=True):
        assert mine.dtype == dtype
        np.testing.assert_array_equal(mine, right)


@pytest.mark.parametrize("filters", [37, 110])
@pytest.mark.parametrize("shape", [(1, 4, 33, 31), (2, 8, 33, 31), (5, 8, 23, 21), (1, 25, 21, 9)])
def test_threads_share_images_and_filters(shape, filters, threads):
    case = (shape, filters, (3, 3), 1, 1, 1, 1)
    numbers = numbers_for(case, whole_numbers())
    ours = results(*numbers, "float32", **settings_of(case))
    for mine, right in zip(ours, definition(*numbers, *case[3:]), strict=True):
        np.testing.assert_array_equal(mine, right)


def test_groups_are_shared_by_threads(threads):
    case = ((3, 8, 33, 31), 18, (3, 3), 1, 1, 1, 2)
    numbers = numbers_for(case, whole_numbers())
    ours = results(*numbers, "float64", **settings_of(case))
    for mine, right in zip(ours, definition(*numbers, *case[3:]), strict=True):
        np.testing.assert_array_equal(mine, right)


@pytest.mark.parametrize(
    "shape, filters", [((3, 9, 23, 21), 6), ((3, 19, 23, 21), 21), ((1, 40, 9, 9), 120)]
)
def test_output_and_image_gradient_do_not_depend_on_the_number_of_threads(shape, filters):
    case = (shape, filters, (3, 3), 1, 1, 1, 1)
    numbers = numbers_for(case, normal_numbers())
    before = tensorlab.get_num_threads()
    found = []
    for number in (1, 2, 5):
        tensorlab.set_num_threads(number)
        found.append(results(*numbers, "float32", **settings_of(case))[:2])
    tensorlab.set_num_threads(before)
    for other in found[1:]:
        for mine, first in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(mine, first)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_an_image_has_the_same_bits_in_any_batch_and_any_number_of_threads(stride):
    case = ((11, 20, 6, 7), 24, (3, 3), stride, 1, 1, 1)
    x, weight, grad = numbers_for(case, normal_numbers())
    settings = settings_of(case)
    alone = results(x[4:5], weight, grad[4:5], "float32", **settings)[:2]
    before = tensorlab.get_num_threads()
    for threads in (1, 2, 5):
        tensorlab.set_num_threads(threads)
        together = results(x, weight, grad, "float32", **settings)[:2]
        for one, many in zip(alone, together, strict=True):
            np.testing.assert_array_equal(many[4], one[0])
    tensorlab.set_num_threads(before)


def test_a_transposed_convolution_with_a_stride_and_a_rest():
    """The rest belongs to pixels that no output of the convolution saw."""
    rng = np.random.default_rng(0)
    x, weight = (
        rng.integers(-4, 5, shape).astype("float64") for shape in ((3, 40, 4, 5), (40, 16, 3, 2))
    )
    out = F.conv_transpose2d(
        *map(tensorlab.from_numpy, (x, weight)), None, (3, 4), 1, (2, 3)
    ).numpy()
    expected = np.zeros((3, 16, 12 + 2, 19 + 2))
    for row, column in np.ndindex(4, 5):
        seen = np.einsum("nk,kcij->ncij", x[:, :, row, column], weight)
        expected[:, :, 3 * row : 3 * row + 3, 4 * column : 4 * column + 2] += seen
    np.testing.assert_array_equal(out, expected[:, :, 1:-1, 1:-1])


@pytest.mark.parametrize("dtype, error", [("float32", 3e-6), ("float64", 3e-15)])
def test_rounding_errors_are_those_of_a_sum(dtype, error):
    case = ((4, 64, 14, 13), 32, (3, 3), 1, 1, 1, 1)
    numbers = [each.astype("float32") for each in numbers_for(case, normal_numbers())]
    numbers = [each.astype("float64") for each in numbers]
    ours = results(*numbers, dtype, **settings_of(case))
    for mine, right in zip(ours, definition(*numbers, *case[3:]), strict=True):
        assert abs(mine - right).max() < error * abs(right).max()


@pytest.mark.parametrize("channels", [4, 18])
@pytest.mark.parametrize("stride", [1, 2])
def test_an_infinity_reaches_only_those_who_see_it(stride, channels):
    case = ((2, channels, 7, 9), channels + 2, (3, 3), stride, 1, 1, 1)
    x, weight, grad = numbers_for(case, whole_numbers())
    weight[weight == 0] = 1
    grad[grad == 0] = 1
    x[1, 2, 3, 8] = np.inf
    ours = results(x, weight, grad, "float32", **settings_of(case))
    for mine, right in zip(ours, definition(x, weight, grad, *case[3:]), strict=True):
        np.testing.assert_array_equal(mine, right)
    assert 0 < np.isinf(ours[0]).sum() < ours[0].size // 4
    assert np.isfinite(ours[0][0]).all()
    grad[0, 5, 0, 0] = np.nan
    _, by_x, by_weight = results(x, weight, grad, "float32", **settings_of(case))
    assert np.isnan(by_weight[5]).any()
    assert not np.isnan(by_weight[4]).any()
    assert np.isnan(by_x[0, :, :2, :2]).all()
    assert np.isfinite(by_x[0, :, 3:]).all()


def test_a_batch_without_images_has_an_empty_output_and_a_zero_gradient():
    x = tensorlab.zeros(0, 4, 5, 5, requires_grad=True)
    weight = tensorlab.ones(8, 4, 3, 3, requires_grad=True)
    out = F.conv2d(x, weight)
    out.sum().backward()
    assert out.shape == (0, 8, 3, 3)
    assert x.grad.shape == (0, 4, 5, 5)
    assert (weight.grad == 0).all()


def test_strides_of_the_tensors_do_not_matter():
    case = ((2, 4, 6, 9), 8, (3, 2), 1, 1, 1, 1)
    x, weight, grad = numbers_for(case, whole_numbers())
    right = definition(x, weight, grad, *case[3:])
    tensors = [
        tensorlab.from_numpy(np.ascontiguousarray(each.swapaxes(0, 3))).transpose(0, 3)
        for each in (x, weight, grad)
    ]
    assert not any(each.is_contiguous() for each in tensors)
    x, weight = (each.detach().requires_grad_() for each in tensors[:2])
    out = F.conv2d(x, weight, padding=1)
    out.backward(tensors[2])
    for mine, expected in zip((out, x.grad, weight.grad), right, strict=True):
        np.testing.assert_array_equal(mine.detach().numpy(), expected)


def test_a_bias_is_added_once():
    case = ((2, 30, 6, 9), 8, (3, 3), 1, 1, 1, 1)
    x, weight, grad = numbers_for(case, whole_numbers())
    bias = np.arange(8.0)
    out = F.conv2d(*map(tensorlab.from_numpy, (x, weight, bias)), padding=1).numpy()
    right = definition(x, weight, grad, *case[3:])[0] + bias[:, None, None]
    np.testing.assert_array_equal(out, right)


def test_a_transposed_convolution_is_the_gradient_by_the_input():
    case = ((2, 6, 7, 8), 10, (3, 3), 1, 1, 1, 1)
    x, weight, grad = numbers_for(case, whole_numbers())
    out = F.conv_transpose2d(*map(tensorlab.from_numpy, (grad, weight)), padding=1).numpy()
    np.testing.assert_array_equal(out, definition(x, weight, grad, *case[3:])[1])


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
def test_integers_go_another_way_to_the_same_sums(dtype):
    case = ((2, 5, 7, 6), 8, (3, 3), 1, 1, 1, 1)
    x, weight, grad = (abs(each) for each in numbers_for(case, whole_numbers()))
    out = F.conv2d(*(tensorlab.from_numpy(each.astype(dtype)) for each in (x, weight)), padding=1)
    right = definition(x, weight, grad, *case[3:])[0].astype("int64").astype(dtype)
    np.testing.assert_array_equal(out.numpy(), right)


@pytest.mark.parametrize("channels", [1, 4])
def test_padding_of_two_billion_is_not_copied(channels):
    far = 2**31 - 1
    x = tensorlab.arange(4.0 * channels).reshape(1, channels, 2, 2)
    weight = tensorlab.ones(4, channels, 3, 3)
    out = F.conv2d(x, weight, padding=far, dilation=far)
    assert (out == x.sum(1, keepdim=True)).all()
    assert out.shape == (1, 4, 2, 2)
