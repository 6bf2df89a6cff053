"""Constants are folded to the number that the op itself gives; nothing else is."""

import math

import pytest

import tensorlab
from tensorlab.compiler.passes.constant_folding import fold_constants
from tensorlab.compiler.passes.dead_code import eliminate_dead_code
from tests.compiler.passes.graphs import SPECIAL, graph_of, names_in, run_on, same_bits, special

X = tensorlab.arange(12.0).view(3, 4)


def folded(function, x=X):
    graph = graph_of(function, x)
    wanted = run_on(graph, x)
    changes = fold_constants(graph)
    eliminate_dead_code(graph)
    for one, other in zip(wanted, run_on(graph, x), strict=True):
        assert same_bits(one, other)
    return changes, names_in(graph), graph


@pytest.mark.parametrize(
    "function, ops",
    [
        (lambda x: tensorlab.full((2,), 2.0) * 3, ["full"]),
        (lambda x: tensorlab.ones(2, 3) + tensorlab.full((3,), 0.1), ["full"]),
        (lambda x: tensorlab.zeros(3).exp().neg(), ["full"]),
        (lambda x: tensorlab.ones_like(x).sqrt(), ["full"]),
        (lambda x: tensorlab.zeros_like(x), ["full"]),
        (lambda x: tensorlab.full_like(x, 7.0), ["full"]),
        (lambda x: tensorlab.ones(3, 1).expand(3, 4).contiguous(), ["full"]),
        (lambda x: tensorlab.ones(3, 4).view(12).reshape(4, 3), ["full"]),
        (lambda x: tensorlab.ones(3).double(), ["full"]),
        (lambda x: tensorlab.full((3,), 2.7).long(), ["full"]),
        (lambda x: tensorlab.empty(3).fill_(4.0), ["full"]),
        (lambda x: tensorlab.ones(2) > 0, ["full"]),
        (lambda x: x * tensorlab.full((4,), 0.5), ["mul"]),
        (lambda x: tensorlab.where(x > 3, x, tensorlab.zeros(4)), ["gt", "where"]),
        (lambda x: x > tensorlab.ones(4), ["gt"]),
    ],
)
def test_what_is_known_before_the_graph_runs_is_folded(function, ops):
    changes, left, _ = folded(function)
    assert changes > 0
    assert left == ops


@pytest.mark.parametrize("number", [one for one in SPECIAL if not math.isnan(one)])
@pytest.mark.parametrize("dtype", [tensorlab.float32, tensorlab.float64, tensorlab.bfloat16])
def test_a_folded_number_is_exact(number, dtype):
    def function(x):
        return tensorlab.full((2, 3), number, dtype=dtype).neg()

    _, left, graph = folded(function)
    assert left == ["full"]
    (found,) = run_on(graph, X)
    wanted = tensorlab.full((2, 3), number, dtype=dtype).neg()
    assert same_bits(found, wanted)


def test_nan_is_folded_to_nan_and_is_no_operand():
    _, left, _ = folded(lambda x: tensorlab.full((3,), float("nan")).exp())
    assert left == ["full"]
    _, left, _ = folded(lambda x: x * tensorlab.full((4,), float("nan")))
    assert left == ["full", "mul"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1,
        lambda x: tensorlab.ones(3, 4).sum(),
        lambda x: tensorlab.arange(3) * 2,
        lambda x: tensorlab.rand(3) * 2,
        lambda x: x * tensorlab.full((4,), 0.1, dtype=tensorlab.float64),
        lambda x: x * tensorlab.full((2, 3, 4), 2.0),
        lambda x: tensorlab.zeros(2, 0).exp(),
        lambda x: tensorlab.zeros(3),
        lambda x: tensorlab.full((3,), 2),
        lambda x: tensorlab.ones(3, 4).expand(2, 3, 4),
        lambda x: tensorlab.cat([tensorlab.ones(2), tensorlab.zeros(2)]),
    ],
)
def test_the_rest_is_left_alone(function):
    changes, _, _ = folded(function)
    assert changes == 0


def test_a_shape_is_all_that_a_number_needs_of_a_tensor():
    _, _, graph = folded(lambda x: tensorlab.ones_like(x.exp()))
    assert names_in(graph) == ["full"]
    (made,) = [one for one in graph.nodes if one.op == "call_function"]
    assert tuple(made.args[0]) == (3, 4)
    assert made.args[1] == 1


def test_special_numbers_come_through_an_operand_that_became_a_number():
    changes, left, _ = folded(lambda x: x / tensorlab.full((16,), -0.0), special())
    assert (changes, left) == (1, ["div"])


def test_an_operand_of_a_wider_type_stays_where_the_comparison_is_made_in_it():
    """0.1 of float32 is larger than 0.1 of float64, but not than the number 0.1."""
    x = tensorlab.full((4,), 0.1)

    def function(x):
        return x > tensorlab.full((4,), 0.1, dtype=tensorlab.float64)

    changes, _, graph = folded(function, x)
    assert changes == 0
    assert run_on(graph, x)[0].all()
