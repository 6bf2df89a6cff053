"""Depthwise convolution by 3 x 3 kernels, whose rows are computed several at a time, against the definition."""

import numpy as np
import pytest

from tests.ops.convolution_oracle import (
    definition,
    numbers_for,
    results,
    settings_of,
    whole_numbers,
)

CASES = {  # input, out_channels, kernel, stride, padding, dilation, groups
    **{
        f"{rows} x {columns}": ((2, 3, rows, columns), 6, (3, 3), 1, 1, 1, 3)
        for rows in (1, 3, 4, 5, 11)
        for columns in (1, 15, 16, 17, 33)
    },
    "without padding": ((2, 3, 9, 20), 3, (3, 3), 1, 0, 1, 3),
    "much padding": ((2, 3, 4, 5), 3, (3, 3), 1, (3, 2), 1, 3),
    "volume": ((2, 3, 4, 9, 8), 3, (1, 3, 3), 1, (0, 1, 1), 1, 3),
    "deep kernel": ((2, 3, 4, 9, 8), 3, (3, 3, 3), 1, 1, 1, 3),
    "dilation": ((2, 3, 9, 10), 3, (3, 3), 1, 1, (1, 2), 3),
    "stride": ((2, 3, 9, 10), 3, (3, 3), (1, 2), 1, 1, 3),
    "signal": ((2, 3, 40), 3, (3,), 1, 1, 1, 3),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_whole_numbers_give_exact_sums(name, dtype):
    case = CASES[name]
    numbers = numbers_for(case, whole_numbers())
    ours = results(*numbers, dtype, **settings_of(case))
    for mine, right in zip(ours, definition(*numbers, *case[3:]), strict=True):
        np.testing.assert_array_equal(mine, right)


def test_an_infinity_reaches_only_those_who_see_it():
    case = CASES["11 x 17"]
    x, weight, grad = numbers_for(case, whole_numbers())
    weight[weight == 0] = 1
    x[1, 2, 5, 16] = np.inf
    out = results(x, weight, grad, "float32", **settings_of(case))[0]
    np.testing.assert_array_equal(out, definition(x, weight, grad, *case[3:])[0])
    seen = np.zeros_like(out, dtype=bool)
    seen[1, 4:, 4:7, 15:] = True
    assert np.isinf(out[seen]).all()
    assert np.isfinite(out[~seen]).all()
