"""Dead code and common subexpressions go, unless somebody could tell."""

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab import optim
from tensorlab.compiler.passes.common_subexpressions import (
    eliminate_common_subexpressions,
    frozen,
)
from tensorlab.compiler.passes.dead_code import eliminate_dead_code
from tests.compiler.passes.graphs import graph_of, names_in, run_on, same_bits

X = tensorlab.arange(12.0).view(3, 4)


def test_what_nobody_uses_goes_with_what_only_it_uses():
    def function(x):
        x.exp().sin()
        return x.cos()

    graph = graph_of(function, X)
    assert eliminate_dead_code(graph) == 2
    assert names_in(graph) == ["cos"]
    assert eliminate_dead_code(graph) == 0


def test_a_draw_stays_so_that_later_draws_are_what_they_were():
    def function(x):
        tensorlab.rand(3)
        x.bernoulli(0.5)
        return tensorlab.rand(2)

    graph = graph_of(function, X)
    wanted = run_on(graph, X)
    eliminate_dead_code(graph)
    assert names_in(graph).count("rand") == 2
    assert same_bits(wanted[0], run_on(graph, X)[0])


def test_a_number_that_python_saw_and_a_step_of_an_optimizer_stay():
    def function(x):
        parameter = tensorlab.nn.Parameter(x)
        parameter.grad = x * 2
        optim.SGD([parameter], lr=0.1).step()

    graph = graph_of(function, X)
    eliminate_dead_code(graph)
    assert "sgd_step_" in names_in(graph)
    node = next(one for one in graph.nodes if one.op == "call_function")
    with graph.inserting_after(node):
        read = graph.call_function(named("item"), (node,))
    eliminate_dead_code(graph)
    assert read in graph.nodes


def named(name):
    """An op of this name; `item` is recorded by capture."""
    return REGISTRY.get(name) or type(REGISTRY["abs"])(f"{name}(Tensor x) -> Scalar")


# ------------------------------------------------------------------------------------------------ equal calls
def common(function, x=X):
    graph = graph_of(function, x)
    wanted = run_on(graph, x)
    count = eliminate_common_subexpressions(graph)
    for one, other in zip(wanted, run_on(graph, x), strict=True):
        assert same_bits(one, other)
    return count, names_in(graph)


def test_equal_calls_are_made_once():
    assert common(lambda x: x.exp() + x.exp()) == (1, ["exp", "add"])
    assert common(lambda x: (x + 1).sin() * (x + 1).sin()) == (2, ["add", "sin", "mul"])
    assert common(lambda x: x.max(1).values + x.max(1).values)[0] == 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.exp() + x.sin(),
        lambda x: (x + 1) * (x + 2),
        lambda x: (x * 0.0) + (x * -0.0),
        lambda x: x.sum(0) + x.sum(0, keepdim=True),
        lambda x: tensorlab.rand(3) + tensorlab.rand(3),
        lambda x: x.bernoulli(0.5) + x.bernoulli(0.5),
        lambda x: (x + 1, x + 1),
        lambda x: (x + 1, (x + 1).t()),
        lambda x: x.clone(),
    ],
)
def test_others_are_not(function):
    assert common(function)[0] == 0


def test_a_call_for_the_inside_may_be_the_one_that_is_returned():
    count, _ = common(lambda x: (x.exp(), x.exp().sum()))
    assert count == 1


@pytest.mark.parametrize(
    "one, other",
    [
        *((1, True), (1, 1.0), (0.0, -0.0), ((1, 2), [1, 2]), (1, "1"), (0, None), ((), None)),
        *((slice(1), slice(2)), (slice(0, 1), slice(None, 1)), ((1, (2,)), (1, 2))),
        (tensorlab.float32, tensorlab.float64),
    ],
)
def test_arguments_that_differ_stay_apart(one, other):
    assert frozen(one) != frozen(other)
    assert frozen(one) == frozen(one)
    hash(frozen(one))


def test_nan_is_one_argument():
    assert frozen(float("nan")) == frozen(float("nan"))
