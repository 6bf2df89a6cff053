"""What a program says about its own recording."""

import functools

import tensorlab as torch
from tensorlab.compiler.capture import (
    Trace,
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    record,
)
from tests.compiler.capture.interpreter import interpret, same_bits

CALLS = []


def test_a_function_knows_whether_it_is_recorded():
    seen = []
    record(lambda x: seen.append(is_compiling()), (torch.ones(2),))
    assert seen == [True]
    assert not is_compiling()


def test_after_an_exception_nothing_is_recorded_any_more():
    try:
        record(lambda x: 1 / 0, (torch.ones(2),))
    except ZeroDivisionError:
        pass
    assert not is_compiling()


def test_a_disabled_function_keeps_its_caller_out_of_graphs():
    @disable
    def helper(x):
        return x * 2

    result, outcome = record(lambda x: helper(x) + 1, (torch.ones(2),))
    assert result.tolist() == [3.0, 3.0]
    assert "helper, which compiler.disable keeps out of graphs" in outcome.reason
    assert helper(torch.ones(1)).item() == 2.0
    assert helper.__name__ == "helper"
    partial = disable(functools.partial(helper, torch.ones(1)))
    assert "calls partial, which" in record(lambda x: partial(), (torch.ones(2),))[1].reason
    why = disable(lambda x: x, "it talks to a server")
    assert record(lambda x: why(x), (torch.ones(2),))[1].reason.endswith(": it talks to a server")


def test_an_allowed_function_is_not_looked_at_but_its_ops_are_recorded():
    @allow_in_graph
    def helper(x):
        CALLS.append(1)
        return x * 2

    trace = record(lambda x: helper(x) + 1, (torch.ones(2),))[1]
    assert isinstance(trace, Trace)
    x = torch.tensor([5.0, 6.0])
    assert interpret(trace, trace.guards.match((x,))).tolist() == [11.0, 13.0]
    assert helper(x).tolist() == [10.0, 12.0]
    first, second = allow_in_graph((abs, len))
    assert (first(-1), second("ab")) == (1, 2)
    refused = record(lambda x: (helper(x), CALLS.append(1)), (torch.ones(2),))[1]
    assert "CALLS" in refused.reason
    refused = record(lambda x: (helper(x), print(end="")), (torch.ones(2),))[1]
    assert "calls print" in refused.reason


def test_a_constant_result_is_the_same_in_each_replay():
    made = []

    @assume_constant_result
    def weights(n):
        made.append(n)
        return torch.arange(2.0) * len(made), 3

    def function(x):
        tensor, number = weights(1)
        return x * tensor * number

    assert weights(1)[0].tolist() == [0.0, 1.0]
    result, trace = record(function, (torch.ones(2),))
    assert result.tolist() == [0.0, 6.0]
    assert [node.target.name for node in trace.graph.nodes if node.op == "call_function"] == [
        "mul",
        "mul",
    ]
    x = torch.tensor([1.0, 2.0])
    assert interpret(trace, trace.guards.match((x,))).tolist() == [0.0, 12.0]
    assert len(made) == 2
    assert [source.is_constant for source in trace.inputs] == [False, True]


def test_ops_after_a_constant_result_are_recorded():
    constant = assume_constant_result(lambda: torch.ones(2))
    trace = record(lambda x: constant() + x.exp(), (torch.zeros(2),))[1]
    inputs = trace.guards.match((torch.zeros(2),))
    assert same_bits(interpret(trace, inputs), torch.tensor([2.0, 2.0]))
