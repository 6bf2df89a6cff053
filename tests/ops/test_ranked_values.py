"""Values that are selected by their rank are those that stand there in a sort, bit for bit."""

import numpy
import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tests.ops.test_sorted_values import DTYPES, assert_same_bits, numbers
from tests.oracle import assert_same_values, require_torch

RANKS = {
    "one": [7],
    "neighbours": [7, 8],
    "the same twice": [7, 7],
    "neighbours, then another": [30, 31, 2, 3],
    "the first and the last": [0, -1],
    "all": None,
}


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 40, 41, 1000, 2500])
def test_they_stand_there_in_a_stable_sort(n, dtype, ranks):
    x = numbers(3 * n, dtype).reshape(3, n)
    wanted = range(n) if RANKS[ranks] is None else RANKS[ranks]
    wanted = tensorlab.tensor([rank % n for rank in wanted]).expand(3, -1)
    ours = REGISTRY["ranked_values"](x, wanted)
    assert_same_bits(ours, x.sort(-1, stable=True)[0].gather(-1, wanted))


def test_numbers_that_are_in_order_already():
    x = tensorlab.tensor([-0.0, 0.0, 0.0, 1.0, 1.0, 2.0])
    ours = REGISTRY["ranked_values"](x, tensorlab.arange(6))
    assert_same_bits(ours, x)


def test_lines_have_ranks_of_their_own():
    x = tensorlab.from_numpy(numpy.random.default_rng(1).standard_normal((4, 5, 60)))
    x = x.transpose(0, 1)
    ranks = tensorlab.from_numpy(numpy.random.default_rng(2).integers(0, 60, (5, 4, 3)))
    before = tensorlab.get_num_threads()
    for threads in (1, 3):
        tensorlab.set_num_threads(threads)
        ours = REGISTRY["ranked_values"](x, ranks)
        assert_same_bits(ours, x.sort(-1)[0].gather(-1, ranks))
    tensorlab.set_num_threads(before)


@pytest.mark.parametrize(
    ("shape", "ranks"), [((), ()), ((3, 4), (2,)), ((3, 4), (2, 2)), ((3, 0), (3, 1))]
)
def test_shapes_that_do_not_belong_together(shape, ranks):
    x, ranks = tensorlab.ones(shape), tensorlab.ones(ranks, dtype=tensorlab.int64)
    with pytest.raises(tensorlab.errors.ShapeError, match="ranked_values"):
        REGISTRY["ranked_values"](x, ranks)


def test_a_rank_outside_is_the_nearest_one():
    x = tensorlab.tensor([3.0, 1.0, 2.0])
    assert REGISTRY["ranked_values"](x, tensorlab.tensor([-5, 9])).tolist() == [1.0, 3.0]


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("way", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("q", [0.0, 0.3, 1.0, [0.25, 0.5, 0.9], [0.1 * i for i in range(11)]])
def test_quantiles_are_those_of_pytorch(name, way, q):
    torch = require_torch()
    rng = numpy.random.default_rng(0)
    x = rng.integers(-40, 40, (6, 301)).astype("float64") / 4
    x[1, 5] = x[2, :] = x[3, ::2] = numpy.nan
    x[4, :200] = numpy.inf
    x[5, 17], x[5, 18] = -numpy.inf, -0.0
    for dim in (None, 0, 1):
        ours, theirs = (
            getattr(T, name)(T.from_numpy(x), T.tensor(q, dtype=T.float64), dim, interpolation=way)
            for T in (tensorlab, torch)
        )
        assert_same_values(ours, theirs, 1e-12)


def test_quantiles_of_several_lines_and_without_gradient_have_the_same_bits():
    x = numbers(4 * 700, "float64").reshape(4, 700)
    ours = tensorlab.quantile(x, 0.37, 1)
    followed = tensorlab.quantile(x.clone().requires_grad_(), 0.37, 1)
    mapped = tensorlab.vmap(lambda row: tensorlab.quantile(row, 0.37))(x)
    assert_same_bits(ours, followed.detach())
    assert_same_bits(ours, mapped)
