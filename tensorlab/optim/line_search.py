"""A line search: how far to go along a direction, so that the loss falls enough and the slope gets flat enough.

Source: Nocedal and Wright 2006, "Numerical Optimization", algorithms 3.5 and 3.6; the cubic: equation 3.59.
"""

import math
from dataclasses import dataclass

from .._tensor import Tensor

__all__ = ["strong_wolfe"]

ENOUGH_FALL, ENOUGH_FLAT = 1e-4, 0.9  # c1 and c2 of the Wolfe conditions
SMALLEST_INTERVAL = 1e-9


@dataclass
class Point:
    """A distance, with loss, gradient and slope there."""

    t: float
    loss: float
    grad: Tensor
    slope: float


def minimum_of_cubic(a, b, bounds=None):
    """Return where the cubic through two points and their slopes is least, within bounds."""
    low, high = bounds if bounds is not None else sorted((a.t, b.t))
    d1 = a.slope + b.slope - 3 * divided(a.loss - b.loss, a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:  # no minimum; or a loss that is not a number
        return (low + high) / 2
    if a.t > b.t:
        a, b = b, a
    d2 = square**0.5
    share = divided(b.slope + d2 - d1, b.slope - a.slope + 2 * d2)
    least = b.t - (b.t - a.t) * share
    return (low + high) / 2 if math.isnan(least) else min(max(least, low), high)


def divided(x, y):
    """Return x / y; by zero an infinity, as where a loss is a straight line and its least place infinitely far."""
    if y != 0:
        return x / y
    return math.copysign(math.inf, x) * math.copysign(1.0, y) if x != 0 else math.nan


def strong_wolfe(look, t, direction, loss, grad, slope, most=25):
    """Find a distance that fulfils the strong Wolfe conditions.

    Parameters
    ----------
    look : function from a distance to the loss and the gradient there
    t : float, the first distance to try
    direction : Tensor, 1-d
    loss, grad, slope : those at distance 0
    most : int, evaluations

    Returns
    -------
    tuple: loss, gradient, distance, number of evaluations
    """
    start = Point(0, loss, grad.clone(), slope)

    def at(t):
        loss, grad = look(t)
        return Point(t, loss, grad.clone(), grad.dot(direction).item())

    def falls_too_little(point):
        return point.loss > start.loss + ENOUGH_FALL * point.t * start.slope

    def is_flat(point):
        return abs(point.slope) <= -ENOUGH_FLAT * start.slope

    last, point, count, tries = start, at(t), 1, 0
    bracket, is_done = None, False
    while tries < most:
        if falls_too_little(point) or (tries > 1 and point.loss >= last.loss):
            bracket = [last, point]
            break
        if is_flat(point):
            bracket, is_done = [point], True
            break
        if point.slope >= 0:
            bracket = [last, point]
            break
        bounds = point.t + 0.01 * (point.t - last.t), point.t * 10
        ahead = minimum_of_cubic(last, point, bounds)
        last, point = point, at(ahead)
        count, tries = count + 1, tries + 1
    if bracket is None:
        bracket = [start, point]
    return narrow(bracket, is_done, at, falls_too_little, is_flat, direction, count, tries, most)


def narrow(bracket, is_done, at, falls_too_little, is_flat, direction, count, tries, most):
    """Make an interval smaller until a point in it fulfils the conditions."""
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    is_stuck, longest = False, direction.abs().max().item()
    while not is_done and tries < most:
        if abs(bracket[1].t - bracket[0].t) * longest < SMALLEST_INTERVAL:
            break
        t = minimum_of_cubic(*bracket)
        left, right = sorted(point.t for point in bracket)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if is_stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                is_stuck = False
            else:
                is_stuck = True
        else:
            is_stuck = False
        point = at(t)
        count, tries = count + 1, tries + 1
        if falls_too_little(point) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        else:
            if is_flat(point):
                is_done = True
            elif point.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = point
    best = bracket[low if len(bracket) > 1 else 0]
    return best.loss, best.grad, best.t, count
