"""Reductions and ops along a dimension: layouts, threads, accuracy, corner cases, error texts."""

import itertools
import math

import numpy as np
import pytest
from tensorlab._core.engine.backward import grad
from tensorlab._core.loops.parallel import get_threads, set_threads

import tensorlab
from tensorlab.errors import DimensionError, DTypeError, ShapeError
from tests.ops.agreement import agree

SHAPES = [(5,), (3, 1, 5), (100, 10), (10, 300), (5, 6, 7), (2, 3, 4, 5), (9000,), (3000, 3)]


def tensor(array):
    return tensorlab.from_numpy(np.asarray(array))


def layouts(array):
    """The array, transposed, stepped and expanded."""
    yield array
    yield array.T
    yield array[..., ::2]
    yield np.broadcast_to(array[..., :1], array.shape)


@pytest.fixture
def two_threads():
    before = get_threads()
    set_threads(2)
    yield
    set_threads(before)


# -------------------------------------------------------------------------------- the walks
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16", "bool", "float16"])
def test_every_choice_of_dimensions_is_reduced_in_every_layout(shape, dtype):
    rng = np.random.default_rng(0)
    whole = (rng.standard_normal(shape) * 5).astype(dtype)
    tolerance = {"float16": 2e-3, "float32": 1e-5}.get(dtype, 1e-12)
    for array in layouts(whole):
        x = tensorlab.tensor(whole).new_tensor(array) if array.strides[-1] == 0 else tensor(array)
        wide = array.astype("float64" if "float" in dtype else "int64")
        for count in range(1, len(shape) + 1):
            for dims in itertools.combinations(range(len(shape)), count):
                np.testing.assert_allclose(
                    np.array(x.sum(dims).tolist()),
                    wide.sum(dims),
                    rtol=tolerance,
                    atol=tolerance * 1000,
                )
                np.testing.assert_array_equal(np.array(x.amax(dims).tolist()), array.max(dims))


@pytest.mark.parametrize(
    ("shape", "dim"),
    [((300, 400), 0), ((300, 400), 1), ((3, 90000), 1), ((90000, 3), 0), ((120000,), 0)],
)
def test_two_threads_give_what_one_gives(shape, dim, two_threads):
    array = np.random.default_rng(0).standard_normal(shape)
    x = tensor(array)
    np.testing.assert_allclose(x.sum(dim).tolist(), array.sum(dim))
    np.testing.assert_allclose(x.var(dim).tolist(), array.var(dim, ddof=1))
    np.testing.assert_allclose(x.norm(1, dim).tolist(), np.abs(array).sum(dim))
    np.testing.assert_array_equal(x.amax(dim).tolist(), array.max(dim))
    np.testing.assert_array_equal(x.argmin(dim).tolist(), array.argmin(dim))
    np.testing.assert_array_equal((x > 0).sum(dim).tolist(), (array > 0).sum(dim))
    np.testing.assert_array_equal(x.sort(dim)[0].tolist(), np.sort(array, dim))
    np.testing.assert_allclose(x.cumsum(dim).tolist(), array.cumsum(dim))
    np.testing.assert_allclose(x.softmax(dim).sum(dim).tolist(), 1, rtol=1e-12)
    np.testing.assert_allclose(x.logsumexp(dim).tolist(), np.log(np.exp(array).sum(dim)))


@pytest.mark.parametrize("width", [1, 7, 8, 33, 2100])
@pytest.mark.parametrize("op", ["softmax", "log_softmax", "cumsum", "sort"])
def test_lines_across_memory_give_what_lines_along_memory_give(op, width):
    x = tensorlab.tensor(np.random.default_rng(0).standard_normal((51, width)), requires_grad=True)
    weight = tensorlab.tensor(np.random.default_rng(1).standard_normal((51, width)))

    def first(result):
        return result[0] if isinstance(result, tuple) else result

    across = first(getattr(x, op)(0))
    along = first(getattr(x.t().contiguous(), op)(1)).t()
    np.testing.assert_allclose(across.tolist(), along.tolist(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        grad(across, x, weight)[0].tolist(),
        grad(along, x, weight)[0].tolist(),
        rtol=1e-10,
        atol=1e-12,
    )


# -------------------------------------------------------------------------------- accuracy
def test_a_long_sum_of_float32_keeps_its_digits():
    array = np.full(5_000_000, 0.1, "float32")
    exact = array.astype("float64").sum()
    assert tensor(array).sum().item() == pytest.approx(exact, rel=2e-6)
    assert tensor(array.reshape(-1, 2)).sum(0)[0].item() == pytest.approx(exact / 2, rel=2e-6)
    assert tensor(array).norm().item() == pytest.approx(math.sqrt(5e6) * 0.1, rel=1e-6)


@pytest.mark.parametrize("number", [0.1, 3.3, 1e-3, -700.1])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [((37,), None), ((5, 1001), 1), ((1001, 5), 0), ((4, 33, 5), (0, 2)), ((70_000,), None)],
)
def test_the_variance_of_equal_numbers_is_0(shape, dim, dtype, number):
    x = tensorlab.full(shape, number, dtype=getattr(tensorlab, dtype))
    for layout in (x, x.transpose(0, -1).contiguous().transpose(0, -1), x[:1].expand(shape)):
        assert not layout.var(dim).any()
        assert not layout.std(dim, keepdim=True).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [2, 65, 300, 9001])
@pytest.mark.parametrize("op", ["var", "std", "logsumexp"])
def test_many_rows_give_what_each_of_them_gives(op, n, dtype):
    array = (np.random.default_rng(n).standard_normal((70, n)) + 30).astype(dtype)
    array[0, -1], array[1, 0], array[2] = np.inf, -np.inf, -np.inf
    array[3, n // 2], array[4, 0], array[5, :2] = np.nan, np.nan, (np.inf, np.nan)
    array[6, :2], array[7] = (np.inf, -np.inf), 0.1
    x = tensor(array)
    for rows, keepdim in ((x, False), (x.view(7, 10, n), True), (x.view(70, 1, n), False)):
        together = getattr(rows, op)(-1, keepdim=keepdim).flatten()
        alone = [getattr(row, op)(0).item() for row in x]
        np.testing.assert_allclose(
            together.tolist(), alone, rtol=1e-5 if dtype == "float32" else 1e-12
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batch_norm_does_not_depend_on_how_a_channel_is_cut_into_samples(dtype):
    rng = np.random.default_rng(0)
    values, weight = rng.standard_normal((2, 2, 3, 9000)), rng.standard_normal((2, 3))

    def run(spread):
        def cut(x):
            return x.view(2, 3, 9000 // spread, spread).transpose(1, 2).reshape(-1, 3, spread)

        given = (values[0] + 5, values[1], *weight)
        x, factor, w, b = (tensorlab.tensor(one.astype(dtype)) for one in given)
        x, w, b = cut(x).requires_grad_(), w.requires_grad_(), b.requires_grad_()
        out = tensorlab.nn.functional.batch_norm(x, None, None, w, b, training=True)
        grads = grad(out, [x, w, b], cut(factor))
        back = [
            one.view(2, -1, 3, spread).transpose(1, 2).reshape(2, 3, 9000)
            for one in (out, grads[0])
        ]
        return [*back, *grads[1:]]

    whole = run(9000)
    for spread in (1, 3, 100):
        for one, expected in zip(run(spread), whole, strict=True):
            scale = expected.abs().max().item()
            tolerance = scale * (1e-5 if dtype == "float32" else 1e-12)
            np.testing.assert_allclose(one.tolist(), expected.tolist(), rtol=0, atol=tolerance)


def test_half_types_are_summed_in_float32_and_rounded_once():
    x = tensorlab.ones(5000).half()
    assert x.sum().item() == 5000  # in float16 a running sum of ones would stop at 2048
    assert x.mean().item() == 1


def test_the_variance_of_numbers_far_from_0_is_right():
    x = tensorlab.tensor([1e8 + 1, 1e8 + 2, 1e8 + 3], dtype=tensorlab.float64)
    assert x.var().item() == pytest.approx(1)


def test_softmax_and_its_relatives_do_not_overflow():
    x = tensorlab.tensor([1000.0, 1000.0, -1000.0])
    assert x.softmax(0).tolist() == [0.5, 0.5, 0.0]
    assert x.logsumexp(0).item() == pytest.approx(1000 + math.log(2))
    assert x.log_softmax(0)[2].item() == pytest.approx(-2000 - math.log(2))


# -------------------------------------------------------------------------------- corner cases
@pytest.mark.parametrize("n", [3, 70, 300])
@pytest.mark.parametrize("at", [0, 1, -1])
def test_a_nan_anywhere_is_the_extreme_and_the_first_one_is_found(n, at):
    array = np.random.default_rng(0).standard_normal(n).astype("float32")
    array[at] = np.nan
    for x in (tensor(array), tensor(array).reshape(n, 1), tensor(np.repeat(array, 2))[::2]):
        for name in ("max", "min"):
            value, index = getattr(x, name)(0)
            assert math.isnan(value.item())
            assert index.item() == at % n
            assert math.isnan(getattr(x, "a" + name)(0).item())
            assert math.isnan(getattr(x, name)().item())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16", "uint8", "bool"])
@pytest.mark.parametrize("width", [5, 40, 2100])
def test_extremes_across_memory_are_those_along_memory(width, dtype):
    array = (np.random.default_rng(0).standard_normal((51, width)) * 3).astype(dtype)
    if dtype.startswith("float"):
        array[7:9, 2] = np.nan
        array[50, 4] = np.nan
        array[5, 1] = array[6, 1] = np.inf
        array[0, 3] = np.nan
    x = tensor(array)
    for name in ("max", "min"):
        values, indices = getattr(x, name)(0)
        expected_values, expected_indices = getattr(x.t().contiguous(), name)(1)
        assert indices.tolist() == expected_indices.tolist()
        np.testing.assert_array_equal(values.tolist(), expected_values.tolist())


def test_results_with_names_print_as_a_constructor_would_read():
    result = tensorlab.tensor([[1.0, 5.0], [7.0, 2.0]]).max(1)
    assert result.values.tolist() == [5, 7]
    _values, indices = result
    assert indices.tolist() == [1, 0]
    assert repr(result) == (
        "tensorlab.return_types.max(\nvalues=tensor([5., 7.]),\nindices=tensor([1, 0]))"
    )


def test_sum_to_size_of_the_same_shape_is_the_tensor_itself():
    x = tensorlab.ones(2, 3)
    assert x.sum_to_size(2, 3) is x


def test_a_sum_is_spread_without_memory():
    x = tensorlab.ones(2, 3, requires_grad=True)
    assert grad(x.sum(), x)[0].stride() == (0, 0)


@pytest.mark.parametrize("values", [[2.0, 0.0, 3.0], [2.0, 0.0, 0.0], [2.0, 1.0, 3.0]])
def test_the_third_derivative_of_a_product_is_right(values):
    x = tensorlab.tensor(values, dtype=tensorlab.float64, requires_grad=True)
    first = grad(x.prod(), x, create_graph=True)[0]
    a, b, c = values
    assert first.tolist() == [b * c, a * c, a * b]
    second = grad(first[0], x, create_graph=True)[0]
    assert second.tolist() == [0, c, b]
    third = grad(second[1], x)[0]
    assert third.tolist() == [0, 0, 1]


def test_the_third_derivative_of_layer_norm_is_that_of_its_formula():
    from tensorlab.nn.functional import layer_norm

    def formula(x, shape, weight, bias):
        centred = x - x.mean(-1, True)
        return centred * ((centred * centred).mean(-1, True) + 1e-5).rsqrt() * weight + bias

    results = []
    for function in (layer_norm, formula):
        rng = np.random.default_rng(0)
        x, weight, bias = (
            tensorlab.tensor(rng.standard_normal(s), requires_grad=True) for s in ((2, 5), 5, 5)
        )
        total = (function(x, (5,), weight, bias) ** 3).sum()
        for _ in range(3):
            grads = grad(total, [x, weight], create_graph=True)
            total = sum((g * g).sum() for g in grads)
        results.append(total.item())
    assert results[0] == pytest.approx(results[1], rel=1e-9)


def test_cumsum_in_place_writes_through_a_view_and_is_differentiated():
    base = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x = base * 1
    x.t().cumsum_(1)
    assert x.tolist() == [[1, 2], [4, 6]]
    assert grad(x.sum(), base)[0].tolist() == [[2, 2], [1, 1]]


# -------------------------------------------------------------------------------- sorting
@pytest.mark.parametrize("n", [1, 2, 39, 41, 500, 3000])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "int32", "int16", "int8", "uint8"]
)
def test_sorting_is_stable_at_every_length(n, dtype):
    array = (np.random.default_rng(0).standard_normal(n) * 50).astype(dtype)
    values, indices = tensor(array).sort()
    np.testing.assert_array_equal(indices.tolist(), np.argsort(array, kind="stable"))
    np.testing.assert_array_equal(values.tolist(), np.sort(array))
    values, indices = tensor(array).sort(descending=True)
    expected = n - 1 - np.argsort(array[::-1], kind="stable")[::-1]
    np.testing.assert_array_equal(indices.tolist(), expected)


def test_integers_of_full_width_are_sorted():
    array = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 5000)
    np.testing.assert_array_equal(tensor(array).sort()[0].tolist(), np.sort(array))


@pytest.mark.parametrize("k", [1, 5, 256, 257, 1000])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_is_the_head_of_the_sorted_line(k, largest):
    x = tensor((np.random.default_rng(0).standard_normal((3, 1000)) * 20).round())
    values, indices = x.topk(k, largest=largest)
    expected_values, expected_indices = x.sort(descending=largest)
    assert values.tolist() == expected_values[:, :k].tolist()
    assert indices.tolist() == expected_indices[:, :k].tolist()


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("values", [2, 40, 1000])
def test_topk_of_lines_of_any_length_is_the_head_of_the_sorted_line(values, largest):
    generator = np.random.default_rng(values)
    for n in (100, 511, 512, 513, 1000):
        numbers = generator.integers(-values, values, (8, n)).astype(np.float32)
        numbers[4:][generator.random((4, n)) < 0.1] = np.nan
        numbers[7] = np.sort(numbers[7])[:: generator.choice([-1, 1])]
        x = tensor(numbers)
        for k in (1, 5, 16, 17):
            order = x.argsort(descending=largest)[:, :k]
            assert x.topk(k, largest=largest).indices.tolist() == order.tolist()


def test_sorting_nothing_gives_nothing():
    for shape in ((0,), (3, 0), (0, 3)):
        values, indices = tensorlab.zeros(shape).sort(0)
        assert tuple(values.shape) == tuple(indices.shape) == shape


def test_unique_slices_are_sorted_by_their_elements():
    array = np.random.default_rng(0).integers(0, 3, (50, 3))
    values, inverse, counts = tensorlab.unique(
        tensor(array), dim=0, return_inverse=True, return_counts=True
    )
    expected = np.unique(array, axis=0, return_inverse=True, return_counts=True)
    for ours, theirs in zip((values, inverse, counts), expected, strict=True):
        np.testing.assert_array_equal(ours.tolist(), theirs.reshape(tuple(ours.shape)))


# -------------------------------------------------------------------------------- texts
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.sum(2), DimensionError, "sum: dimension 2 is out of range"),
        (lambda x: x.sum((0, 0)), ShapeError, r"sum: dimension 0 appears twice in dim=\(0, 0\)"),
        (lambda x: x.sum("a"), TypeError, "sum: dim must be an int or a tuple of ints, not str"),
        (
            lambda x: x.long().mean(),
            DTypeError,
            "mean: needs a floating dtype, but the tensor has tensorlab.int64",
        ),
        (
            lambda x: x[:0].max(),
            ShapeError,
            "max: a tensor without elements has no extreme; give dim",
        ),
        (lambda x: x[:0].amax(0), DimensionError, r"amax: dimension 0 of shape \(0, 3\) is empty"),
        (lambda x: x.long().var(), DTypeError, "var: needs a floating tensor, not tensorlab.int64"),
        (
            lambda x: x.long().softmax(0),
            NotImplementedError,
            "softmax: not implemented for tensorlab.int64; give dtype=",
        ),
        (lambda x: x.topk(4), ShapeError, "topk: k is 4, but dimension 1 has 3 elements"),
        (
            lambda x: x.sum_to_size(2, 2),
            ShapeError,
            r"sum_to_size: size \(2, 2\) cannot be broadcast",
        ),
        (
            lambda x: x.norm("nuclear"),
            ValueError,
            "norm: p is 'nuclear'; expected a number, 'fro' or 'nuc'",
        ),
    ],
)
def test_errors_say_what_was_given_and_how_to_mend_it(call, error, text):
    with pytest.raises(error, match=text):
        call(tensorlab.ones(2, 3))


HISTOGRAMS = {
    "one value": lambda T: T.histogram(T.tensor([1.0, 1.0]), 4),
    "zero": lambda T: T.histogram(T.tensor([0.0]), 2),
    "empty range": lambda T: T.histogram(T.tensor([1.0, 1.0]), 4, range=(2.0, 2.0)),
    "empty range among values": lambda T: T.histogram(T.tensor([1.0, 3.0]), 2, range=(2.0, 2.0)),
    "empty range at zero": lambda T: T.histogram(T.tensor([1.0, 3.0]), 2, range=(0.0, 0.0)),
    "no values": lambda T: T.histogram(T.empty(0), 4),
    "no values and an empty range": lambda T: T.histogram(T.empty(0), 4, range=(1.0, 1.0)),
    "density": lambda T: T.histogram(T.tensor([1.0, 1.0]), 4, density=True),
    "the wrong way round": lambda T: T.histogram(T.tensor([1.0]), 4, range=(3.0, 2.0)),
    "nan": lambda T: T.histogram(T.tensor([1.0, math.nan]), 4),
    "histc one value": lambda T: T.histc(T.tensor([1.0, 1.0]), 4),
    "histc empty range": lambda T: T.histc(T.tensor([1.0, 3.0]), 2, 2, 2),
    "histc no values": lambda T: T.histc(T.empty(0), 4, 3, 3),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_a_histogram_has_the_edges_of_pytorch(name):
    def lists(T):
        made = HISTOGRAMS[name](T)
        return [one.tolist() for one in (made if isinstance(made, tuple) else (made,))]

    agree(lists, tolerance=1e-6)


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_a_reduction_to_bool_casts_before_it_reduces(name):
    agree(lambda T: getattr(T, name)(T.tensor([[0.5, 0.25], [0.0, 2.0]]), 1, dtype=T.bool))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_reductions_are_not_defined_for_bool(name):
    agree(lambda T: getattr(T, name)(T.tensor([0.5, 0.25]), 0, dtype=T.bool))


KEEPING = {
    "sum": lambda x, d, k: x.sum(d, keepdim=k),
    "mean": lambda x, d, k: x.mean(d, keepdim=k),
    "var": lambda x, d, k: x.var(d, keepdim=k),
    "std": lambda x, d, k: x.std(d, keepdim=k),
    "norm": lambda x, d, k: x.norm(dim=d, keepdim=k),
    "logsumexp": lambda x, d, k: x.logsumexp(d, keepdim=k),
    "amax": lambda x, d, k: x.amax(d, keepdim=k),
    "any": lambda x, d, k: (x > 0.9).any(d, keepdim=k),
    "nansum": lambda x, d, k: x.nansum(d, keepdim=k),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", KEEPING)
def test_a_dimension_that_is_kept_changes_no_bit(name, dtype):
    x = tensorlab.rand(5, 6, 7, dtype=tensorlab.float64).to(getattr(tensorlab, dtype))
    for y in (x, x.permute(2, 0, 1), x[:, ::2], x.expand(3, 5, 6, 7)):
        for dim in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]:
            kept, plain = (KEEPING[name](y, dim, keep) for keep in (True, False))
            assert kept.ndim == y.ndim
            assert kept.reshape(plain.shape).equal(plain), dim


@pytest.mark.parametrize("keepdim", [False, True])
def test_rows_of_equal_numbers_have_no_variance(keepdim):
    rows = (tensorlab.arange(5.0) / 10).reshape(5, 1, 1).expand(5, 6, 7)
    for x, dims in ((rows, [(1, 2), (1,), (2,)]), (rows.permute(1, 0, 2), [(0, 2), (0,), (2,)])):
        for y, dim in ((y, dim) for y in (x, x.contiguous(), x.double()) for dim in dims):
            assert (y.var(dim, keepdim=keepdim) == 0).all()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 1])
def test_a_gradient_may_lie_further_apart_than_the_result(name, dim):
    """Rows and columns of both are walked with strides of their own."""
    function = getattr(tensorlab.nn.functional, name)
    wide = tensorlab.arange(60.0).reshape(6, 10).sin()
    results = []
    for weights in (wide[:, 2:7], wide[:, 2:7].clone(), wide.t()[2:7].clone().t()):
        x = tensorlab.arange(30.0).reshape(6, 5).cos().requires_grad_()
        (gradient,) = tensorlab.autograd.grad(function(x, dim), x, weights)
        results.append(gradient)
    assert tensorlab.allclose(results[0], results[1])
    assert tensorlab.allclose(results[2], results[1])


@pytest.mark.parametrize("p", [1, 2, 2.5, math.inf])
def test_a_norm_in_a_wider_type_has_its_gradient_computed_there(p):
    narrow = (tensorlab.arange(1, 8) / 3).requires_grad_()
    wide = narrow.detach().double().requires_grad_()
    tensorlab.norm(narrow, p, dtype=tensorlab.float64).backward()
    tensorlab.norm(wide, p).backward()
    assert narrow.grad.tolist() == wide.grad.float().tolist()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("wanted", ["float64", "float32", "float16", "bfloat16"])
def test_a_norm_is_computed_in_no_narrower_type(dtype, wanted):
    agree(lambda T: T.norm(T.ones(3, dtype=getattr(T, dtype)), dtype=getattr(T, wanted)).dtype)


@pytest.mark.parametrize("number", [3.5, math.nan])
def test_the_mode_of_a_single_number_is_that_number(number):
    for keeps in (False, True):
        value, place = tensorlab.mode(tensorlab.tensor(number), -1, keeps)
        assert (str(value.item()), value.shape) == (str(number), ())
        assert (place.item(), place.shape) == (0, ())


@pytest.mark.parametrize("p", [math.inf, -math.inf, 0, 1, 2])
@pytest.mark.parametrize("dim", [None, 0])
def test_two_threads_agree_on_a_norm(p, dim, two_threads):
    x = tensorlab.arange(1, 1_000_001, dtype=tensorlab.float64).sin().reshape(500_000, 2)
    expected = np.linalg.norm(x.numpy().ravel() if dim is None else x.numpy(), p, dim)
    assert tensorlab.norm(x, p, dim).tolist() == pytest.approx(expected.tolist())
