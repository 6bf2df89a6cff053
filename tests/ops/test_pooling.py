"""Pooling over every small geometry: where windows begin and end, what they count, and what errors say."""

import itertools
import math

import numpy as np
import pytest

import tensorlab
from tests.ops.agreement import agree

F = tensorlab.nn.functional
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


@pytest.mark.parametrize(
    ("kernel", "error"),
    [((1, 2, 3), RuntimeError), ("2", TypeError), (1.5, TypeError), ((2, 1.5), TypeError)],
)
def test_a_kernel_size_that_is_no_int_or_pair_is_refused(kernel, error):
    with pytest.raises(error, match="^max_pool2d: kernel_size must be an int or 2 of them"):
        tensorlab.nn.functional.max_pool2d(tensorlab.ones(1, 4, 4), kernel)


# ------------------------------------------------------------------------------ drawn windows, and the way back
PLANES = {1: (2, 3, 11), 2: (2, 3, 7, 6), 3: (2, 3, 5, 6, 7)}


def planes(T, axes):
    """Distinct numbers of both signs."""
    shape = PLANES[axes]
    return (T.arange(float(math.prod(shape))) * 7.3).cos().view(shape).requires_grad_()


def with_gradient(T, x, out):
    """The result, and its gradient by x."""
    weights = T.arange(1.0, out.numel() + 1).view(out.shape)
    return out.tolist(), T.autograd.grad((out * weights).sum(), x)[0].tolist()


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("batched", [True, False])
def test_fractional_pooling_draws_the_windows_that_pytorch_draws(axes, batched):
    def program(T):
        x = planes(T, axes)
        images = x if batched else x[1]
        layer = getattr(T.nn, f"FractionalMaxPool{axes}d")
        results = []
        for options in [
            {"output_size": 3},
            {"output_ratio": (0.5,) * axes},
            {"output_size": 1},
            {"output_size": (2, 4, 3)[:axes]},
        ]:
            T.manual_seed(5)
            out, indices = layer(2, return_indices=True, **options)(images)
            results.append((with_gradient(T, x, out), indices.tolist()))
            T.manual_seed(5)
            results.append(layer((1, 3, 2)[:axes], **options)(images).tolist())
        return results

    agree(program, tolerance=1e-5)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unpooling_puts_numbers_back(axes):
    def program(T):
        x = planes(T, axes)
        function = getattr(T.nn.functional, f"max_unpool{axes}d")
        layer = getattr(T.nn, f"MaxUnpool{axes}d")
        found, at = getattr(T.nn.functional, f"max_pool{axes}d")(x, 3, 2, 1, return_indices=True)
        whole = layer(3, 2, 1)(found, at, x.shape)
        pairs = getattr(T.nn.functional, f"max_pool{axes}d")(x, 2, return_indices=True)
        return [
            with_gradient(T, x, whole),
            layer(2)(*pairs, output_size=x.shape[2:]).tolist(),
            function(*pairs, 2, output_size=[size // 2 * 2 for size in x.shape[2:]]).tolist(),
            function(pairs[0][0], pairs[1][0], (2,) * axes, 2).tolist(),
            repr(layer(2)),
        ]

    agree(program, tolerance=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda F, x, at: F.max_unpool2d(x, at + 99, 2),
            RuntimeError,
            "found an invalid max index",
        ),
        (
            lambda F, x, at: F.max_unpool2d(x, at - 99, 2),
            RuntimeError,
            "found an invalid max index",
        ),
        (lambda F, x, at: F.max_unpool2d(x, at[:1], 2), RuntimeError, "the indices have shape"),
        (lambda F, x, at: F.max_unpool2d(x, at.int(), 2), RuntimeError, "the indices are"),
        (lambda F, x, at: F.max_unpool2d(x, at, 2, output_size=(4, 6)), ValueError, "out of reach"),
        (lambda F, x, at: F.max_unpool2d(x, at, 2, output_size=(8, 6)), ValueError, "out of reach"),
        (lambda F, x, at: F.max_unpool2d(x, at, 2, output_size=(6,)), ValueError, "has 1 numbers"),
        (lambda F, x, at: F.max_unpool2d(x.long(), at, 2), NotImplementedError, "not implemented"),
        (
            lambda F, x, at: F.max_unpool2d(x[0, 0], at[0, 0], 2),
            RuntimeError,
            "the input has shape",
        ),
    ],
)
def test_what_unpooling_refuses(call, error, message):
    def refused(T):
        F = T.nn.functional
        found, at = F.max_pool2d(planes(T, 2), 2, return_indices=True)
        with pytest.raises(error) as caught:
            call(F, found, at)
        return str(caught.value)

    assert refused(tensorlab).startswith("max_unpool2d: ")
    assert message in refused(tensorlab)
    agree(lambda T: bool(refused(T)))


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, ValueError),
        ({"output_size": 99}, RuntimeError),
        ({"output_size": 3, "output_ratio": 0.5}, ValueError),
        ({"output_ratio": 1.5}, ValueError),
        ({"output_ratio": 1}, ValueError),
        ({"output_ratio": 0}, ValueError),
    ],
)
def test_fractional_layers_refuse_what_makes_no_windows(axes, options, error):
    def refused(T):
        with pytest.raises(error):
            getattr(T.nn, f"FractionalMaxPool{axes}d")(2, **options)(planes(T, axes))
        return True

    agree(refused)


def test_fractional_functions_want_a_ratio_for_each_axis_or_one():
    for ratios in ((0.5,), (0.5, 0.5, 0.5)):
        with pytest.raises(ValueError, match="output_ratio must be a number or 2 of them, not"):
            tensorlab.nn.functional.fractional_max_pool2d(
                tensorlab.ones(1, 8, 8), 2, output_ratio=ratios
            )


def test_a_fractional_layer_of_three_axes_refuses_a_window_of_nothing():
    def refused(T):
        with pytest.raises(ValueError, match="kernel_size"):
            T.nn.FractionalMaxPool3d((2, 0, 2), output_size=1)
        return True

    agree(refused)


def test_random_samples_are_of_the_inputs_type_and_shape():
    x = tensorlab.ones(2, 3, 5, 5)
    pooled = tensorlab.nn.functional.fractional_max_pool2d
    for samples, message in [
        (tensorlab.zeros(2, 3, 2).double(), "must be of one type"),
        (tensorlab.zeros(1, 3, 2), "the random samples have shape"),
        (tensorlab.zeros(2, 2, 2), "the random samples have shape"),
        (tensorlab.zeros(2, 3, 3), "the random samples have shape"),
    ]:
        with pytest.raises(RuntimeError, match=f"^fractional_max_pool2d: .*{message}"):
            pooled(x, 2, 3, _random_samples=samples)
    assert pooled(x, 2, 3, _random_samples=tensorlab.zeros(4, 3, 2)).shape == (2, 3, 3, 3)


def test_one_ratio_is_that_of_every_axis():
    x = tensorlab.rand(2, 6, 8)
    pooled = tensorlab.nn.functional.fractional_max_pool2d
    samples = tensorlab.rand(1, 2, 2)
    one = pooled(x, 2, output_ratio=0.5, _random_samples=samples)
    assert one.shape == (2, 3, 4)
    assert one.equal(pooled(x, 2, output_ratio=(0.5, 0.5), _random_samples=samples))


def test_no_random_sample_is_read_that_is_not_given():
    memory = tensorlab.full((64,), 5.0)  # no sample: they are below 1
    memory[:12] = 0.5
    x = tensorlab.ones(2, 3, 5, 5)
    out = tensorlab.nn.functional.fractional_max_pool2d(
        x, 2, 3, _random_samples=memory[:12].view(2, 3, 2)
    )
    assert out.shape == (2, 3, 3, 3)


# ------------------------------------------------------------------------------ corners
def test_a_window_of_padding_alone_holds_the_lowest_number():
    """With a dilation, the elements of a window can lie on both sides of a small signal."""
    agree(lambda T: T.nn.functional.max_pool1d(T.ones(1, 1, 3), 2, 1, 1, 4).tolist())
    for name in ("uint8", "int8", "int16", "int32", "int64"):
        agree(
            lambda T, name=name: T.nn.functional.max_pool2d(
                T.ones(1, 3, 3, dtype=getattr(T, name)), 2, 1, 1, 4
            ).tolist()
        )
    x = tensorlab.ones(1, 3, 3, requires_grad=True)
    out, at = tensorlab.nn.functional.max_pool2d(x, 2, 1, 1, (2, 4), return_indices=True)
    assert at.tolist() == [[[9], [9], [9]]]
    out.sum().backward()
    assert x.grad.tolist() == [[[0.0] * 3] * 3]


def test_integers_are_pooled_and_their_means_rounded_towards_0():
    def program(T):
        x = (T.arange(2.0 * 60).cos() * 100).long().view(2, 3, 4, 5)
        found = T.nn.functional.max_pool2d(x, 2, return_indices=True)
        return [one.tolist() for one in (*found, T.nn.functional.avg_pool2d(x, (2, 3), 1))]

    agree(program)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("name", ["max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool"])
def test_only_a_batch_may_be_empty_and_the_function_is_named(name, axes):
    F, sizes = tensorlab.nn.functional, (4,) * axes
    call = getattr(F, f"{name}{axes}d")
    assert call(tensorlab.ones(0, 2, *sizes), 2).shape == (0, 2, *(2,) * axes)
    assert call(tensorlab.ones(2, 2, *sizes, device="meta"), 2).shape == (2, 2, *(2,) * axes)
    for wrong in [(2, 2, 0, *sizes[1:]), sizes, (1, 1, 1, *sizes)]:
        with pytest.raises(RuntimeError, match=f"^{name}{axes}d: "):
            call(tensorlab.ones(*wrong), 2)


def largest_of_windows(x, kernel, stride, padding, dilation):
    """Max pooling by its definition: for each window a search, element after element."""
    planes, height, width = x.shape
    sizes = [
        (size + 2 * pad - far * (k - 1) - 1) // step + 1
        for size, k, step, pad, far in zip(
            (height, width), kernel, stride, padding, dilation, strict=True
        )
    ]
    values, places = np.zeros((planes, *sizes), x.dtype), np.zeros((planes, *sizes), "int64")
    for plane, i, j in np.ndindex(planes, *sizes):
        best = None
        for a, b in np.ndindex(*kernel):
            row = i * stride[0] - padding[0] + a * dilation[0]
            column = j * stride[1] - padding[1] + b * dilation[1]
            if 0 <= row < height and 0 <= column < width:
                value = x[plane, row, column]
                if best is None or value > best or value != value:
                    best, place = value, row * width + column
        values[plane, i, j], places[plane, i, j] = best, place
    return values, places


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "uint8", "int8", "int16", "int32", "int64"]
)
@pytest.mark.parametrize(
    "width, kernel, stride, padding, dilation",
    [
        (32, (2, 2), (2, 2), (0, 0), (1, 1)),
        (33, (3, 3), (2, 2), (1, 1), (1, 1)),
        (70, (2, 3), (1, 1), (1, 1), (1, 1)),
        (130, (3, 2), (1, 1), (0, 1), (2, 1)),
        (65, (1, 7), (1, 1), (0, 3), (1, 1)),
        (66, (2, 3), (3, 5), (1, 1), (1, 3)),
        (5, (3, 3), (1, 1), (1, 1), (1, 1)),
    ],
)
def test_long_rows_of_windows_are_searched_as_single_ones(
    dtype, width, kernel, stride, padding, dilation
):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (2, 7, width)).astype(dtype)  # many ties
    if dtype.startswith("float"):
        x[rng.random(x.shape) < 0.1] = -np.inf
        x[1][rng.random(x.shape[1:]) < 0.1] = np.nan
    elif dtype != "uint8":
        x -= 3
        x[rng.random(x.shape) < 0.3] = np.iinfo(dtype).min
    values, places = F.max_pool2d(
        tensorlab.from_numpy(x), kernel, stride, padding, dilation, return_indices=True
    )
    right_values, right_places = largest_of_windows(x, kernel, stride, padding, dilation)
    np.testing.assert_array_equal(values.numpy(), right_values)
    np.testing.assert_array_equal(places.numpy(), right_places)


def test_a_window_cut_off_by_the_border_stands_beside_a_long_row():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 9, (2, 5, 21)).astype("float32")
    found = F.max_pool2d(tensorlab.from_numpy(x), (2, 4), 4, ceil_mode=True, return_indices=True)
    wide = np.pad(x, ((0, 0), (0, 1), (0, 3)), constant_values=-1)
    values, places = largest_of_windows(wide, (2, 4), (4, 4), (0, 0), (1, 1))
    np.testing.assert_array_equal(found[0].numpy(), values)
    np.testing.assert_array_equal(found[1].numpy(), places // 24 * 21 + places % 24)


@pytest.mark.parametrize("dtype, lowest", [("float32", -np.inf), ("int16", -(2**15)), ("uint8", 0)])
def test_a_long_row_of_windows_may_hold_nothing_but_padding(dtype, lowest):
    x = np.arange(1, 2 * 70 + 1).reshape(1, 2, 70).astype(dtype)
    values, places = F.max_pool2d(
        tensorlab.from_numpy(x), (2, 1), 1, (1, 0), (3, 1), return_indices=True
    )
    assert values.shape == (1, 1, 70)
    assert (values.numpy() == np.array(lowest, dtype)).all()
    assert (places.numpy() == 140).all()


@pytest.mark.parametrize("dilation", [1, 2])
def test_long_rows_of_windows_over_several_slices(dilation):
    x = np.random.default_rng(0).integers(0, 50, (2, 6, 7, 40)).astype("float32")
    values, places = F.max_pool3d(
        tensorlab.from_numpy(x), (2, 3, 2), (2, 2, 1), 1, dilation, return_indices=True
    )
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (1, 1)), constant_values=-1)
    _, depth, height, width = values.shape
    right = np.max(
        [
            padded[:, a : a + 2 * depth - 1 : 2, b : b + 2 * height - 1 : 2, c : c + width]
            for a in (0, dilation)
            for b in (0, dilation, 2 * dilation)
            for c in (0, dilation)
        ],
        axis=0,
    )
    np.testing.assert_array_equal(values.numpy(), right)
    found = np.take_along_axis(x.reshape(2, -1), places.numpy().reshape(2, -1), 1)
    np.testing.assert_array_equal(found, right.reshape(2, -1))


@pytest.mark.parametrize("shape", [(13, 9), (20, 40), (9, 300), (40, 5), (7, 7)])
@pytest.mark.parametrize("kernel, stride", [(2, 2), (3, 1), (3, 2), (2, 3), ((1, 4), (2, 1))])
def test_rows_of_windows_that_are_taken_together_are_those_taken_singly(shape, kernel, stride):
    """Blocks that a plane does not fill, borders on all sides, ties and nan."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (2, 3, *shape)).astype(np.float32)
    x[1][rng.random(x.shape[1:]) < 0.1] = np.nan

    def program(T):
        image, results = T.from_numpy(x), []
        for padding, ceil_mode in itertools.product((0, (0, 1)), (False, True)):
            places = (kernel, stride, padding)
            results += T.nn.functional.max_pool2d(
                image, *places, ceil_mode=ceil_mode, return_indices=True
            )
            for counts in (False, True):
                results.append(T.nn.functional.avg_pool2d(image, *places, ceil_mode, counts))
        return results

    agree(program)


def test_means_of_whole_planes_are_exact_where_their_sums_are():
    for height, width in ((7, 7), (16, 16), (1, 1), (3, 50)):
        x = tensorlab.arange(2.0 * height * width).view(2, 1, height, width)
        means = F.adaptive_avg_pool2d(x, 1).flatten()
        assert means.tolist() == [(height * width - 1) / 2, (3 * height * width - 1) / 2]
