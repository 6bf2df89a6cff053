"""How the results of convolutions lie in memory, and which numbers of dimensions they take, against PyTorch."""

import itertools
import random

import pytest

import tensorlab
from tests.oracle import require_torch, two_threads


def laid_out(T, shape, order):
    """Ones whose dimensions lie in memory in this order, the first outermost."""
    return T.ones([shape[d] for d in order]).permute([order.index(d) for d in range(len(shape))])


def layouts(T, shape, weight_shape, orders, groups):
    """The strides of a convolution's result and of its gradients."""
    x = laid_out(T, shape, orders[0]).requires_grad_()
    weight = laid_out(T, weight_shape, orders[1]).requires_grad_()
    out = getattr(T.nn.functional, f"conv{len(shape) - 2}d")(x, weight, groups=groups)
    grads = T.autograd.grad(out.sum(), [x, weight])
    return [each.stride() for each in (out, *grads)]


def random_case(rng, n):
    """Batches of 1 are left out: there the strides say less than which library PyTorch chose to call."""
    groups = rng.choice([1, 1, 2])
    inner, outer = groups * rng.randint(1, 3), groups * rng.randint(1, 3)
    image = [rng.randint(3, 5) for _ in range(n)]
    last = [0, *range(2, n + 2), 1]  # channels last
    orders = [rng.choice([last, range(n + 2), rng.sample(range(n + 2), n + 2)]) for _ in range(2)]
    shape = (rng.randint(2, 3), inner, *image)
    weight_shape = (outer, inner // groups, *[rng.randint(1, size - 1) for size in image])
    return shape, weight_shape, [list(order) for order in orders], groups


@pytest.mark.parametrize("n", [1, 2])
def test_results_and_gradients_lie_as_in_pytorch(n):
    """One thread leaves small convolutions to another library, whose results lie in another way."""
    rng = random.Random(n)
    with two_threads() as torch:
        for _ in range(150):
            case = random_case(rng, n)
            assert layouts(tensorlab, *case) == layouts(torch, *case), case


@pytest.mark.parametrize(
    "name", [f"conv{transposed}{n}d" for transposed in ("", "_transpose") for n in (1, 2, 3)]
)
def test_the_numbers_of_dimensions_are_pytorch_s(name):
    torch = require_torch()

    def outcome(T, x, weight):
        convolve = getattr(T.nn.functional, name)
        try:
            return tuple(convolve(T.ones([2] * x), T.ones([2] * weight)).shape)
        except RuntimeError:
            return "refused"

    for x, weight in itertools.product(range(1, 7), repeat=2):
        assert outcome(tensorlab, x, weight) == outcome(torch, x, weight), (x, weight)
