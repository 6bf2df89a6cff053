"""The n-d walk: whatever the layout of the operands, an op gives what NumPy gives on copies of them."""

import numpy as np
import pytest

import tensorlab as tl

TYPES = ["bool", "uint8", "int16", "int32", "int64", "float32", "float64"]
ROWS_AND_COLUMNS = [(1, 1), (3, 5), (8, 8), (16, 33), (17, 31), (40, 300), (130, 520), (300, 2100)]


def numbers(rng, shape, dtype="float32"):
    return rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("rows", "columns"), ROWS_AND_COLUMNS)
def test_a_transposed_operand_is_copied_in_its_new_order(rows, columns, dtype):
    x = numbers(np.random.default_rng(0), (columns, rows), dtype)
    assert np.array_equal(tl.from_numpy(x).t().contiguous().numpy(), x.T)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "complex128"])
def test_a_transposed_copy_past_the_caches_is_whole(dtype):
    columns = 2**10 + 64  # whole cache lines, and 8 MiB in all
    rows = 2**23 // np.dtype(dtype).itemsize // columns + 3
    x = numbers(np.random.default_rng(0), (columns, rows), dtype)
    assert np.array_equal(tl.from_numpy(x).t().contiguous().numpy(), x.T)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("rows", "columns"), ROWS_AND_COLUMNS)
def test_a_column_meets_every_element_of_its_row(rows, columns, dtype):
    rng = np.random.default_rng(1)
    x, column = numbers(rng, (rows, columns)), numbers(rng, (rows, 1), dtype)
    expected = x + column.astype("float32")
    assert np.array_equal((tl.from_numpy(x) + tl.from_numpy(column)).numpy(), expected)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("rows", "columns"), ROWS_AND_COLUMNS)
def test_a_row_meets_every_row(rows, columns, dtype):
    rng = np.random.default_rng(2)
    x, row = numbers(rng, (rows, columns)), numbers(rng, columns, dtype)
    expected = x + row.astype("float32")
    assert np.array_equal((tl.from_numpy(x) + tl.from_numpy(row)).numpy(), expected)


@pytest.mark.parametrize("columns", [7, 64, 300, 5000])
def test_rows_that_lie_apart_take_a_column_and_a_number(columns):
    rng = np.random.default_rng(3)
    wide, column = numbers(rng, (40, columns + 3)), numbers(rng, (40, 1))
    x = tl.from_numpy(wide)[:, :columns]
    result = tl.where(x > tl.from_numpy(column), x, 0.5)
    part = wide[:, :columns]
    assert np.array_equal(result.numpy(), np.where(part > column, part, np.float32(0.5)))


def test_windows_that_overlap_are_written_one_after_the_other():
    x = tl.zeros(5)
    x.as_strided((2, 3), (2, 1)).copy_(tl.arange(6.0).view(2, 3))
    assert x.tolist() == [0, 1, 3, 4, 5]
    x.as_strided((3, 2), (1, 2)).copy_(tl.arange(6.0).view(3, 2))
    assert x.tolist() == [0, 2, 1, 3, 5]


def test_three_transposed_dimensions_and_a_step():
    x = numbers(np.random.default_rng(4), (20, 34, 18), "int64")
    y = tl.from_numpy(x)[:, ::2].permute(2, 1, 0)
    assert np.array_equal((y + 1).numpy(), x[:, ::2].transpose(2, 1, 0) + 1)
    assert np.array_equal(y.contiguous().numpy(), x[:, ::2].transpose(2, 1, 0))


@pytest.mark.parametrize("columns", [63, 64, 100, 3000])
@pytest.mark.parametrize(("source", "target"), [("float32", "float64"), ("float64", "float32")])
def test_rows_that_lie_apart_take_a_number_or_a_row_of_another_type(columns, source, target):
    for value in (np.array(1.5), np.arange(columns) / 4, np.arange(7 * columns).reshape(7, -1)):
        value = value.astype(source)
        wide = tl.full((7, columns + 9), -1.0, dtype=getattr(tl, target))
        wide[:, :columns].copy_(tl.from_numpy(value))
        expected = np.full(wide.shape, -1, target)
        expected[:, :columns] = value
        assert np.array_equal(wide.numpy(), expected)
