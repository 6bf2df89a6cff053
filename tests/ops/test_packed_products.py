"""Products in panels: sums, edges and layouts against float64, and what holds to the last bit."""

import numpy as np
import pytest

import tensorlab
from tensorlab import _build_info

pytestmark = pytest.mark.skipif(
    _build_info.capability == "baseline", reason="BLAS multiplies where FMA can't be relied on"
)

# Rows, inner, columns: below, at and above whole tiles, steps and chunks, for AVX-512 and for AVX2.
SIZES = [
    *[(4, 2, 33), (5, 34, 2), (7, 40, 49), (8, 256, 48), (9, 257, 24), (12, 40, 96), (33, 33, 33)],
    *[(15, 64, 47), (16, 300, 64), (17, 100, 65), (40, 515, 30), (6, 128, 128), (64, 8, 100)],
    *[(35, 20, 580), (9, 600, 1200)],
]
LAYOUTS = ["rows", "transposed", "stepped", "broadcast"]
TYPES = ["float32", "float64"]


def matrix(numbers, rows, columns, layout):
    """A matrix as rows, as the transpose of rows, with gaps in both directions, or of one row again and again."""
    if layout == "transposed":
        return numbers(columns, rows).T
    if layout == "stepped":
        return numbers(2 * rows, 3 * columns)[::2, ::3]
    return (
        numbers(1, columns).expand(rows, columns)
        if layout == "broadcast"
        else numbers(rows, columns)
    )


def whole_numbers(dtype):
    """Sums of their products are exact, so results must be equal."""
    rng = np.random.default_rng(0)
    return lambda *shape: tensorlab.from_numpy(rng.integers(-4, 5, shape).astype(dtype))


def normal_numbers(dtype):
    rng = np.random.default_rng(0)
    return lambda *shape: tensorlab.from_numpy(rng.standard_normal(shape).astype(dtype))


@pytest.fixture
def threads():
    before = tensorlab.get_num_threads()
    yield tensorlab.set_num_threads
    tensorlab.set_num_threads(before)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("sizes", SIZES)
def test_sums_are_exact_in_every_layout(sizes, dtype):
    n, m, p = sizes
    for x_layout in LAYOUTS:
        for y_layout in LAYOUTS:
            numbers = whole_numbers(dtype)
            x, y = matrix(numbers, n, m, x_layout), matrix(numbers, m, p, y_layout)
            expected = x.numpy().astype("float64") @ y.numpy().astype("float64")
            np.testing.assert_array_equal((x @ y).numpy(), expected, f"{x_layout} @ {y_layout}")
            bias = numbers(p)
            added = tensorlab.addmm(bias, x, y, beta=3, alpha=2).numpy()
            np.testing.assert_array_equal(
                added, 3 * bias.numpy() + 2 * expected, f"{x_layout} @ {y_layout}"
            )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("rows", [2, 3, 4, 5, 6, 9, 13, 31, 70])
def test_equal_rows_have_equal_products(rows, is_transposed, dtype):
    numbers = normal_numbers(dtype)
    for inner in (3, 16, 33, 128, 600):
        for columns in (4, 7, 17, 32, 65, 128, 200):
            x = numbers(1, inner).expand(rows, inner).contiguous()
            y = numbers(columns, inner).t() if is_transposed else numbers(inner, columns)
            product = x @ y
            assert product.equal(product[:1].expand_as(product)), (inner, columns)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_part_of_a_product_is_the_product_of_a_part(dtype):
    numbers = normal_numbers(dtype)
    x, y = numbers(70, 333), numbers(333, 210)
    whole = x @ y
    for first, last in ((0, 4), (3, 40), (50, 70)):
        assert (x[first:last] @ y).equal(whole[first:last])
        assert (x @ y[:, 3 * first : 3 * last]).equal(whole[:, 3 * first : 3 * last])
    assert (x.t().contiguous().t() @ y).equal(whole)
    assert (x @ y.t().contiguous().t()).equal(whole)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "sizes", [(33, 300, 100), (100, 300, 33), (257, 64, 65), (5, 2000, 66), (300, 200, 5)]
)
def test_threads_do_not_change_a_bit(threads, sizes, dtype):
    numbers = normal_numbers(dtype)
    n, m, p = sizes
    for x_layout in LAYOUTS[:3]:
        x, y = matrix(numbers, n, m, x_layout), matrix(numbers, m, p, "transposed")
        threads(1)
        one = x @ y
        for many in (2, 3, 7):
            threads(many)
            assert (x @ y).equal(one)


@pytest.mark.parametrize("dtype", TYPES)
def test_what_the_result_held_does_not_count_unless_it_is_added(dtype):
    numbers = normal_numbers(dtype)
    x, y = numbers(13, 300), numbers(300, 65)
    out = tensorlab.full((13, 65), float("nan"), dtype=x.dtype)
    assert tensorlab.mm(x, y, out=out).equal(x @ y)
    assert tensorlab.addmm(out * float("nan"), x, y, beta=0).equal(x @ y)
    assert tensorlab.addmm(out * float("nan"), x, y).isnan().all()


def test_a_nan_or_an_infinity_stays_in_its_row_and_column():
    numbers = normal_numbers("float32")
    x, y = numbers(19, 50), numbers(50, 70)
    x[18, 3], y[4, 69] = float("nan"), float("inf")
    product = x @ y
    assert product[18].isnan().all()
    assert product[:18, :69].isfinite().all()
    assert product[:18, 69].isinf().all()
