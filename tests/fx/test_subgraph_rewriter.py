"""Rewriting: what is matched, what is replaced, and what comes along with a replacement."""

import operator

import pytest

import tensorlab
from tensorlab import fx, nn
from tensorlab.fx.matching import SubgraphMatcher
from tests.fx.programs import numbers


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = nn.Linear(2, 2)

    def forward(self, x):
        return self.used(x) + 1


def test_a_replacement_must_fit_the_pattern():
    module = fx.symbolic_trace(lambda x: x + 1)
    with pytest.raises(AssertionError, match="the replacement has 2 parameters and the pattern 1"):
        fx.replace_pattern(module, lambda x: x + 1, lambda x, y: x)
    with pytest.raises(AssertionError, match="the replacement returns 2 values and the pattern 1"):
        fx.replace_pattern(module, lambda x: x + 1, lambda x: (x + 1, x))
    with pytest.raises(AssertionError, match="either a replacement or a replacement_callback"):
        fx.replace_pattern_with_filters(module, lambda x: x + 1)
    with pytest.raises(AssertionError, match="with dead code: nothing uses %y"):
        SubgraphMatcher(dead_pattern())
    with pytest.raises(ValueError, match="empty pattern"):
        SubgraphMatcher(fx.Graph())


def dead_pattern():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(operator.neg, (x,), name="y")
    graph.output(x)
    return graph


def test_a_replacement_brings_its_modules():
    class Doubled(nn.Module):
        def __init__(self):
            super().__init__()
            self.new = nn.Linear(2, 2)
            self.shift = nn.Parameter(tensorlab.ones(2))

        def forward(self, x):
            return self.new(x) + self.shift

    net = fx.symbolic_trace(Net())
    replacement = fx.symbolic_trace(Doubled())
    matches = fx.replace_pattern(net, lambda x: x + 1, replacement)
    assert len(matches) == 1
    assert matches[0].anchor.name == "add"
    assert net.new is not replacement.new
    assert net.new.weight.tolist() == replacement.new.weight.tolist()
    x = numbers(tensorlab, 1, 2)
    assert tensorlab.allclose(net(x), replacement(net.used(x)))


def test_a_replacement_that_lacks_the_module_it_calls_is_refused():
    module, replacement = fx.symbolic_trace(lambda x: x * 2), fx.symbolic_trace(Net())
    del replacement.used
    with pytest.raises(RuntimeError, match='create a "call_module" node .* with target used, but'):
        fx.replace_pattern(module, lambda x: x * 2, replacement)


def test_what_was_replaced_runs_at_once_and_leaves_the_replacement_alone():
    module = fx.symbolic_trace(lambda x: (x + 1) * 2)
    assert len(fx.replace_pattern(module, lambda x: x + 1, lambda x: x - 1)) == 1
    assert module(5) == 8
    module.add_submodule("mine", nn.Linear(1, 1))
    fx.replace_pattern(module, lambda x: x - 1, lambda x: x + 3)
    assert module(5) == 16
    assert module.mine is not None
    replacement = fx.symbolic_trace(lambda x: x - 3)
    replacement.add_submodule("theirs", nn.Linear(1, 1))
    fx.replace_pattern(module, lambda x: x + 3, replacement)
    assert module(5) == 4
    assert not hasattr(module, "mine")
    assert hasattr(replacement, "theirs")


def test_a_pattern_must_be_one_piece_of_the_graph():
    def f(x):
        y = x + 1
        return (y * tensorlab.relu(y)) - 1

    module = fx.symbolic_trace(f)
    # relu leads out of the match and into it again
    matches = fx.replace_pattern(module, lambda x, z: ((x + 1) * z, x + 1), lambda x, z: (x, x))
    assert matches == []
    assert fx.replace_pattern(module, lambda x: x * tensorlab.relu(x), lambda x: x) != []
    assert module(3) == 3


def test_a_module_or_graph_can_be_the_pattern_and_values_of_tensors_do_not_count():
    def f(x):
        return x * tensorlab.ones(2) + 1

    module = fx.symbolic_trace(f)
    pattern = fx.symbolic_trace(lambda x: x * tensorlab.zeros(2))
    assert len(fx.replace_pattern(module, pattern, lambda x: x)) == 1
    assert module(tensorlab.ones(2)).tolist() == [2, 2]


def test_the_output_and_placeholders_can_be_part_of_a_match():
    graph = fx.symbolic_trace(lambda x: (x + 1) + 1).graph
    pattern = fx.symbolic_trace(lambda x: x + 1).graph
    assert len(SubgraphMatcher(pattern).match(graph)) == 2
    (last,) = SubgraphMatcher(pattern, match_output=True).match(graph)
    assert [node.name for node in last.returning_nodes] == ["add_1"]
    (first,) = SubgraphMatcher(pattern, match_placeholder=True).match(graph)
    assert [node.name for node in first.returning_nodes] == ["add"]


def test_overlapping_matches_are_found_if_wanted():
    graph = fx.symbolic_trace(lambda x: x + 1 + 1 + 1).graph
    pattern = fx.symbolic_trace(lambda x: x + 1 + 1).graph
    found = SubgraphMatcher(pattern, remove_overlapping_matches=False).match(graph)
    assert [match.returning_nodes[0].name for match in found] == ["add_1", "add_2"]
    assert len(SubgraphMatcher(pattern).match(graph)) == 1
