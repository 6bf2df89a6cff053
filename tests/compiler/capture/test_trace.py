"""Traces: what a recorded graph says of each call, and how two traces of a function are compared."""

import gc
import operator
import re

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler.capture import Refusal, Trace, record, trace
from tensorlab.fx import Node
from tests.compiler.capture.interpreter import fetch, interpret


def traced(function, *args, **kwargs):
    trace = record(function, args, kwargs)[1]
    assert isinstance(trace, Trace), trace
    return trace


def calls(trace):
    return [node.target.name for node in trace.graph.nodes if node.target in REGISTRY.values()]


def test_each_call_is_a_node_with_complete_arguments():
    x = torch.arange(6.0).view(2, 3).requires_grad_()

    def function(x):
        with torch.no_grad():
            y = x.sum(1)
        return y, tuple((x * 2).max(1))

    trace = traced(function, x)
    placeholder, total, product, largest, values, indices, output = trace.graph.nodes
    assert (placeholder.op, output.op) == ("placeholder", "output")
    assert total.target is REGISTRY["sum"]
    assert total.args == (placeholder, 1, False, None)
    assert not total.kwargs
    assert product.args == (placeholder, 2)
    assert [node.meta["grad_enabled"] for node in (total, product, largest)] == [False, True, True]
    assert [node.meta["requires_grad"] for node in (placeholder, total, product)] == [
        True,
        False,
        True,
    ]
    assert values.target is indices.target is operator.getitem
    assert (values.args, indices.args) == ((largest, 0), (largest, 1))
    assert (values.meta["requires_grad"], indices.meta["requires_grad"]) == (True, False)
    assert [tuple(one.shape) for one in largest.meta["val"]] == [(2,), (2,)]
    assert [one.dtype for one in largest.meta["val"]] == [torch.float32, torch.int64]
    assert [tuple(node.meta["val"].shape) for node in (total, product)] == [(2,), (2, 3)]
    assert placeholder.meta["val"].is_meta
    assert (placeholder.meta["val"].shape, placeholder.meta["val"].stride()) == (
        x.shape,
        x.stride(),
    )
    file, _, rest = product.meta["stack_trace"].rpartition(":")
    line, where = rest.split(" in ")
    assert (file, where) == (__file__, "function")
    assert int(line) == function.__code__.co_firstlineno + 3
    assert trace.grad_enabled
    assert not trace.draws_random


def test_grad_mode_at_entry_is_noted():
    with torch.no_grad():
        assert not traced(lambda x: x * 2, torch.ones(2)).grad_enabled


@pytest.mark.parametrize(
    ("function", "draws"),
    [
        (lambda x: x + torch.rand(3), True),
        (lambda x: nn.functional.dropout(x), True),
        (lambda x: nn.functional.dropout(x, training=False), False),
        (lambda x: x.exp(), False),
    ],
)
def test_a_trace_knows_whether_it_draws(function, draws):
    assert traced(function, torch.ones(3)).draws_random is draws


@pytest.mark.parametrize(
    "function",
    [
        lambda x: nn.functional.dropout(x),
        lambda x: x.to(torch.device("cpu:0")) + 1,
        lambda x: torch.zeros(3, device="cpu:0") + x,
    ],
)
def test_what_the_first_call_of_a_function_looks_up_is_no_part_of_the_trace(function):
    """A pattern that is compiled there would depend on which ones were before: `re` keeps the last few hundred."""
    re.purge()
    assert calls(traced(function, torch.ones(3)))


def test_a_generator_of_the_programs_own_is_no_default_one():
    generator = torch.Generator()
    trace = traced(lambda x: x + torch.rand(3, generator=generator), torch.ones(3))
    assert not trace.draws_random
    assert trace.generators == [generator]
    both = traced(
        lambda x: x + torch.rand(3) + torch.rand(3, generator=generator) + torch.rand(3),
        torch.ones(3),
    )
    assert both.generators == [torch.default_generator, generator]
    assert any(generator in node.args for node in trace.graph.nodes)


def test_a_result_that_is_an_argument_keeps_its_node():
    def function(x):
        y = x.add_(1)
        return y.mul_(2), x

    trace = traced(function, torch.ones(2))
    placeholder, add, mul, output = trace.graph.nodes
    assert add.args[0] is mul.args[0] is placeholder
    assert output.args[0] == (placeholder, placeholder)


def test_ops_on_lists_have_an_item_for_each_new_tensor():
    trace = traced(lambda x: torch.stack(list(x.unbind(0))[::-1]), torch.arange(3.0))
    assert calls(trace) == ["unbind", "stack"]
    (stack,) = [node for node in trace.graph.nodes if node.target is REGISTRY["stack"]]
    assert [node.args[1] for node in stack.args[0]] == [2, 1, 0]


def test_ops_that_return_lists_of_arguments_have_no_items():
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.ones(2)
    optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9)
    optimizer.step()
    trace = traced(lambda: optimizer.step())
    assert calls(trace) == [
        node.target.name for node in trace.graph.nodes if node.op == "call_function"
    ]
    assert "sgd_step_" in calls(trace)


def test_a_list_is_noted_as_it_was_when_an_op_took_it():
    def function(x):
        parts = [x, x]
        y = torch.stack(parts)
        parts.append(x)
        return y

    trace = traced(function, torch.ones(2))
    (stack,) = [node for node in trace.graph.nodes if node.op == "call_function"]
    assert len(stack.args[0]) == 2


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (lambda x: x.nonzero(), [(3, 1)]),
        (lambda x: x[x > 0], [(2,)]),
        (lambda x: torch.masked_select(x, x > 0), [(2,)]),
        (lambda x: torch.unique(x), [(3,)]),
        (lambda x: torch.unique(x, return_inverse=True, return_counts=True), [(3,)]),
        (lambda x: torch.repeat_interleave(torch.tensor([1, 2])), [(3,)]),
        (lambda x: x * 2, []),
        (lambda x: x.max(0).values, []),
        (lambda x: x[torch.tensor([0, 1])], []),
    ],
)
def test_sizes_that_depend_on_values_are_value_reads(function, sizes):
    trace = traced(function, torch.tensor([1.0, -1.0, 2.0]))
    found = [node.meta["val"] for node in trace.value_reads if node.target.name == "sizes"]
    assert sorted(set(found)) == sizes


def test_value_reads_come_in_order_with_what_python_saw():
    def function(x):
        if x.sum() > 2:
            return x * x[0].item(), len(x.tolist())
        return x

    trace = traced(function, torch.tensor([1.0, 2.0]))
    assert [(n.target.name, n.meta["val"]) for n in trace.value_reads] == [
        ("truth", True),
        ("item", 1.0),
        ("tolist", [1.0, 2.0]),
    ]
    reads = [*trace.value_reads, *traced(lambda x: x[x > 0], LEAF).value_reads]
    assert [node.meta["requires_grad"] for node in reads] == [False] * 4


def branching(x, n=1):
    y = x * n
    if y.sum() > 2:
        y = y + 1
        if y.max() > 5:
            return y * 2
        return y * 3
    return y - 1


def test_traces_agree_up_to_the_first_value_that_differs():
    small, middle, large = (traced(branching, torch.tensor([v, v])) for v in (0.0, 2.0, 9.0))
    assert small.same_prefix(large) == large.same_prefix(small) == 0
    assert middle.same_prefix(large) == 1
    assert large.same_prefix(large) == 2
    assert small.same_prefix(traced(branching, torch.tensor([0.5, 0.5]))) == 1


def test_numbers_that_python_has_computed_agree_by_value():
    def function(x, word):
        return x * (len(word) / 3 + 0.1) + 1 if x.sum() > 0 else x * (len(word) / 3 + 0.1)

    plain, other = (traced(lambda x: function(x, "ab"), torch.tensor([v])) for v in (1.0, -1.0))
    assert plain.same_prefix(plain) == 1
    again, more = (traced(function, torch.tensor([v]), "ab") for v in (1.0, 2.0))
    assert again.same_prefix(more) == 1
    assert other.same_prefix(more) is None


def test_a_history_with_many_paths_is_walked_once():
    def function(x):
        for _ in range(60):
            x = x + x
        return x

    traced(function, torch.ones(2, requires_grad=True))


def test_traces_that_take_other_inputs_do_not_agree():
    def function(x, y, z):
        return y + z if x.sum() > 0 else z + y

    plain, other = (
        traced(function, torch.tensor([v]), torch.ones(1), torch.ones(1)) for v in (1.0, -1.0)
    )
    assert plain.guards.covers(other.guards)
    assert plain.same_prefix(other) is None


class Times:
    def __init__(self, number):
        self.number = number


def stacking(x, times):
    return torch.stack([x] * times.number)


def test_traces_of_other_programs_do_not_agree():
    x = torch.tensor([0.0, 0.0])
    trace = traced(branching, x)
    assert trace.same_prefix(traced(branching, x, 2)) is None
    assert trace.same_prefix(traced(branching, x, 1.0)) is None
    assert trace.same_prefix(traced(lambda x: x * 1, x)) is None
    assert trace.same_prefix(traced(lambda y, x: branching(x), x, x.clone())) is None
    with torch.no_grad():
        assert trace.same_prefix(traced(branching, x)) is None
    stacked = traced(stacking, x, Times(2))
    assert stacked.same_prefix(traced(stacking, x, Times(2))) == 0
    times = record(stacking, (x, Times(3)))[1]
    times.guards = stacked.guards
    assert stacked.same_prefix(times) is None


LEAF = torch.ones(2, requires_grad=True)
FACTOR, BRANCHES = 2.0, {"up": 3.0}


def factored(x, scale=1.0):
    return x * FACTOR * scale


def tabled(x):
    return x * BRANCHES["up"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1 if x.sum() > 0 else factored(x),
        lambda x: x + 1 if x.sum() > 0 else tabled(x),
        lambda x: x + 1 if x.sum() > 0 else x.exp_(),
    ],
)
def test_a_branch_that_depends_on_more_does_not_continue_the_other(function):
    plain, more = (traced(function, torch.tensor([v, v])) for v in (1.0, -1.0))
    assert plain.same_prefix(more) is None
    assert plain.same_prefix(plain) == 1
    assert more.same_prefix(more) == 1
    assert more.guards.covers(more.guards)
    assert not plain.guards.covers(more.guards)


def test_guards_of_equal_recordings_cover_each_other():
    kept = {"a": 1.5, "b": [torch.ones(2)]}
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))

    def function(x, options, scale, device=None):
        return net(x) * kept["a"] + kept["b"][0] * options["c"][0] * scale + (x is kept)

    def again(scale=2.5, option=4):
        options = {"c": [option]}
        return traced(function, torch.ones(2), options, scale, device=torch.device("cpu")).guards

    assert again().covers(again())
    assert not again().covers(again(scale=2.0))
    assert not again().covers(again(scale=2.5, option=4.0))
    first = again()
    kept["a"] = 1.0
    assert not first.covers(again())


def test_outputs_keep_their_structure():
    def function(x):
        return {"a": [x, (1, None)], 2: x + 1}, 2.5, "s", torch.float32, x.shape, True

    output = list(traced(function, torch.ones(2)).graph.nodes)[-1]
    first, *rest = output.args[0]
    assert list(first) == ["a", 2]
    assert isinstance(first["a"][0], Node)
    assert first["a"][1] == (1, None)
    assert rest == [2.5, "s", torch.float32, torch.Size([2]), True]


def made_with_an_attribute(x):
    y = x * 2
    y.tag = 1
    return y


def made_in_inference_mode(x):
    with torch.inference_mode():
        return x * 2


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (made_with_an_attribute, "sets attributes of what it returns: tag"),
        (made_in_inference_mode, "returns a tensor that it makes in another inference mode"),
        (lambda x: nn.Buffer(x * 2), "returns a Buffer that it makes"),
        (lambda x: {1.5: x}, "keys"),
        (lambda x: {x}, "returns a builtins.set"),
        (lambda x: object(), "returns a builtins.object"),
        (lambda x: [x, {"a": lambda: 1}], "returns a builtins.function"),
    ],
)
def test_outputs_of_other_kinds_are_refused(function, reason):
    outcome = record(function, (torch.ones(2),))[1]
    assert isinstance(outcome, Refusal)
    assert reason in outcome.reason


def test_a_gradient_that_changes_is_assigned_by_the_trace():
    leaf, other = (torch.ones(2, requires_grad=True) for _ in range(2))

    def function(x):
        other.grad = None
        (leaf * x).sum().backward()

    other.grad = torch.ones(2)
    trace = record(function, (torch.ones(2),))[1]
    texts = {node.meta["source"].text: value for node, value in trace.grad_assignments}
    assert set(texts) == {"leaf", "other"}
    assert texts["leaf"] is not None
    assert texts["other"] is None
    again = record(function, (torch.ones(2),))[1]
    assert isinstance(again, Trace)
    sources = {s.text: s for s in again.inputs}
    assert fetch(sources["leaf.grad"], (torch.ones(2),)) is leaf.grad


def test_a_trace_knows_whether_backward_has_been_through_its_results():
    leaf = torch.ones(2, requires_grad=True)

    def function(x, runs, keeps=False):
        loss = (leaf * x).square().sum()
        if runs:
            loss.backward(retain_graph=keeps)
        return loss

    spent = [
        traced(function, torch.ones(2), *args).is_spent
        for args in ((True,), (False,), (True, True))
    ]
    assert spent == [True, False, False]
    assert not traced(lambda x: x * 2, torch.ones(2)).is_spent


def test_the_gradient_of_a_tensor_that_no_op_takes_is_assigned_too():
    leaf = torch.ones(2, requires_grad=True)
    leaf.grad = torch.ones(2)

    def function(x):
        leaf.grad = None
        return x * 2

    trace = traced(function, torch.ones(2))
    assert trace.guards.why((torch.ones(2),)).startswith("no longer true: leaf.grad")
    leaf.grad = torch.ones(2)
    assert [s.text for s in trace.inputs] == ["args[0]", "leaf"]
    interpret(trace, trace.guards.match((torch.ones(2),)))
    assert leaf.grad is None


@pytest.mark.parametrize(
    "change",
    [
        lambda x: setattr(x, "data", torch.zeros(2, 3)),
        lambda x: setattr(x, "data", torch.zeros(3, 2)),
        lambda x: x.t_(),
        lambda x: x.resize_(1, 2),
        lambda x: x.set_(torch.zeros(2, 3)),
    ],
)
def test_an_outer_tensor_that_gets_other_memory_is_refused(change):
    def function(x):
        change(x)
        return x * 2

    outcome = record(function, (torch.arange(6.0).view(2, 3).clone(),))[1]
    assert isinstance(outcome, Refusal)
    assert "args[0] other memory or another layout" in outcome.reason


def test_a_reason_is_a_sentence_whatever_call_shows_it():
    error = trace.CannotTrace("why", "a call")
    assert str(error) == "why"
    assert error.call == "a call"


def test_arguments_are_the_same_if_their_containers_are():
    assert trace.is_same_argument([1, (2.0,)], [1, (2.0,)], {})
    assert not trace.is_same_argument([1], (1,), {})
    assert not trace.is_same_argument((1,), (1, 1), {})
    assert not trace.is_same_argument((1,), (True,), {})
    assert not trace.is_same_argument((1,), 1, {})


def test_the_writes_of_the_call_alone_are_noted():
    x = torch.ones(2)
    x.add_(1).add_(1)
    (node,) = [one for one in traced(lambda x: x.mul_(2), x).graph.nodes if one.op == "placeholder"]
    assert node.meta["writes"] == 1


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(is_enabled):
    was_enabled = gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        seen = record(lambda x: gc.isenabled(), (torch.ones(2),))[0]
        assert not seen
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_a_refusal_has_the_outermost_modules():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def function(x):
        print(end="")
        return net(x)

    refusal = record(function, (torch.ones(2),))[1]
    assert refusal.modules == (net,)


def test_recording_draws_no_numbers_of_its_own():
    generator = torch.Generator().manual_seed(3)

    def function(x):
        return x + torch.randn(3) + torch.randint(0, 9, (3,), generator=generator)

    torch.manual_seed(0)
    expected = [function(torch.ones(3)) for _ in range(2)]
    torch.manual_seed(0)
    generator.manual_seed(3)
    found = [record(function, (torch.ones(3),))[0], function(torch.ones(3))]
    assert [x.tolist() for x in found] == [x.tolist() for x in expected]
