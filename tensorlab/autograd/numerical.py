"""Derivatives by finite differences: what gradcheck holds the backward formulas against.

Nothing here knows of graphs.  An input is moved a little to both sides and the function is called each time; the
central difference (f(x + step) - f(x - step)) / (2 step) misses the derivative by O(step²), and by the rounding of f
divided by the step.  Chapter 24 plots the two errors against each other.

The input moves in its own memory, through `.data`: a function that reaches the tensor in another way than through its
arguments sees it move, its strides stay what they are, and no version is counted.  Afterwards it holds its old values
to the bit, also when the function raises.
"""

import functools
import itertools
from math import isfinite

from tensorlab._core.dtypes import BY_NAME
from tensorlab._tensor import Tensor
from tensorlab.errors import GradcheckError
from tensorlab.ops.creation import zeros

FLOAT64 = BY_NAME["float64"]


def as_tuple(value):
    """A tuple of what a function returned, or of the inputs that a user gave."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def function_name(func):
    """What to call a function in a report: `Square.apply`, `mul`, or the class of a callable object."""
    while isinstance(func, functools.partial):
        func = func.func
    owner = getattr(func, "__self__", None)
    name = getattr(func, "__name__", None)
    if isinstance(owner, type) and name:
        return f"{owner.__name__}.{name}"
    return name or type(func).__name__


def is_floating(x):
    return isinstance(x, Tensor) and x.is_floating_point()


class Evaluation:
    """A function at fixed inputs, called without arguments.

    Its floating outputs come without history and in memory of their own: of a function that returns a view, the
    result must not move with the input.  `positions` says which outputs of the function these are.
    """

    def __init__(self, func, inputs, positions) -> None:
        self.func, self.inputs, self.positions = func, inputs, positions

    def __call__(self):
        every = as_tuple(self.func(*self.inputs))
        return [every[position].detach().clone() for position in self.positions]


# ---------------------------------------------------------------- one difference
def central_difference(evaluate, place, step):
    """Return f(place + step) - f(place - step) for each output, and the distance of the two as it really was.

    Parameters
    ----------
    evaluate : Evaluation
    place : Tensor that shares the memory of an input: all of it, or one element
    step : number, or Tensor of the shape of `place`

    Returns
    -------
    list of Tensor; and float, the distance (0 for a `step` that rounding swallows), or None for a step in all elements
    """
    before = place.clone()
    try:
        lower, upper = before - step, before + step
        place.copy_(lower)
        low = evaluate()
        place.copy_(upper)
        high = evaluate()
    finally:
        place.copy_(before)
    check_same_kind(low, high)
    distance = None
    if place.dim() == 0 and not isinstance(step, Tensor):
        distance = (upper - lower).item()
        if not isfinite(distance):  # at nan or infinity, which no step leaves
            distance = 2 * step
    return [after - earlier for after, earlier in zip(high, low, strict=True)], distance


def check_same_kind(low, high):
    """Raise AssertionError, as PyTorch does, where an output changes its shape or dtype with the input's value."""
    for number, (one, other) in enumerate(zip(low, high, strict=True)):
        if one.shape != other.shape or one.dtype is not other.dtype:
            raise AssertionError(
                f"gradcheck: output {number} has shape {tuple(one.shape)} and {one.dtype} to one side of the input, "
                f"{tuple(other.shape)} and {other.dtype} to the other; only outputs of one shape can be differentiated"
            )


def elements(x):
    """Yield (index, 0-d view) for every element of a tensor, in row-major order."""
    data = x.data
    for index in itertools.product(*map(range, x.shape)):
        yield index, data[index]


# ---------------------------------------------------------------- derivatives
def numerical_jacobian(evaluate, x, eps) -> list:
    """Return the matrix of each output's derivatives by an input: entry (o, i) is d output[o] / d x[i].

    Parameters
    ----------
    evaluate : Evaluation
    x : Tensor, the input that is moved, one element at a time
    eps : float, how far to each side

    Returns
    -------
    list of Tensor, shape (elements of the output, elements of x), float64

    Raises
    ------
    GradcheckError
        If `x + eps` is `x` for an element: the dtype cannot hold so small a step there.
    """
    outputs = evaluate()
    matrices = [zeros(output.numel(), x.numel(), dtype=FLOAT64) for output in outputs]
    for column, (index, place) in enumerate(elements(x)):
        changes, distance = central_difference(evaluate, place, eps)
        if distance == 0:
            raise GradcheckError(
                f"gradcheck: eps is {eps}, and an input is {place.item()} at {list(index)}: in "
                f"{x.dtype} nothing lies so near to it. Use a larger eps, or float64"
            )
        for matrix, change in zip(matrices, changes, strict=True):
            matrix[:, column] = change.reshape(-1) / distance
    return matrices


def numerical_slope(evaluate, x, direction, eps):
    """Return, for each output, its derivative along a direction of the input: the product of Jacobian and direction.

    Two calls of the function do, however large the input.  `direction` has the shape of `x`.
    """
    changes, _ = central_difference(evaluate, x.data, direction * eps)
    return [change.reshape(-1) / (2 * eps) for change in changes]


def one_sided_slopes(evaluate, place, eps):
    """Return the slopes of each output to the left and to the right of an element: where they differ is a kink."""
    before = place.clone()
    values = []
    try:
        for step in (-eps, 0.0, eps):
            place.copy_(before + step)
            values.append(evaluate())
    finally:
        place.copy_(before)
    return [
        ((middle - left) / eps, (right - middle) / eps)
        for left, middle, right in zip(*values, strict=True)
    ]
