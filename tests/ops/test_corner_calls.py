"""Calls of networks and of indexing at their corners, next to PyTorch: rare dtypes, 0-d tensors, options together."""

import itertools
import warnings

import numpy as np
import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab.errors import DimensionError, DTypeError, UnsupportedDType
from tests.ops.agreement import agree
from tests.oracle import require_torch


# ---------------------------------------------------------------- convolution of integers
@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
def test_integers_are_convolved(dtype):
    def numbers(T, *shape):
        count = T.empty(shape).numel()
        return (T.arange(count) % 11).reshape(shape).to(getattr(T, dtype))

    agree(lambda T: T.conv2d(numbers(T, 2, 3, 5, 6), numbers(T, 4, 3, 2, 2), numbers(T, 4)))
    agree(lambda T: T.conv2d(numbers(T, 2, 1, 5, 6), numbers(T, 1, 1, 1, 1)))
    agree(
        lambda T: T.conv1d(numbers(T, 2, 4, 9), numbers(T, 6, 2, 3), padding=1, stride=2, groups=2)
    )
    if dtype == "int64":
        agree(lambda T: T.conv_transpose2d(numbers(T, 2, 3, 5, 6), numbers(T, 3, 4, 2, 2)))


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_a_convolution_of_a_single_product(ndim):
    for name, channels in itertools.product(("conv", "conv_transpose"), (1, 2)):

        def call(T, name=name, channels=channels):
            x = T.full((1, channels, *(1,) * ndim), 3.0, requires_grad=True)
            weight = T.full((1, channels, *(1,) * ndim), 5.0, requires_grad=True)
            if name == "conv_transpose":
                weight = T.full((channels, 1, *(1,) * ndim), 5.0, requires_grad=True)
            y = getattr(T, f"{name}{ndim}d")(x, weight)
            y.sum().backward()
            return [one.tolist() for one in (y, x.grad, weight.grad)]

        agree(call)


# ---------------------------------------------------------------- cross entropy with everything
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_without_gradient_cross_entropy_keeps_no_probabilities(device):
    x = tensorlab.ones(2, 3, device=device)
    target = tensorlab.zeros(2, dtype=tensorlab.int64, device=device)
    for keeps, shape in ((True, (2, 3)), (False, (0,))):
        loss, probabilities = REGISTRY["cross_entropy"](x, target, keeps_softmax=keeps)
        assert loss.shape == ()
        assert probabilities.shape == shape


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy_with_ignored_targets_weights_and_smoothing(smoothing, reduction):
    for shape, weighted, ignored in itertools.product(
        [(4, 3), (2, 3, 4), (3,)], (False, True), (1, -100)
    ):

        def call(T, shape=shape, weighted=weighted, ignored=ignored):
            scores = (T.arange(float(T.empty(shape).numel())).reshape(shape) % 5).requires_grad_()
            target = T.tensor([0, 1, 2, 1, 1, 1, 2, 0])
            target = target[0] if len(shape) == 1 else target[: 4 if len(shape) == 2 else 8]
            loss = T.nn.functional.cross_entropy(
                scores,
                target.reshape(shape[:1] + shape[2:]) if len(shape) > 1 else target,
                T.tensor([0.5, 1.0, 2.0]) if weighted else None,
                ignore_index=ignored,
                reduction=reduction,
                label_smoothing=smoothing,
            )
            loss.sum().backward()
            return loss.detach(), scores.grad

        agree(call, 1e-6)


@pytest.mark.parametrize("weight", [(), (3, 1), (1,), (2,), (3,)])
def test_weights_of_cross_entropy_are_one_for_each_class(weight):
    for target in ((2, 3), (2,)):
        agree(
            lambda T, target=target: T.nn.functional.cross_entropy(
                T.ones(2, 3),
                T.ones(target) if len(target) == 2 else T.ones(target).long(),
                T.ones(weight),
            ),
            1e-6,
        )


# ---------------------------------------------------------------- normalization
@pytest.mark.parametrize("mean", [None, tensorlab.zeros(3)])
def test_a_batch_without_channels_is_refused(mean):
    with pytest.raises(DimensionError, match=r"^batch_norm: the input has shape \(3,\); expected"):
        tensorlab.nn.functional.batch_norm(tensorlab.ones(3), mean, mean, training=True)


def test_running_statistics_are_given_together():
    for mean, variance, training in itertools.product((False, True), repeat=3):
        agree(
            lambda T, mean=mean, variance=variance, training=training: T.nn.functional.batch_norm(
                T.arange(6.0).reshape(2, 3),
                T.ones(3) if mean else None,
                T.ones(3) if variance else None,
                training=training,
            ),
            1e-5,
        )


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize(
    "given, asked", list(itertools.product(("float16", "float32", "int64"), repeat=2))
)
def test_the_softmax_family_computes_in_the_dtype_that_is_asked_for(name, given, asked):
    agree(
        lambda T: getattr(T.nn.functional, name)(
            T.tensor([1, 2, 4], dtype=getattr(T, given)), 0, dtype=getattr(T, asked)
        ),
        1e-3,
    )


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("weighted, biased", list(itertools.product((False, True), repeat=2)))
def test_second_derivatives_of_batch_norm_with_and_without_weights(weighted, biased, training):
    def call(T):
        x = (T.arange(24.0, dtype=T.float64).reshape(4, 3, 2) % 5).requires_grad_()
        mean, variance = T.tensor([0.1, 0.2, 0.3]).double(), T.tensor([1.0, 2.0, 3.0]).double()
        weight = T.tensor([1.0, 2.0, 0.5]).double().requires_grad_() if weighted else None
        bias = T.tensor([1.0, 2.0, 0.5]).double().requires_grad_() if biased else None
        y = T.nn.functional.batch_norm(x, mean, variance, weight, bias, training)
        leaves = [one for one in (x, weight, bias) if one is not None]
        grads = T.autograd.grad((y * y * y).sum(), leaves, create_graph=True)
        sum((g * g).sum() for g in grads).backward()
        return [y.detach(), mean.tolist(), variance.tolist(), *[one.grad.clone() for one in leaves]]

    if weighted or not biased:  # PyTorch's second derivative by a bias alone raises
        agree(call, 1e-9)


@pytest.mark.parametrize("followed", ["x", "weight", "bias", "x weight"])
def test_running_statistics_may_change_between_forward_and_backward(followed):
    """PyTorch refuses that backward, as it saves the statistics themselves."""

    def gradients(change):
        x = (tensorlab.arange(24.0).reshape(4, 3, 2) % 5).requires_grad_("x" in followed)
        mean, variance = tensorlab.tensor([0.1, 0.2, 0.3]), tensorlab.tensor([1.0, 2.0, 3.0])
        weight = tensorlab.tensor([1.0, 2.0, 0.5]).requires_grad_("weight" in followed)
        bias = tensorlab.tensor([1.0, 2.0, 0.5]).requires_grad_("bias" in followed)
        y = tensorlab.nn.functional.batch_norm(x, mean, variance, weight, bias)
        if change:
            mean.add_(1.0)
            variance.mul_(3.0)
        y.exp().sum().backward()
        return [one.grad.tolist() for one in (x, weight, bias) if one.grad is not None]

    assert gradients(True) == gradients(False)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_of_long_rows_keep_their_digits(weighted):
    """Sums of a million numbers that are nearly equal, one added to the other, would lose three digits."""
    n = 1_000_000
    x = tensorlab.sin(tensorlab.arange(float(n))).reshape(1, n).requires_grad_()
    weight = tensorlab.ones(n) if weighted else None
    y = tensorlab.nn.functional.layer_norm(x, (n,), weight)
    y.backward(tensorlab.full((1, n), 0.1))
    assert x.grad.abs().max().item() < 1e-4


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 500])
def test_layer_norm_of_rows_of_every_length(n):
    """Short and long rows are summed in different ways."""
    for dtype, tolerance in (("float64", 1e-9), ("float32", 2e-3)):

        def call(T, dtype=dtype):
            x = (
                (T.sin(T.arange(3.0 * n, dtype=T.float64).reshape(3, n)) * 3 + 2)
                .to(getattr(T, dtype))
                .requires_grad_()
            )
            weight = (T.cos(T.arange(float(n), dtype=T.float64)) + 2).to(x.dtype).requires_grad_()
            y = T.nn.functional.layer_norm(x, (n,), weight, weight * 2)
            plain = T.nn.functional.layer_norm(x, (n,))
            (y * T.cos(y.detach()) + plain.exp()).sum().backward()
            return [one.tolist() for one in (y, plain, x.grad, weight.grad)]

        agree(call, tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("m", [63, 64, 1001])
def test_layer_norm_gives_many_rows_the_gradients_of_few(m, dtype):
    """From 64 rows on all gradients come from one pass, unless they'll be differentiated."""
    dtype = getattr(tensorlab, dtype)
    x = tensorlab.sin(tensorlab.arange(37.0 * m)).reshape(m, 37)
    leaves = [one.to(dtype).requires_grad_() for one in (x * 3, x[0] + 2, x[1] * 1)]
    y = tensorlab.nn.functional.layer_norm(leaves[0], (37,), *leaves[1:])
    h = tensorlab.cos(y.detach())
    found = tensorlab.autograd.grad(y, leaves, h, retain_graph=True)
    expected = tensorlab.autograd.grad(y, leaves, h, create_graph=True)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype == dtype
        other = other.detach()
        scale = float(other.abs().max())
        assert tensorlab.allclose(one, other, rtol=0, atol=scale * tensorlab.finfo(dtype).eps * 40)


def test_layer_norm_has_the_same_gradients_whatever_the_number_of_threads():
    x = tensorlab.sin(tensorlab.arange(300.0 * 200)).reshape(300, 200).requires_grad_()
    weight = tensorlab.ones(200, requires_grad=True)
    bias = tensorlab.ones(200, requires_grad=True)
    y = tensorlab.nn.functional.layer_norm(x, (200,), weight, bias)
    before, found = tensorlab.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            tensorlab.set_num_threads(threads)
            grads = tensorlab.autograd.grad(y, (x, weight, bias), x.detach(), retain_graph=True)
            found.append([one.tolist() for one in grads])
    finally:
        tensorlab.set_num_threads(before)
    assert found[0] == found[1] == found[2]


# ---------------------------------------------------------------- pooling
def test_windows_step_by_their_size_unless_told_otherwise():
    for name in ("max_pool1d", "avg_pool1d"):
        agree(
            lambda T, name=name: getattr(T.nn.functional, name)(
                T.arange(12.0).reshape(1, 2, 6), 2
            ).tolist()
        )
    agree(
        lambda T: T.nn.functional.max_pool1d(T.arange(14.0).reshape(2, 7), 3, return_indices=True)[
            1
        ].tolist()
    )
    for name in ("max_pool2d", "avg_pool2d"):
        agree(
            lambda T, name=name: getattr(T.nn.functional, name)(
                T.arange(30.0).reshape(1, 5, 6), 2
            ).tolist()
        )


@pytest.mark.parametrize("most", [2**31 - 1, 2**31, 2**31 + 1])
def test_windows_have_less_than_2_to_the_31_elements(most):
    calls = [
        lambda T, x: T.nn.functional.max_pool2d(x, (most, 1)),
        lambda T, x: T.nn.functional.max_pool2d(x, (1, most)),
        lambda T, x: T.nn.functional.max_pool2d(x, 2, most),
        lambda T, x: T.nn.functional.max_pool2d(x, 2, 1, 0, most),
        lambda T, x: T.nn.functional.avg_pool2d(x, 2, most),
        lambda T, x: T.nn.functional.avg_pool2d(x, most),
    ]
    for call in calls:
        agree(lambda T, call=call: call(T, T.arange(12.0).reshape(1, 2, 6)))


# ---------------------------------------------------------------- indexing
INDEX_OPS = {
    "index_add": lambda x, dim, i, source: x.index_add(dim, i, source),
    "index_copy": lambda x, dim, i, source: x.index_copy(dim, i, source),
    "index_fill": lambda x, dim, i, source: x.index_fill(dim, i, 1.5),
    "index_select": lambda x, dim, i, source: x.index_select(dim, i),
    "index_reduce": lambda x, dim, i, source: x.index_reduce(dim, i, source, "prod"),
    "index_reduce mean": lambda x, dim, i, source: x.index_reduce(
        dim, i, source, "mean", include_self=False
    ),
    "gather": lambda x, dim, i, source: x.gather(dim, i),
    "scatter": lambda x, dim, i, source: x.scatter(dim, i, source),
    "scatter_add": lambda x, dim, i, source: x.scatter_add(dim, i, source),
    "scatter_reduce": lambda x, dim, i, source: x.scatter_reduce(dim, i, source, "amax"),
}


@pytest.mark.parametrize("op", INDEX_OPS)
def test_indices_of_a_single_element(op):
    """0-d tensors and indices, dimensions from both ends, and what is out of range."""
    for dim, place, index_ndim, x_ndim in itertools.product(
        (0, -1, 1, -2), (0, -1, 1), (0, 1), (0, 1)
    ):

        def call(T, dim=dim, place=place, index_ndim=index_ndim, x_ndim=x_ndim):
            x, source = (
                T.tensor(3.0).reshape((1,) * x_ndim),
                T.tensor(2.0).reshape((1,) * index_ndim),
            )
            try:
                return INDEX_OPS[op](x, dim, T.tensor(place).reshape((1,) * index_ndim), source)
            except (RuntimeError, IndexError):  # which of them PyTorch raises depends on the op
                return "refused"

        if op != "index_copy" or index_ndim == x_ndim:
            agree(call)


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_a_source_that_is_larger_than_the_index_has_no_gradient_beyond_it(reduce, include_self):
    index = tensorlab.tensor([[0, 1, 0], [1, 1, 0]])
    grads = []
    for part in (slice(None), slice(0, 3)):
        x = tensorlab.arange(1.0, 7).reshape(2, 3).requires_grad_()
        source = (tensorlab.arange(1.0, 13).reshape(3, 4) % 5 + 1).requires_grad_()
        given = source if part == slice(None) else source[:2, :3]
        y = x.scatter_reduce(0, index, given, reduce, include_self=include_self)
        (y * tensorlab.arange(1.0, 7).reshape(2, 3)).sum().backward()
        grads.append((y.tolist(), x.grad.tolist(), source.grad.tolist()))
    assert grads[0] == grads[1]


def test_a_masked_scatter_refuses_a_source_that_it_writes_to():
    x = tensorlab.arange(10.0)
    with pytest.raises(
        RuntimeError, match="^masked_scatter_: the tensor to be written and the source share"
    ):
        x[:9].masked_scatter_(tensorlab.arange(9) % 2 == 0, x[1:])
    assert x.tolist() == list(range(10))


def test_differences_take_numbers_before_or_after():
    for options in ({}, {"prepend": 1}, {"append": 1}, {"prepend": 2, "append": 1}):
        for dim, n in itertools.product((0, 1), (0, 1, 2, 3)):

            def call(T, options=options, dim=dim, n=n):
                x = T.arange(12.0).reshape(3, 4) ** 2
                more = {name: x.narrow(dim, 0, count) + 7 for name, count in options.items()}
                return T.diff(x, n, dim, **more).tolist()

            agree(call)


SCATTERED_NUMBERS = {
    "by position": lambda x, i: x.scatter(0, i, 2.5),
    "by name": lambda x, i: x.scatter(0, i, value=2.5),
    "in place": lambda x, i: x.scatter_(0, i, value=2.5),
    "added": lambda x, i: x.scatter(0, i, 2.5, reduce="add"),
    "multiplied": lambda x, i: x.scatter_(0, i, value=2.5, reduce="multiply"),
    "neither": lambda x, i: x.scatter(0, i),
    "a text": lambda x, i: x.scatter(0, i, "2"),
    "another reduction": lambda x, i: x.scatter(0, i, 2.5, reduce="mean"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", SCATTERED_NUMBERS)
def test_a_number_is_scattered(way):
    def call(T):
        x = T.arange(12.0).reshape(3, 4)
        return SCATTERED_NUMBERS[way](
            x, T.tensor([[0, 1, 2, 0], [1, 1, 0, 2]])
        ).tolist(), x.tolist()

    agree(call)


@pytest.mark.parametrize(
    ("dtype", "fits", "not_any_more"),
    [
        ("int8", (127, -128), (128, -129)),
        ("uint8", (255, -255), (256, -256)),  # negative ones wrap
        ("int64", (2**63 - 1, -(2**63)), (2**63, -(2**64))),
    ],
)
def test_the_largest_numbers_that_fit_are_filled_in(dtype, fits, not_any_more):
    x, mask = tensorlab.zeros(2, dtype=getattr(tensorlab, dtype)), tensorlab.tensor([True, False])
    for value in fits:
        wrapped = value % 256 if dtype == "uint8" else value
        assert x.masked_fill(mask, value).tolist() == [wrapped, 0]
    for value in not_any_more:
        with pytest.raises(
            (RuntimeError, OverflowError), match=f"^masked_fill: the number {value} does not fit in"
        ):
            x.masked_fill(mask, value)


@pytest.mark.parametrize("name", ["scatter", "scatter_", "scatter_add", "scatter_add_"])
def test_an_error_of_scatter_says_whether_it_was_in_place(name):
    x, index = tensorlab.zeros(3), tensorlab.tensor([0, 5])
    with pytest.raises(RuntimeError, match=f"^{name}: index 5 is out of range"):
        getattr(x, name)(0, index, tensorlab.ones(2))


def test_without_grad_mode_a_view_without_correct_gradient_is_read_by_an_index():
    base = tensorlab.ones(2, 3, requires_grad=True) * 1
    view = base.unbind(0)[0]
    base.mul_(2)
    index = tensorlab.tensor([0, 2])
    with tensorlab.no_grad():
        assert view[index].tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="unbind"):
        view[index]


# ---------------------------------------------------------------- memory of others
def test_frombuffer_takes_every_argument():
    for options in (
        {},
        {"count": 2},
        {"offset": 4},
        {"offset": 4, "count": 1},
        {"offset": 12, "count": 1},
        {"offset": 12, "count": 2},
        {"offset": 16},
        {"offset": -1},
        {"count": 0},
        {"count": -2},
        {"offset": 3},
        {"requires_grad": True},
    ):

        def call(T, options=options):
            return T.frombuffer(bytearray(range(16)), dtype=T.float32, **options)

        agree(call)
    agree(lambda T: T.frombuffer(bytearray(range(16)), dtype=T.int16, requires_grad=True))
    agree(lambda T: T.frombuffer(bytearray(), dtype=T.int16))


@pytest.mark.filterwarnings("ignore:tensor. the data are a Tensor")
@pytest.mark.parametrize(
    "data", [lambda T, x: x, lambda T, x: [x[0]], lambda T, x: x[0]], ids=["all", "list", "one"]
)
def test_a_tensor_on_meta_is_no_data_for_another(data):
    for make in ("tensor", "as_tensor"):
        x = tensorlab.zeros(2, device="meta")
        with pytest.raises(NotImplementedError, match="meta"):
            getattr(tensorlab, make)(data(tensorlab, x), device="cpu")


def test_nested_sequences_without_elements_have_a_shape():
    for nested in ([], [[]], [[], []], [[[], []]], [[[]], [[]]], ((), ())):
        agree(lambda T, nested=nested: T.tensor(nested))


EMPTY_INDEX = {
    "scatter": lambda x, i, s: x.scatter(0, i, s),
    "scatter_add": lambda x, i, s: x.scatter_add(0, i, s),
    "scatter_reduce": lambda x, i, s: x.scatter_reduce(0, i, s, "sum"),
    "scatter_": lambda x, i, s: x.scatter_(0, i, s),
    "scatter of a number": lambda x, i, s: x.scatter(0, i, 2.0),
    "gather": lambda x, i, s: x.gather(0, i),
    "take": lambda x, i, s: x.take(i),
    "put": lambda x, i, s: x.put(i, s.reshape(-1)[: i.numel()]),
    "index_add": lambda x, i, s: x.index_add(0, i, s),
    "index_copy": lambda x, i, s: x.index_copy(0, i, s),
    "index_fill": lambda x, i, s: x.index_fill(0, i, 2.0),
    "index_select": lambda x, i, s: x.index_select(0, i),
    "index": lambda x, i, s: x[i],
    "index_put": lambda x, i, s: x.index_put((i,), s),
    "index_put accumulating": lambda x, i, s: x.index_put((i,), s, accumulate=True),
}


@pytest.mark.parametrize("op", EMPTY_INDEX)
def test_an_index_without_elements(op):
    shapes = [(0,), (0, 3), (2, 0), (2,), (3, 2, 2)]
    for x_shape, index_shape, source_shape in itertools.product(
        [(3,), (3, 2), (0,), (0, 3)], [(0,), (0, 3), (2, 0)], shapes
    ):

        def call(T, x_shape=x_shape, index_shape=index_shape, source_shape=source_shape):
            x, index = T.ones(x_shape), T.zeros(index_shape, dtype=T.int64)
            try:
                return EMPTY_INDEX[op](x, index, T.ones(source_shape)).tolist()
            except (RuntimeError, IndexError):
                return "refused"

        agree(call)


# ---------------------------------------------------------------- without a derivative
WITHOUT_DERIVATIVE = {
    "unique": lambda T, x: T.unique(x, return_inverse=True, return_counts=True),
    "unique rows": lambda T, x: T.unique(x.reshape(2, 2), dim=0, return_counts=True),
    "unique_consecutive": lambda T, x: T.unique_consecutive(x, return_inverse=True),
    "unique_consecutive rows": lambda T, x: T.unique_consecutive(x.reshape(2, 2), dim=0),
    "bincount": lambda T, x: T.bincount(T.tensor([0, 1, 1, 2]), x),
    "histogram": lambda T, x: T.histogram(x, 2),
    "histogram of weights": lambda T, x: T.histogram(T.ones(4), 2, weight=x),
    "histc": lambda T, x: T.histc(x, 2),
}


@pytest.mark.parametrize("name", WITHOUT_DERIVATIVE)
def test_backward_through_an_op_without_derivative_raises(name):
    for is_leaf, is_enabled in itertools.product((False, True), repeat=2):

        def call(T, is_leaf=is_leaf, is_enabled=is_enabled, backward=False):
            x = T.tensor([2.0, 1.0, 1.0, 3.0], requires_grad=is_leaf)
            with T.set_grad_enabled(is_enabled):
                results = WITHOUT_DERIVATIVE[name](T, x)
            results = results if isinstance(results, tuple) else (results,)
            if backward:
                results[0].sum().backward()
            return [(one.tolist(), one.requires_grad) for one in results]

        agree(call)
        agree(lambda T, call=call: call(T, backward=True))


@pytest.mark.parametrize("places", [[1.0, 2.0, 3.0], 2, "123"], ids=str)
def test_the_places_of_a_trapezoid_are_a_tensor(places):
    for name in ("trapezoid", "cumulative_trapezoid"):
        agree(lambda T, name=name: getattr(T, name)(T.ones(3), places))
        agree(lambda T, name=name: getattr(T, name)(places, T.ones(3)))


# ---------------------------------------------------------------- nothing to divide by, nothing to go through
@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_a_variance_without_degrees_of_freedom_warns_as_in_pytorch(name):
    torch = require_torch()
    for shape, dim, correction in itertools.product(
        [(1, 3), (0, 1), (1, 0), (0,), (), (3, 2)], (None, 0, 1), (0, 1, 3)
    ):
        if (shape, dim) in (((0, 1), 1), ((1, 0), 0)):
            continue  # PyTorch takes the number of all elements for that of a row
        counts = []
        for T in (tensorlab, torch):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    getattr(T, name)(T.zeros(shape), dim, correction=correction)
                    counts.append(len(caught))
                except IndexError:
                    counts.append("refused")
        assert counts[0] == counts[1], (shape, dim, correction)


ALONG = {
    "cumsum": lambda x, out: tensorlab.cumsum(x, 2, out=out),
    "cumprod": lambda x, out: tensorlab.cumprod(x, 2, out=out),
    "logcumsumexp": lambda x, out: tensorlab.logcumsumexp(x, 2, out=out),
    "softmax": lambda x, out: tensorlab.softmax(x, 2, out=out),
    "cummax": lambda x, out: tensorlab.cummax(x, 2, out=(out, out.long())),
    "sort": lambda x, out: tensorlab.sort(x, 2, out=(out, out.long())),
    "add": lambda x, out: tensorlab.add(x, 1, out=out),
    "exp": lambda x, out: tensorlab.exp(x, out=out),
    "amax": lambda x, out: tensorlab.amax(x, 2, keepdim=True, out=out[..., :1]),
    "sum": lambda x, out: tensorlab.sum(x, 2, keepdim=True, out=out[..., :1]),
}


@pytest.mark.parametrize("name", ALONG)
def test_a_loop_over_nothing_writes_nothing(name):
    """The dimensions do not merge, so one of size 0 is outside of others."""
    for part in itertools.product((slice(None, None, 2), slice(0, 0)), repeat=2):
        x, written = tensorlab.ones(6, 6, 4), tensorlab.full((6, 6, 4), 7.0)
        out = written[part]
        if out.numel() == 0:
            ALONG[name](x[part], out)
            assert (written == 7).all()


def test_take_along_dim_takes_whole_numbers_of_any_kind():
    for dim in (1, -1, np.int64(1), True, 1.0, None, 2):
        agree(
            lambda T, dim=dim: T.take_along_dim(
                T.arange(6.0).reshape(2, 3), T.tensor([[0], [2]]), dim
            )
        )


BYTE_MASKS = {
    "alone": lambda x, mask: x[mask],
    "with a number": lambda x, mask: x[mask, 1],
    "behind a number": lambda x, mask: x[1, mask],
    "with a slice": lambda x, mask: x[mask, 1:],
    "with None": lambda x, mask: x[None, mask],
    "twice": lambda x, mask: x[mask, mask],
    "with an index": lambda x, mask: x[mask, x[:2, 0].long() * 0],
}


@pytest.mark.parametrize("way", BYTE_MASKS)
def test_a_mask_of_bytes_warns_as_in_pytorch(way):
    for T in (tensorlab, require_torch()):
        with pytest.warns(UserWarning, match="uint8"):
            BYTE_MASKS[way](T.ones(3, 3), T.tensor([1, 0, 1], dtype=T.uint8))


def test_bessels_correction_may_stand_in_the_place_of_dim():
    for name, unbiased in itertools.product(("var", "std", "var_mean", "std_mean"), (False, True)):
        agree(lambda T, n=name, u=unbiased: getattr(T, n)(T.arange(4.0) ** 2, u), 1e-6)
        agree(lambda T, n=name, u=unbiased: getattr(T, n)(T.arange(4.0) ** 2, unbiased=u), 1e-6)
        agree(
            lambda T, n=name, u=unbiased: getattr(T, n)(T.arange(4.0).reshape(2, 2), 1, u, True),
            1e-6,
        )


# ---------------------------------------------------------------- versions, 0-d arguments
@pytest.mark.parametrize(
    "read",
    [
        lambda T, x, at: x.index_select(0, at),
        lambda T, x, at: x[at],
        lambda T, x, at: x.gather(0, at[:, None]),
        lambda T, x, at: x.masked_fill(x > 1, 0.0),
        lambda T, x, at: x[1:, 2],
        lambda T, x, at: x.sort(0)[0],
        lambda T, x, at: x.cumsum(1),
        lambda T, x, at: x.diagonal(),
        lambda T, x, at: x.unfold(1, 2, 1),
    ],
)
def test_a_gradient_has_the_version_that_it_has_in_pytorch(read):
    def call(T):
        x = T.arange(12.0).view(3, 4).requires_grad_()
        return T.autograd.grad(read(T, x, T.tensor([0, 1, 1])).sum(), x)

    agree(call)


def test_a_0d_tensor_is_a_spacing():
    agree(lambda T: T.gradient(T.tensor([1.0, 4.0, 9.0, 16.0]), spacing=T.tensor(2.0)))


def test_a_single_number_has_nothing_to_narrow():
    with pytest.raises(RuntimeError, match="a 0-d tensor has no dimension to narrow"):
        tensorlab.tensor(3.0).narrow(0, 0, 1)


@pytest.mark.parametrize(
    "shape", [(0, 3, 4, 4), (2, 3, 4, 0), (1, 1, 1, 1), (2, 3, 4, 4), (2, 3, 4)]
)
def test_whether_channels_come_last_is_asked_of_strides_of_empty_tensors_too(shape):
    agree(lambda T: T.empty(shape).is_contiguous(memory_format=T.channels_last))


@pytest.mark.parametrize("accelerator", ["cuda", "xpu"])
def test_a_type_of_an_accelerator_is_refused_with_the_one_to_use(accelerator):
    with pytest.raises(RuntimeError, match="tensorlab has none; use 'tensorlab.FloatTensor'"):
        tensorlab.ones(2).type(f"torch.{accelerator}.FloatTensor")


def test_selu_in_place_is_selu():
    x = tensorlab.linspace(-3, 3, 13)
    expected = tensorlab.selu(x).tolist()
    assert tensorlab.selu_(x).tolist() == expected == x.tolist()


def test_prelu_of_integers_is_refused():
    with pytest.raises(UnsupportedDType, match="^prelu: not implemented for tensorlab.int64"):
        tensorlab.prelu(tensorlab.tensor([1, -2]), tensorlab.tensor([0.5]))


def test_exponential_numbers_are_floating():
    with pytest.raises(DTypeError, match="^exponential_: .*a floating dtype is needed"):
        tensorlab.zeros(3, dtype=tensorlab.int64).exponential_()


def test_norms_of_infinite_order_are_the_extremes_of_windows():
    x = -tensorlab.arange(8.0).reshape(1, 1, 8)
    pool = tensorlab.nn.functional.lp_pool1d
    assert pool(x, float("inf"), 2).tolist() == [[[1, 3, 5, 7]]]
    assert pool(x, -float("inf"), 2).tolist() == [[[0, 2, 4, 6]]]


def test_the_gradient_of_a_product_in_another_type_is_computed_in_it():
    x = tensorlab.tensor([1e-30, 1e-30, 1e30, 1e30], requires_grad=True)
    x.cumprod(0, dtype=tensorlab.float64)[-1].backward()
    assert x.grad.tolist() == pytest.approx([1e30, 1e30, 1e-30, 1e-30], rel=1e-6)
    assert x.grad.dtype is tensorlab.float32


def test_a_sorter_is_checked_without_numbers_too():
    with pytest.raises(IndexError, match="sorter has an index that is out of range"):
        tensorlab.searchsorted(
            tensorlab.tensor([3.0, 1.0, 2.0]),
            tensorlab.tensor([]),
            sorter=tensorlab.tensor([1, 2, 5]),
        )


def test_isin_writes_to_out_what_has_no_derivative():
    out = tensorlab.empty(2, dtype=tensorlab.bool)
    x = tensorlab.tensor([1.0, 2.0], requires_grad=True)
    assert tensorlab.isin(x, tensorlab.tensor([2.0]), out=out).tolist() == [False, True]


@pytest.mark.parametrize("name", ["multi_margin_loss", "multilabel_margin_loss"])
def test_margin_losses_have_the_shape_of_a_loss_on_meta(name):
    x = tensorlab.ones(2, 3, device="meta")
    target = tensorlab.zeros(
        (2,) if name.startswith("multi_") else (2, 3), dtype=tensorlab.int64, device="meta"
    )
    for reduction, shape in (("mean", ()), ("none", (2,))):
        loss = getattr(tensorlab.nn.functional, name)(x, target, reduction=reduction)
        assert loss.is_meta
        assert loss.shape == shape


@pytest.mark.parametrize("width", [15, 16, 40])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_rows_of_any_width_are_put_in_their_places(width, dtype):
    dtype = getattr(tensorlab, dtype)
    rows = tensorlab.arange(3 * width).reshape(3, width).to(dtype)
    index = tensorlab.tensor([4, 0, 2])
    expected = tensorlab.zeros(5, width, dtype=dtype)
    for k, place in enumerate(index.tolist()):
        expected[place] = rows[k]
    zeros = tensorlab.zeros(5, width, dtype=dtype)
    for put in (
        zeros.index_put((index,), rows),
        zeros.index_copy(0, index, rows),
        zeros.index_add(0, index, rows),
    ):
        assert tensorlab.equal(put, expected)


# ---------------------------------------------------------------- dimensions that aren't there, or come twice
@pytest.mark.parametrize(
    "call",
    [
        lambda T, x: x.size(0),
        lambda T, x: x.size(-1),
        lambda T, x: x.stride(0),
        lambda T, x: x.roll(1, 0),
        lambda T, x: x.roll(1, -1),
        lambda T, x: T.take_along_dim(x, T.tensor(0), 0),
    ],
)
def test_a_0d_tensor_has_no_dimension_0(call):
    agree(lambda T: call(T, T.tensor(1.5)))
    with pytest.raises(DimensionError, match="0-d"):
        call(tensorlab, tensorlab.tensor(1.5))


def test_a_0d_tensor_may_be_called_without_a_dimension():
    x = tensorlab.tensor(1.5)
    assert x.size() == x.shape == ()
    assert x.stride() == ()
    assert x.roll(1).item() == 1.5
    assert tensorlab.take_along_dim(x, tensorlab.tensor(0)).tolist() == [1.5]


@pytest.mark.parametrize("dim", [(1, 1), (1, -1)])
def test_slopes_along_a_dimension_are_asked_for_once(dim):
    agree(lambda T: T.gradient(T.ones(3, 3), dim=dim))
    with pytest.raises(RuntimeError, match="names a dimension twice"):
        tensorlab.gradient(tensorlab.ones(3, 3), dim=dim)


# ---------------------------------------------------------------- an index without elements
@pytest.mark.parametrize("dtype", ["uint8", "bool", "int8", "float32", "int64"])
@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_an_empty_index_may_be_of_any_type(shape, dtype):
    for name in ("gather", "scatter", "scatter_add"):

        def call(T, name=name):
            x = T.arange(6.0).reshape(2, 3).requires_grad_()
            index = T.zeros(shape, dtype=getattr(T, dtype))
            y = (
                x.gather(0, index)
                if name == "gather"
                else getattr(x, name)(0, index, T.ones(shape))
            )
            (grad,) = T.autograd.grad(y.sum(), x)
            return y.shape, y.tolist(), grad.tolist()

        agree(call)
    agree(lambda T: T.ones(3).gather(0, T.zeros(1, dtype=T.uint8)))
