"""Small graphs for tests of passes: recorded from a function, and run."""

import numpy as np

import tensorlab
from tensorlab.compiler.joint.functionalize import functionalize
from tensorlab.compiler.joint.interpreter import run
from tests.compiler.tracing import record_graph

SPECIAL = [
    *(0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 3e-45, -3e-45, 1e-310, 1e38, -1e38),
    *(float("inf"), float("-inf"), float("nan"), 0.5, -7.25),
]  # zeros of both signs, denormal numbers of both types, infinities, nan


def graph_of(function, *inputs):
    """The functional graph of a function of tensors."""
    with tensorlab.no_grad():
        _, recorded, given = record_graph(function, [x.clone() for x in inputs])
    graph = functionalize(recorded).graph
    graph.constants = given[len(inputs) :]  # what the function took from elsewhere
    return graph


def names_in(graph):
    """The names of the ops that are called, in order."""
    return [
        getattr(node.target, "name", "getitem")
        for node in graph.nodes
        if node.op == "call_function"
    ]


def run_on(graph, *inputs):
    tensorlab.manual_seed(0)
    with tensorlab.no_grad():
        return run(graph, [x.clone() for x in (*inputs, *graph.constants)])


def special(dtype=None):
    return tensorlab.tensor(SPECIAL, dtype=dtype or tensorlab.float32)


def same_bits(x, y):
    """Equal to the last bit, signs of zeros included, where one nan is another."""
    if (x.shape, x.dtype, x.stride()) != (y.shape, y.dtype, y.stride()):
        return False
    if not x.is_floating_point():
        return np.array_equal(x.numpy(), y.numpy())
    x, y = x.double().numpy(), y.double().numpy()
    numbers = ~np.isnan(x)
    return np.array_equal(x, y, equal_nan=True) and np.array_equal(
        np.signbit(x[numbers]), np.signbit(y[numbers])
    )
