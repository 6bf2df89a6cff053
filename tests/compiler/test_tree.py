"""The tree of recordings: branches by the exact value, values that are carried, paths that don't fit."""

import math

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab.compiler.build import build_plan, calls_of
from tensorlab.compiler.tree import Branch, Unseen, add_path, exactly, graph_of, run_tree
from tensorlab.fx import Graph


def path(*seen, last="neg", uses_number=False):
    """y = x + 1; for each value seen: x = x * 2 after a look at x.sum(); then `last` of both."""
    graph = Graph()
    x = graph.placeholder("x")
    y = graph.call_function(REGISTRY["add"], (x, 1))
    for value in seen:
        total = graph.call_function(REGISTRY["sum"], (x, None, False, None))
        read = graph.call_function(REGISTRY["item"], (total,))
        read.meta["val"] = value
        x = graph.call_function(REGISTRY["mul"], (x, read if uses_number else 2))
    graph.output((graph.call_function(REGISTRY[last], (y,)), x))
    return graph


class Tree:
    def __init__(self):
        self.root, self.inputs = Branch(None), None

    def add(self, graph):
        if self.inputs is None:
            self.inputs = graph.find_nodes(op="placeholder")
        changed, _ = add_path(self.root, graph, self.inputs)
        for branch in changed:
            branch.run = build_plan(graph_of(branch)).run
        return changed

    def __call__(self, x):
        return run_tree(self.root, [x])[0]


@pytest.mark.parametrize(
    ("x", "y", "are_equal"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (0.0, -0.0, False),
        (math.nan, -math.nan, True),
        ([1, 2.0], [1, 2.0], True),
        ([1, 2], (1, 2), False),
        ([0.0], [-0.0], False),
        ("a", "a", True),
        (0.1, math.nextafter(0.1, 1), False),
    ],
)
def test_values_are_compared_exactly(x, y, are_equal):
    assert (exactly(x) == exactly(y)) is are_equal


def test_a_path_without_reads_is_one_branch():
    tree = Tree()
    assert len(tree.add(path())) == 1
    out, x = tree(tensorlab.ones(2))
    assert out.tolist() == [-2, -2]
    assert x.tolist() == [1, 1]


def test_each_value_has_its_branch():
    tree = Tree()
    tree.add(path(2.0))
    tree.add(path(4.0, last="abs"))
    assert tree(tensorlab.ones(2))[0].tolist() == [-2, -2]
    assert tree(tensorlab.full((2,), 2.0))[0].tolist() == [3, 3]
    with pytest.raises(Unseen):
        tree(tensorlab.full((2,), 3.0))


def test_only_what_changes_is_made_again():
    tree = Tree()
    assert len(tree.add(path(2.0, 4.0))) == 3
    changed = tree.add(path(2.0, 4.0 + 1))
    assert [branch.read is None for branch in changed] == [True]
    assert tree.root not in changed


def test_what_is_carried_for_a_later_path_does_not_disturb_the_first_one():
    def path_to(value, *taken):
        """Two numbers are computed before the look at x, and some of them are taken after it."""
        graph = Graph()
        x = graph.placeholder("x")
        made = [graph.call_function(REGISTRY["mul"], (x, n)) for n in (2, 3)]
        read = graph.call_function(REGISTRY["item"], (x,))
        read.meta["val"] = value
        graph.output(
            tuple([graph.call_function(REGISTRY["neg"], (made[i],)) for i in taken] or [x])
        )
        return graph

    tree = Tree()
    for given in (path_to(1.0, 1), path_to(5.0), path_to(7.0, 0, 1)):
        tree.add(given)
    results = [[one.item() for one in tree(tensorlab.tensor(x))] for x in (1.0, 5.0, 7.0, 1.0)]
    assert results == [[-3], [5], [-14, -21], [-3]]


@pytest.mark.parametrize("seen", [(), (2.0,)])
def test_a_path_that_is_added_again_changes_nothing(seen):
    tree = Tree()
    tree.add(path(*seen))
    assert tree.add(path(*seen)) == []
    assert tree(tensorlab.ones(2))[0].tolist() == [-2, -2]


def test_a_value_from_above_is_carried_only_where_it_is_taken():
    tree = Tree()
    tree.add(path(2.0, 4.0, 8.0))
    names = [node.name for node in tree.root.carried]
    assert names == ["add"]
    assert tree(tensorlab.ones(2))[1].tolist() == [8, 8]


def test_a_value_that_was_seen_is_a_number_below():
    tree = Tree()
    tree.add(path(2.0, uses_number=True))
    tree.add(path(3.0, uses_number=True))
    assert tree(tensorlab.ones(2))[1].tolist() == [2, 2]
    assert tree(tensorlab.full((2,), 1.5))[1].tolist() == [4.5, 4.5]


def test_a_path_that_differs_before_its_first_read_is_refused():
    tree = Tree()
    tree.add(path(2.0))
    other = path(3.0)
    first = calls_of(other)[0]
    first.args = (first.args[0], 1.0)
    with pytest.raises(ValueError, match="differ before the first value"):
        tree.add(other)


def test_what_writes_comes_after_the_last_read():
    graph = Graph()
    x = graph.placeholder("x")
    graph.call_function(REGISTRY["zero_"], (x,))
    total = graph.call_function(REGISTRY["sum"], (x, None, False, None))
    read = graph.call_function(REGISTRY["item"], (total,))
    read.meta["val"] = 2.0
    graph.output((graph.call_function(REGISTRY["neg"], (total,)),))
    tree = Tree()
    tree.add(graph)
    x = tensorlab.full((2,), 3.0)
    with pytest.raises(Unseen):
        tree(x)
    assert x.tolist() == [3, 3]
    x = tensorlab.ones(2)
    tree(x)
    assert x.tolist() == [0, 0]
