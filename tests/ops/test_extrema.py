"""Where the extreme of a long line stands, which is looked for a stretch at a time."""

import numpy
import pytest

import tensorlab

STRETCH = 4096
SIZES = [1, 63, 64, 100, STRETCH - 1, STRETCH, STRETCH + 1, 3 * STRETCH + 77]
DTYPES = ["float32", "float64", "uint8", "int16", "int64"]


def check(x):
    """Compare with NumPy, which also chooses the first of equal elements and the first nan."""
    ours = tensorlab.from_numpy(x)
    for name, index in (("max", numpy.argmax(x)), ("min", numpy.argmin(x))):
        values, indices = getattr(ours, name)(0)
        assert indices.item() == index
        numpy.testing.assert_equal(values.item(), x[index].item())
        assert getattr(ours, "arg" + name)().item() == index


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_the_index_is_that_of_the_first_extreme(n, dtype):
    rng = numpy.random.default_rng(n)
    check(rng.integers(0, 200, n).astype(dtype))
    check(rng.integers(0, 2, n).astype(dtype))
    check(numpy.full(n, 7, dtype))
    for at in {0, n // 2, n - 1, min(STRETCH - 1, n - 1), min(STRETCH, n - 1)}:
        for value in (0, 9):
            x = numpy.full(n, 5, dtype)
            x[at] = value
            x[at + 1 :: 3] = value
            check(x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", SIZES)
def test_the_index_is_that_of_the_first_nan(n, dtype):
    rng = numpy.random.default_rng(n)
    for at in {0, n // 2, n - 1, min(STRETCH, n - 1)}:
        x = rng.standard_normal(n).astype(dtype)
        x[0], x[n // 3], x[-1] = numpy.inf, -numpy.inf, numpy.inf
        x[at] = numpy.nan
        x[at + 1 :: 5] = numpy.nan
        check(x)


@pytest.mark.parametrize("n", [5, 200, 2 * STRETCH + 3])
def test_the_value_is_the_element_at_the_index_to_its_sign(n):
    x = numpy.zeros(n, "float32")
    x[::2] = -0.0
    for name in ("max", "min"):
        values, indices = getattr(tensorlab.from_numpy(x), name)(0)
        assert indices.item() == 0
        assert numpy.signbit(values.numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64"])
def test_rows_of_every_length_have_numpys_extremes_and_indices(dtype):
    rng = numpy.random.default_rng(5)
    for n in range(1, 200):
        values = rng.integers(-9, 9, (3, n)).astype(dtype)  # with equal ones
        if dtype.startswith("float"):
            values[0, rng.integers(n)] = numpy.nan
            values[0, rng.integers(n)] = numpy.nan
        x = tensorlab.tensor(values)
        for ours, theirs in ((x.argmax, values.argmax), (x.argmin, values.argmin)):
            assert ours(1).tolist() == theirs(1).tolist(), n
            assert [ours().item(), ours(0).tolist()] == [theirs(), theirs(0).tolist()], n
        assert numpy.array_equal(x.amax(1).numpy(), values.max(1), equal_nan=True), n
        assert numpy.array_equal(x[1:].min().numpy(), values[1:].min()), n
