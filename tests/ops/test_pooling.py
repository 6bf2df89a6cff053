"""Pooling over every small geometry: where windows begin and end, what they count, and what errors say."""

import itertools
import math

import pytest

import tensorlab
from tests.ops.agreement import agree

SIZES = range(1, 9)
KERNELS = (1, 2, 3, 4)
STRIDES = (1, 2, 3, 5)


def pooled(T, name, size, *arguments, **options):
    """The result for a signal, its gradient, and what is raised in their place."""
    x = T.arange(float(size)).cos().view(1, size).requires_grad_()
    try:
        out = getattr(T.nn.functional, name)(x, *arguments, **options)
    except (RuntimeError, ValueError):
        return "refused"
    if not out.isfinite().all():  # a window of padding alone, which we refuse
        return "refused"
    (out * T.arange(1.0, out.numel() + 1).view(out.shape)).sum().backward()
    return out.tolist(), x.grad.tolist()


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_max_pooling_of_every_small_geometry(kernel, ceil_mode):
    def program(T):
        return [
            pooled(T, "max_pool1d", size, kernel, stride, padding, dilation, ceil_mode)
            for size, stride, padding, dilation in itertools.product(
                SIZES, STRIDES, range(kernel // 2 + 2), (1, 2)
            )
        ]

    agree(program, tolerance=1e-6)


@pytest.mark.parametrize("counts_padding", [False, True])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_average_pooling_of_every_small_geometry(kernel, ceil_mode, counts_padding):
    def program(T):
        return [
            pooled(T, "avg_pool1d", size, kernel, stride, padding, ceil_mode, counts_padding)
            for size, stride, padding in itertools.product(SIZES, STRIDES, range(kernel // 2 + 2))
        ]

    agree(program, tolerance=1e-5)


def test_adaptive_pooling_of_every_small_geometry():
    agree(
        lambda T: [
            pooled(T, "adaptive_avg_pool1d", size, windows)
            for size in SIZES
            for windows in range(1, 10)
        ],
        tolerance=1e-5,
    )


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_rows_and_columns_have_windows_of_their_own(name):
    """Nothing is the same for both axes, in several planes of a batch."""

    def program(T):
        x = T.arange(2.0 * 3 * 7 * 5).cos().view(2, 3, 7, 5)
        call = getattr(T.nn.functional, name)
        return [
            call(x, (3, 2), (2, 1), (1, 0), ceil_mode=True),
            call(x, (2, 4), (1, 3), (0, 2)),
            call(x[0], (1, 3)),
            call(x, (2,), [3], (1,)),
            call(x.transpose(2, 3), [2, 3], [3, 2], [1, 1]),
        ]

    agree(lambda T: [out.tolist() for out in program(T)], tolerance=1e-6)


@pytest.mark.parametrize("worst", [math.nan, -math.inf, math.inf])
def test_a_window_of_special_numbers(worst):
    def program(T):
        x = T.tensor([[1.0, worst, 2.0, -math.inf, -math.inf, worst, worst, 0.0]])
        found = T.nn.functional.max_pool1d(x, 2, 1, return_indices=True)
        return [one.tolist() for one in found], T.nn.functional.avg_pool1d(x, 2, 1).tolist()

    agree(program)


def test_indices_point_into_their_own_plane():
    def program(T):
        x = T.arange(2.0 * 2 * 4 * 6).sin().view(2, 2, 4, 6)
        found = T.nn.functional.max_pool2d(x, (2, 3), 2, (1, 0), (1, 2), True, return_indices=True)
        return [one.tolist() for one in found]

    agree(program, tolerance=1e-6)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("max_pool2d", (0,), "kernel_size 0, stride 0 and dilation 1 must be at least 1"),
        ("max_pool2d", (2, 0), "kernel_size 2, stride 0 and dilation 1 must be at least 1"),
        ("max_pool2d", (2, 1, 0, 0), "kernel_size 2, stride 1 and dilation 0 must be at least 1"),
        ("max_pool2d", (2, 1, -1), "padding -1 must be from 0 to half of kernel_size 2"),
        ("avg_pool2d", (3, 1, 2), "padding 2 must be from 0 to half of kernel_size 3"),
        ("avg_pool2d", (2, 1, 0, False, True, 0), "divisor_override is 0"),
        ("adaptive_avg_pool2d", ((2, -1),), r"output_size \(2, -1\)"),
        ("adaptive_avg_pool2d", ((2, 2, 2),), r"output_size \(2, 2, 2\)"),
    ],
)
def test_arguments_out_of_range_are_named(name, arguments, message):
    with pytest.raises(RuntimeError, match=f"^{name}: {message}"):
        getattr(tensorlab.nn.functional, name)(tensorlab.ones(1, 4, 4), *arguments)


@pytest.mark.parametrize("kernel", [(1, 2, 3), "2", 1.5, (2, 1.5)])
def test_a_kernel_size_that_is_no_int_or_pair_is_refused(kernel):
    with pytest.raises(TypeError):
        tensorlab.nn.functional.max_pool2d(tensorlab.ones(1, 4, 4), kernel)
