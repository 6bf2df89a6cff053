"""Derivatives up to the fifth order, at points where a formula would have 0 * inf."""

import math

import pytest

import tensorlab


def derivatives(function, points, orders):
    """The derivatives of each element, order by order."""
    x = tensorlab.tensor(points, dtype=tensorlab.float64, requires_grad=True)
    y, found = function(x), []
    for _ in range(orders):
        (y,) = tensorlab.autograd.grad(y.sum(), x, create_graph=True)
        found.append(y.tolist())
    return found


def of_power(x, exponent, order):
    return math.prod(exponent - k for k in range(order)) * x ** max(exponent - order, 0)


@pytest.mark.parametrize("power", [tensorlab.pow, tensorlab.float_power])
@pytest.mark.parametrize("exponents", [[0.0, 1.0, 2.0, 3.0, 4.0], [0, 1, 2, 3, 4], 2.0, 0])
@pytest.mark.parametrize("point", [0.0, 2.0])
def test_powers_with_a_tensor_as_exponent_are_those_of_products(power, exponents, point):
    whole = exponents if isinstance(exponents, list) else [exponents]
    found = derivatives(lambda x: power(x, tensorlab.tensor(exponents)), [point] * len(whole), 5)
    for order, values in enumerate(found, start=1):
        assert values == [of_power(point, n, order) for n in whole], order


@pytest.mark.parametrize("base", [0, 0.0, tensorlab.zeros(2, dtype=tensorlab.float64)])
def test_powers_of_zero_are_constant_where_the_exponent_is_positive(base):
    for values in derivatives(lambda x: base**x, [1.0, 2.0], 5):
        assert values == [0, 0]
    assert derivatives(lambda x: 0.0**x, [0.0], 1) == [[0]]


def test_a_negative_power_of_zero_falls_without_limit():
    assert derivatives(lambda x: 0**x, [-1.0], 1) == [[-math.inf]]


def test_base_and_exponent_together():
    """x ** x has the derivatives 1, 2, 3, 8, 10 at 1: also the mixed ones count."""
    found = [value for (value,) in derivatives(lambda x: x**x, [1.0], 5)]
    assert found == pytest.approx([1, 2, 3, 8, 10])


def test_the_mixed_derivative_of_a_power_whose_exponent_is_zero():
    x = tensorlab.tensor([4.0], requires_grad=True)
    exponent = tensorlab.tensor([0.0], requires_grad=True)
    (slope,) = tensorlab.autograd.grad((x**exponent).sum(), x, create_graph=True)
    assert slope.item() == 0
    (mixed,) = tensorlab.autograd.grad(slope.sum(), exponent)
    assert mixed.item() == 0.25


def test_the_slope_of_xlogy_at_zero_is_the_logarithm():
    """0 only where that is no number."""
    y = tensorlab.tensor([-1.0, 0.0, 1.0, 2.0], dtype=tensorlab.float64)
    (slopes,) = derivatives(lambda x: tensorlab.xlogy(x, y), [0.0] * 4, 1)
    assert slopes == [0, 0, 0, math.log(2)]
    (slopes,) = derivatives(lambda x: tensorlab.xlogy(x, 2), [0.0, 3.0], 1)
    assert slopes == [math.log(2)] * 2
