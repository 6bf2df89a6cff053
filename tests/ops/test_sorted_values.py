"""Sorted values without indices against the sort with indices, which keeps every bit."""

import numpy
import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab

SIZES = [0, 1, 2, 3, 40, 41, 1000, 5001]
DTYPES = ["float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64"]


def numbers(n, dtype, seed=0):
    """n numbers with many equal ones, among them nan, infinities, 0 and -0 if they are floating."""
    rng = numpy.random.default_rng(seed)
    x = rng.integers(-50, 50, n).astype("float64")
    dtype = getattr(tensorlab, dtype)
    if dtype.is_floating_point:
        x += rng.integers(0, 4, n) / 4
        x[rng.random(n) < 0.05] = numpy.nan
        x[rng.random(n) < 0.05] = numpy.inf
        x[rng.random(n) < 0.05] = -numpy.inf
    return (
        tensorlab.from_numpy(x).abs().to(dtype)
        if dtype is tensorlab.uint8
        else tensorlab.from_numpy(x).to(dtype)
    )


def assert_same_bits(x, y):
    assert x.dtype == y.dtype
    assert x.shape == y.shape
    x, y = x.float().numpy(), y.float().numpy()
    numpy.testing.assert_array_equal(x, y)
    number = ~numpy.isnan(x)
    numpy.testing.assert_array_equal(numpy.signbit(x)[number], numpy.signbit(y)[number])


@pytest.mark.parametrize("zero", ["plain", "both"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_msort_gives_the_values_of_sort(n, dtype, zero):
    x = numbers(n, dtype)
    if zero == "both" and x.dtype.is_floating_point:
        x[::3] = 0.0
        x[1::5] = -0.0
    assert_same_bits(tensorlab.msort(x), x.sort(0)[0])


def test_msort_takes_any_strides_and_leaves_its_input():
    for x in (
        numbers(60, "float32").reshape(4, 15).t(),
        numbers(60, "float32").reshape(4, 15)[:, ::2],
        numbers(6, "float32").expand(4, 6).t(),
        numbers(60, "int64").reshape(3, 4, 5).permute(2, 0, 1),
        tensorlab.tensor([True, False, True]),
        tensorlab.tensor(3.0),
        tensorlab.zeros(3, 0),
    ):
        before, values = x.clone(), tensorlab.msort(x)
        assert_same_bits(values, x.sort(0)[0])
        assert values.stride() == x.sort(0)[0].stride()
        assert_same_bits(x, before)


def test_msort_that_autograd_follows_has_the_node_of_sort():
    x = tensorlab.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values = tensorlab.msort(x)
    values.backward(tensorlab.tensor([1.0, 10.0, 100.0]))
    assert x.grad.tolist() == [100.0, 1.0, 10.0]
    assert "Sort" in values.grad_fn.name()
    assert tensorlab.msort(x.detach()).grad_fn is None


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("n", [41, 1000, 5001])
def test_values_that_differ_in_all_bits_are_sorted(n, dtype):
    bits = numpy.random.default_rng(n).integers(-(2**63), 2**63, n, dtype="int64")
    x = tensorlab.from_numpy(bits.view(dtype).copy())
    assert_same_bits(tensorlab.msort(x), x[x.argsort()])
    for k in (1, n // 3, n):
        value, index = x.kthvalue(k)
        assert index == x.argsort()[k - 1]
        assert_same_bits(value, x[index])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES[1:])
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_the_median_stands_in_the_middle_of_a_stable_sort(name, n, dtype):
    for seed in range(3):
        x = numbers(n, dtype, seed)
        for y in (x, x.nan_to_num(-0.0, 0.0, -0.0), -x.abs().clamp(max=1)):
            values, indices = y.sort(0)
            count = n - int(values.isnan().sum())
            skips = count == n or (name == "nanmedian" and count > 0)
            rank = (count - 1) // 2 if skips else count  # else the first nan
            value, index = getattr(y, name)(0)
            assert index == indices[rank]
            assert_same_bits(value, values[rank])
            assert_same_bits(getattr(y, name)(), value)


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_a_nan_is_the_median_unless_it_is_skipped(name):
    nan = float("nan")
    for values, skipped in (
        ([nan, 1.0, 2.0, 3.0], 2.0),
        ([nan, nan], nan),
        ([nan], nan),
        ([4.0, nan], 4.0),
    ):
        result = getattr(tensorlab.tensor(values), name)()
        expected = skipped if name == "nanmedian" else nan
        numpy.testing.assert_equal(result.item(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_unique_has_the_same_values_whatever_else_is_asked(n, dtype):
    x = numbers(n, dtype)
    values = tensorlab.unique(x)
    both, counts = tensorlab.unique(x, return_counts=True)
    all_values, inverse, all_counts = tensorlab.unique(x, return_inverse=True, return_counts=True)
    assert_same_bits(values, all_values)
    assert_same_bits(both, all_values)
    assert counts.tolist() == all_counts.tolist()
    assert counts.sum().item() == n
    assert_same_bits(all_values[inverse], x)


@pytest.mark.parametrize("n", [32, 33, 128, 129, 512, 513])
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("far", [0, 1, 20])
def test_a_short_line_of_which_few_are_far_from_the_others_is_sorted_stably(n, dtype, far):
    generator = numpy.random.default_rng(n)
    x = generator.integers(0, 60, (3, n)).astype(dtype)
    x[:, :far] = generator.integers(20_000, 32_000, (3, far))
    for descending in (False, True):
        values, indices = tensorlab.from_numpy(x).sort(descending=descending)
        order = (-x if descending else x).argsort(1, kind="stable")
        numpy.testing.assert_array_equal(indices.numpy(), order)
        numpy.testing.assert_array_equal(values.numpy(), numpy.take_along_axis(x, order, 1))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("spread", [0, 1, 255, 256, 300, 65535, 65536, 2**64 - 1])
def test_whole_numbers_close_together_or_far_apart_have_the_unique_ones_of_numpy(dtype, spread):
    info = numpy.iinfo("uint8" if dtype == "bool" else dtype)
    span = min(spread, 1 if dtype == "bool" else info.max - info.min)
    for least in (info.min, info.max - span) if dtype != "bool" else (0,):
        for n in (1, 300, 70_000 if spread == 65535 else 2000):
            steps = numpy.random.default_rng(0).integers(0, span, n, "uint64", endpoint=True)
            steps[[0, -1]] = 0, span
            x = (steps + numpy.uint64(least % 2**64)).astype(dtype)
            found = tensorlab.unique(
                tensorlab.from_numpy(x), return_inverse=True, return_counts=True
            )
            expected = numpy.unique(x, return_inverse=True, return_counts=True)
            for one, other in zip(found, expected, strict=True):
                numpy.testing.assert_array_equal(one.numpy(), other, strict=True)


def test_quantile_has_the_same_value_followed_or_not():
    x = numbers(501, "float32").nan_to_num().reshape(3, 167)
    for dim in (None, 0, 1):
        ours = tensorlab.quantile(x, 0.3, dim)
        followed = tensorlab.quantile(x.clone().requires_grad_(), 0.3, dim)
        assert_same_bits(ours, followed.detach())
        numpy.testing.assert_allclose(
            ours.numpy(), numpy.quantile(x.numpy().astype("float64"), 0.3, dim), rtol=1e-5
        )


def test_the_op_differentiates_as_the_sort_does():
    x = numbers(60, "float64").nan_to_num().reshape(3, 20).requires_grad_()
    weights = tensorlab.rand(3, 20, dtype=tensorlab.float64)
    for dim in (0, 1):
        (ours,) = tensorlab.autograd.grad(REGISTRY["sorted_values"](x, dim), x, weights)
        (theirs,) = tensorlab.autograd.grad(x.sort(dim, stable=True).values, x, weights)
        assert_same_bits(ours, theirs)
