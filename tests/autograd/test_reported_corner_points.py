"""Gradients at corner points that PyTorch's users reported: 0, infinity, ties, several zeros.

Where a function has a kink any slope between the two sides is a subgradient; PyTorch 2.13's choice is
the reference. Each case runs with tensorlab and with PyTorch, but for those of the second table, where
PyTorch gives nan, a wrong number or nothing. Numbers are those of issues and pull requests at
github.com/pytorch/pytorch; where one of them asks for another slope than PyTorch 2.13 has, the comment
says so.
"""

import math

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

INF, NAN = math.inf, math.nan


def gradient(T, function, values):
    x = T.tensor(values, requires_grad=True)
    function(T, x).sum().backward()
    return x.grad.tolist()


def second_gradient(T, function, values):
    """The gradient of 1 g[0] + 2 g[1] + ..., where g is the gradient."""
    x = T.tensor(values, dtype=T.float64, requires_grad=True)
    (grad,) = T.autograd.grad(function(T, x).sum(), x, create_graph=True)
    weights = T.arange(1.0, grad.numel() + 1, dtype=T.float64)
    return (T.autograd.grad((grad * weights).sum(), x)[0] + 0).tolist()


# name: function, where, gradient there
CASES = {
    # ------------------------------------------------------------ where
    # The branch that is not taken gets a gradient of 0, and 0 times an infinite slope is nan: #9391,
    # #12986, #15506, #16317, #18287, #23395, #36923, #52248, #108618, #156212, #187297. No engine that
    # multiplies slopes can tell "zero" from "nothing"; the way out is the case "where, both safe".
    "where, sqrt of what is negative": (
        lambda T, x: T.where(x > 0, T.sqrt(x), x),
        [-1.0, -4.0],
        [NAN, NAN],
    ),
    "where, sqrt at 0": (
        lambda T, x: T.where(x == 0, x / 2, x.sqrt() + 1),
        [16.0, 0.0],
        [0.125, NAN],
    ),
    "where, cos of inf": (
        lambda T, x: T.where(x < 1, T.cos(x), T.zeros_like(x)),
        [0.0, INF],
        [0.0, NAN],
    ),
    "where, log at 0": (
        lambda T, x: T.where(x > 2, T.log2(x), 2 * x),
        [0.0, 2.0],
        [NAN, 2.0],
    ),
    "where, division by 0": (
        lambda T, x: T.where(T.tensor([True, False]), T.zeros(2), x / T.tensor([0.0, 2.0])),
        [0.0, 1.0],
        [NAN, 0.5],
    ),
    "where, both safe": (
        lambda T, x: T.where(x > 0, T.sqrt(T.where(x > 0, x, T.ones_like(x))), x),
        [-1.0, 4.0],
        [1.0, 0.25],
    ),
    "a mask reads only what it takes": (  # the second way out, of #108618 and #156212
        lambda T, x: x[x > 0].sqrt(),
        [-1.0, 4.0, 0.0],
        [0.0, 0.25, 0.0],
    ),
    "a quotient that is not used": (  # 26799
        lambda T, x: (x / T.tensor([1.0, 0.0]))[0],
        [1.0, 1.0],
        [1.0, NAN],
    ),
    # ------------------------------------------------------------ clamp and its relatives
    "clamp": (  # 1 at the bounds since #7002 and #7049; #184572 asks for 0
        lambda T, x: x.clamp(0, 1),
        [-1.0, 0.0, 0.5, 1.0, 2.0],
        [0.0, 1.0, 1.0, 1.0, 0.0],
    ),
    "clamp of one bound": (lambda T, x: x.clamp_min(0), [-1.0, 0.0, 1.0], [0.0, 1.0, 1.0]),
    "clamp between tensors": (  # 52695
        lambda T, x: x.clamp(T.zeros(3), T.ones(3)),
        [0.0, 1.0, 2.0],
        [1.0, 1.0, 0.0],
    ),
    "clamp by its bound": (  # 52695
        lambda T, bound: T.zeros(3).clamp(min=bound),
        [-1.0, 0.0, 1.0],
        [0.0, 0.0, 1.0],
    ),
    "clamp with min above max": (lambda T, x: x.clamp(2, 1), [0.0, 1.5, 3.0], [0.0, 0.0, 0.0]),
    "clamp of inf": (lambda T, x: x.clamp(max=1), [INF, -INF], [0.0, 1.0]),
    "clamp of nan": (lambda T, x: x.clamp(0, 1), [NAN, 0.5], [0.0, 1.0]),
    "clamp of an exponential that overflows": (  # 10729: 0 * inf once more
        lambda T, x: x.exp().clamp(max=1),
        [0.0, 100.0],
        [1.0, NAN],
    ),
    "the same with the bound inside": (
        lambda T, x: x.clamp(max=0).exp(),
        [0.0, 100.0],
        [1.0, 0.0],
    ),
    "hardtanh": (  # 184574: the same function as clamp(-1, 1), and 0 at its bounds
        lambda T, x: T.nn.functional.hardtanh(x),
        [-1.0, 0.0, 1.0],
        [0.0, 1.0, 0.0],
    ),
    "relu": (lambda T, x: x.relu(), [-1.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
    "maximum": (  # 56734: it was 1 for the first of two equals
        lambda T, x: T.maximum(x, T.zeros(3)),
        [-1.0, 0.0, 1.0],
        [0.0, 0.5, 1.0],
    ),
    # ------------------------------------------------------------ max and its relatives: ties
    "max": (lambda T, x: x.max(), [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),  # 43519
    "min": (lambda T, x: x.min(), [1.0, 2.0, 1.0], [0.5, 0.0, 0.5]),  # 43519
    "amax": (lambda T, x: x.amax(), [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),
    "max along a dimension": (  # 155048: the index that is returned, in spite of the documentation
        lambda T, x: x.max(0).values,
        [2.0, 2.0, 1.0],
        [1.0, 0.0, 0.0],
    ),
    "max of two infinities": (lambda T, x: x.max(), [INF, INF, 1.0], [0.5, 0.5, 0.0]),
    "max with nan": (lambda T, x: x.max(), [NAN, 2.0, 1.0], [1.0, 0.0, 0.0]),
    "median": (lambda T, x: x.median(), [2.0, 2.0, 5.0, 1.0], [0.5, 0.5, 0.0, 0.0]),  # 43519
    "nanmedian": (lambda T, x: x.nanmedian(), [NAN, 2.0, 2.0], [0.0, 0.5, 0.5]),  # 45847
    # ------------------------------------------------------------ products
    "prod": (lambda T, x: x.prod(), [2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
    "prod with a zero": (lambda T, x: x.prod(), [2.0, 0.0, 4.0], [0.0, 8.0, 0.0]),  # 773
    "prod with two": (lambda T, x: x.prod(), [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]),  # 773
    "prod of one zero": (lambda T, x: x.prod(0), [0.0], [1.0]),  # 82644
    "prod of nothing": (lambda T, x: x.prod(), [], []),
    "prod of rows": (
        lambda T, x: x.prod(1),
        [[2.0, 0.0], [0.0, 0.0], [3.0, 4.0]],
        [[0.0, 2.0], [0.0, 0.0], [4.0, 3.0]],
    ),
    "prod of 0 and inf": (lambda T, x: x.prod(), [0.0, INF], [INF, 0.0]),
    "prod of huge factors and three zeros": (  # 194699: nan through torch.func
        lambda T, x: x.prod(),
        [1e13, 0.0, 0.0, 1e13, 1e13, 0.0, 1e13, 1e13, 1e13],
        [0.0] * 9,
    ),
    "cumprod with a zero": (  # 1439, 174016
        lambda T, x: x.cumprod(0),
        [2.0, 0.0, 3.0],
        [1.0, 8.0, 0.0],
    ),
    "cumprod with two": (
        lambda T, x: x.cumprod(0),
        [0.0, 2.0, 0.0, 3.0],
        [3.0, 0.0, 0.0, 0.0],
    ),
    # ------------------------------------------------------------ norms
    "norm at 0": (lambda T, x: x.norm(), [0.0, 0.0], [0.0, 0.0]),  # 2421, 2775
    "the same by hand": (lambda T, x: x.pow(2).sum().sqrt(), [0.0, 0.0], [NAN, NAN]),  # 6394
    "norm of order 1": (lambda T, x: x.norm(1), [0.0, -2.0], [0.0, -1.0]),  # 3264
    "norm of order 1.5": (lambda T, x: x.norm(1.5), [0.0, 2.0], [0.0, 1.0]),
    "norm of order 0.5": (lambda T, x: x.norm(0.5), [0.0, 1.0], [0.0, 1.0]),  # 44452
    "norm of order 3 at 0": (lambda T, x: x.norm(3), [0.0, 0.0], [0.0, 0.0]),
    "norm of order inf": (  # 41779: it was 1 for each of the equals
        lambda T, x: x.norm(INF),
        [9.0, 2.0, -9.0],
        [0.5, 0.0, -0.5],
    ),
    "norm of order inf at 0": (lambda T, x: x.norm(INF), [0.0, 0.0], [0.0, 0.0]),  # 48122
    "norm of order -inf": (lambda T, x: x.norm(-INF), [1.0, -1.0, 3.0], [0.5, -0.5, 0.0]),
    "norm of an infinite vector": (lambda T, x: x.norm(), [INF, 1.0], [NAN, 0.0]),
    "normalize": (  # 3264: nan; 184575: 1e12 is 1 / eps
        lambda T, x: T.nn.functional.normalize(x, p=1.0, dim=0),
        [0.0, 0.0, 0.5],
        [2.0, 2.0, 0.0],
    ),
    "std of equal numbers": (lambda T, x: x.std(), [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),  # 4320
    "std of one number": (lambda T, x: x.std(), [1.0], [NAN]),  # 4320
    # ------------------------------------------------------------ roots, powers, logarithms
    "sqrt": (lambda T, x: x.sqrt(), [0.0, 4.0], [INF, 0.25]),
    "sqrt of a negative number": (lambda T, x: x.sqrt(), [-1.0], [NAN]),
    "0 times sqrt at 0": (lambda T, x: x.sqrt() * 0, [0.0], [NAN]),  # 2421: 0 * inf
    "rsqrt": (lambda T, x: x.rsqrt(), [0.0, 4.0], [-INF, -0.0625]),
    "abs": (lambda T, x: x.abs(), [-1.0, 0.0, 2.0], [-1.0, 0.0, 1.0]),
    "x ** 0": (lambda T, x: x**0, [0.0, 1.0], [0.0, 0.0]),  # 8940
    "x ** 0, a tensor": (lambda T, x: x ** T.tensor([0.0, 0.0]), [0.0, INF], [0.0, 0.0]),  # 8945
    "x ** 0.5": (lambda T, x: x**0.5, [0.0, 4.0], [INF, 0.25]),
    "0 ** x": (  # 27134
        lambda T, x: T.tensor([0.0, 2.0]) ** x,
        [1.0, 1.0],
        [0.0, 2 * math.log(2)],
    ),
    "0 ** x at 0": (lambda T, x: T.tensor([0.0]) ** x, [0.0], [0.0]),  # 95180
    "log": (lambda T, x: x.log(), [0.0, 2.0], [INF, 0.5]),
    "logsumexp with -inf": (lambda T, x: x.logsumexp(0), [-INF, 1.0], [0.0, 1.0]),  # 31829
    "softmax with -inf": (  # 31829
        lambda T, x: x.softmax(0)[1],
        [-INF, 0.0],
        [0.0, 0.0],
    ),
    "logsigmoid": (  # 31829
        lambda T, x: T.nn.functional.logsigmoid(x),
        [-INF, 0.0, INF],
        [1.0, 0.5, 0.0],
    ),
    # ------------------------------------------------------------ the same place several times
    "reading an element twice": (
        lambda T, x: x[[0, 0, 1]] * T.tensor([1.0, 2.0, 3.0]),
        [1.0, 2.0],
        [3.0, 3.0],
    ),
    "filling an element twice": (  # 57006: it was 2
        lambda T, value: T.zeros(3).index_fill(0, T.tensor([2, 2]), value),
        5.0,
        1.0,
    ),
}


@pytest.mark.filterwarnings("ignore:std")  # of one number
@pytest.mark.parametrize("module", ["tensorlab", "torch"])
@pytest.mark.parametrize("name", CASES)
def test_gradient_at_a_corner_point(module, name):
    T = tensorlab if module == "tensorlab" else require_torch()
    function, values, expected = CASES[name]
    np.testing.assert_allclose(gradient(T, function, values), expected, rtol=1e-6)


# name: function, where, gradient there, what PyTorch 2.13 says instead
BETTER = {
    "prod with an infinite factor": (
        lambda T, x: x.prod(),
        [2.0, INF, 4.0],
        [INF, 8.0, INF],
        [INF, NAN, INF],
    ),
    "prod that underflows": (
        lambda T, x: x.prod(),
        [1e-30, 1e-30, 1e30],
        [1.0, 1.0, 0.0],
        [0.0, 0.0, 0.0],
    ),
    "prod that overflows": (
        lambda T, x: x.prod(),
        [1e30, 1e30, 1e-30],
        [1.0, 1.0, INF],
        [INF, INF, INF],
    ),
    "logsumexp of -inf alone": (  # 31829 asks for 0
        lambda T, x: x.logsumexp(0),
        [-INF, -INF],
        [0.0, 0.0],
        [NAN, NAN],
    ),
}


@pytest.mark.parametrize("name", BETTER)
def test_gradient_where_pytorch_has_none_or_a_wrong_one(name):
    function, values, expected, _ = BETTER[name]
    np.testing.assert_allclose(gradient(tensorlab, function, values), expected, rtol=1e-6)


@pytest.mark.parametrize("name", BETTER)
def test_pytorch_still_says_what_the_table_says(name):
    """When this fails, PyTorch has been mended: move the case to the first table."""
    function, values, _, theirs = BETTER[name]
    np.testing.assert_allclose(gradient(require_torch(), function, values), theirs, rtol=1e-6)


# name: function, where, gradient of 1 g[0] + 2 g[1] + ... there
SECOND = {
    "prod with two zeros": (  # 106789: not zero everywhere
        lambda T, x: x.prod(),
        [2.0, 3.0, 0.0, 0.0],
        [0.0, 0.0, 24.0, 18.0],
    ),
    "prod with one zero": (lambda T, x: x.prod(), [2.0, 0.0, 4.0], [8.0, 10.0, 4.0]),  # 1895
    "cumprod with a zero": (lambda T, x: x.cumprod(0), [2.0, 0.0, 3.0], [8.0, 10.0, 4.0]),  # 1895
    "norm at 0": (lambda T, x: x.norm(), [0.0, 0.0], [NAN, NAN]),  # the tip of a cone
    "x ** 2 at 0": (lambda T, x: x**2, [0.0, 1.0], [2.0, 4.0]),
    "0 ** x at 0": (lambda T, x: T.zeros(1, dtype=T.float64) ** x, [0.0], [NAN]),  # 95180: a jump
    "relu": (lambda T, x: x.relu(), [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]),
    "leaky_relu": (lambda T, x: T.nn.functional.leaky_relu(x), [-1.0, 1.0], [0.0, 0.0]),
    "hardtanh": (lambda T, x: T.nn.functional.hardtanh(x), [-1.0, 0.5], [0.0, 0.0]),
    "threshold": (lambda T, x: T.threshold(x, 0.0, 1.0), [-1.0, 0.5], [0.0, 0.0]),
    "softshrink": (lambda T, x: T.nn.functional.softshrink(x), [-1.0, 0.1], [0.0, 0.0]),
}


@pytest.mark.parametrize("module", ["tensorlab", "torch"])
@pytest.mark.parametrize("name", SECOND)
def test_second_gradient_at_a_corner_point(module, name):
    """A network of straight pieces has second derivatives, and they are 0: #1483."""
    T = tensorlab if module == "tensorlab" else require_torch()
    function, values, expected = SECOND[name]
    np.testing.assert_allclose(second_gradient(T, function, values), expected, atol=1e-12)
