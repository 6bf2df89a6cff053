"""Derivatives of x ** y at x = 0, of every order and by both: they are the limits for x -> 0 from above."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import tensorlab
from tensorlab.func import grad

ORDERS = [places for order in range(1, 5) for places in product((0, 1), repeat=order)]


def limit(y, k, n):
    """The limit of the k-th derivative by x and n-th by y, by the closed form, in fractions."""
    coefficients = [Fraction(1)]
    for i in range(k):  # times (y - i + t), as polynomials of t
        factor = Fraction(y) - i
        coefficients = [
            factor * a + b for a, b in zip([*coefficients, 0], [0, *coefficients], strict=True)
        ]
    terms = [(n - j, a) for j, a in enumerate(coefficients[: n + 1]) if a]  # power of the logarithm
    if y > k or not terms:
        return 0.0
    power, leading = max(terms)
    if power == 0 and y == k:
        return float(leading) * float(np.prod(range(1, n + 1)))
    return np.inf * np.sign(float(leading)) * (-1) ** power


@pytest.mark.parametrize("y", [0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 4.0])
def test_all_orders(y):
    wrong = []
    for places in ORDERS:
        k, n = places.count(0), places.count(1)
        if y == 0 and k == 0:
            continue  # 0 ** y jumps there; its slope is 0 by convention
        function = lambda x, y: x**y
        for place in places:
            function = grad(function, place)
        found = function(*[tensorlab.tensor(one, dtype=tensorlab.float64) for one in (0.0, y)])
        if found.item() != limit(y, k, n):
            wrong.append((places, found.item(), limit(y, k, n)))
    assert not wrong


def test_elsewhere_they_are_those_of_exp_and_log():
    x = tensorlab.tensor([0.3, 1.7, 2.5], dtype=tensorlab.float64)
    y = tensorlab.tensor([2.0, -1.3, 0.5], dtype=tensorlab.float64)
    for places in ORDERS:
        power, other = lambda x, y: (x**y).sum(), lambda x, y: (y * x.log()).exp().sum()
        for place in places:
            power, other = [
                lambda x, y, f=one, place=place: grad(lambda x, y: f(x, y).sum(), place)(x, y)
                for one in (power, other)
            ]
        np.testing.assert_allclose(power(x, y).numpy(), other(x, y).numpy(), rtol=1e-9, atol=1e-12)
