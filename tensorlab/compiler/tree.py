"""Recordings of one function that looked at values: a tree with one branch for each value seen.

    x -> [ops] -> is x.sum() > 0 ?  -- True  -> [ops] -> result
                                    -- False -> [ops] -> result

A recording is one path. Where Python looked at a value (a *read*), the path is valid only while
the value is the same. A replay walks down: it runs the ops of a branch, reads the value, and goes
on with the child that was recorded for it. If there is none, it forgets what it has computed, the
caller runs the Python again, and the new recording adds a child. Nothing has been written to the program's tensors by
then, as a functional graph writes only at its end.
"""

import math

from ..fx import Graph
from ..fx.node import Node, map_arg
from .build import calls_of, nodes_in, output_of
from .capture.trace import is_value_read

__all__ = ["Branch", "Unseen", "add_path", "exactly", "run_tree"]


class Unseen(Exception):
    """Python would have seen a value for which there is no branch."""


def exactly(value):
    """A key that keeps apart what == does not: 1, 1.0 and True, 0.0 and -0.0; and nan equals itself.

    >>> exactly(1) == exactly(True), exactly(0.0) == exactly(-0.0), exactly(math.nan) == exactly(math.nan)
    (False, False, True)
    """
    if isinstance(value, float):
        return (float, "nan" if math.isnan(value) else value.hex())
    if isinstance(value, (list, tuple)):
        return (type(value), tuple([exactly(one) for one in value]))
    return (type(value), value)


class Branch:
    """The ops between two reads.

    Attributes
    ----------
    nodes : list of Node, the calls, in order; those of the first path that came here
    read : Node, whose value decides how to go on, or None at the end of a path
    children : dict, exactly(value): Branch
    carried : list of Node of this branch that branches below it take
    takes : list of Node, what `run` is given: the inputs, and what was carried from above when
        it was made
    result : what the graph returns, a nested structure with nodes; only at the end
    run : function(list of the values of `takes`) -> list of the values of `carried` and the
        read one, or of those of `result`; None until the owner of the tree has made it
    """

    def __init__(self, parent):
        self.parent = parent
        self.nodes = []
        self.read = None
        self.children = {}
        self.carried = []
        self.takes = []
        self.result = None
        self.run = None


def split(graph):
    """The calls of a graph, cut after each read: [(calls, read or None)].

    What writes (an optimizer's step) comes last: nothing may be written while a read can still end
    the replay. Nothing reads what it has written, or the graph would not be functional.
    """
    parts, calls, writes = [], [], []
    for node in calls_of(graph):
        if is_value_read(node):
            parts.append((calls, node))
            calls = []
        else:
            (writes if getattr(node.target, "writes", False) else calls).append(node)
    return [*parts, (calls + writes, None)]


def add_path(root, graph, inputs):
    """Add the path of a functional graph below `root`.

    Returns the branches whose code must be made (again), and the last branch of the path.

    Parameters
    ----------
    root : Branch, empty if this is the first path
    graph : Graph; its placeholders stand for the same inputs, in the same order, as those of
        earlier paths
    inputs : list of Node, the placeholders of the first path
    """
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    known = dict(zip(placeholders, inputs, strict=True))  # node of this graph: node of the tree
    changed, branch, is_new = [], root, not root.nodes and root.read is None
    for calls, read in split(graph):
        if is_new:
            branch.nodes = calls
            branch.read = read
            changed.append(branch)
            for node in (*calls, *([read] if read else [])):
                node.args = map_arg(node.args, known.__getitem__)
                known[node] = node
        elif not follow(branch, calls, read, known):
            raise ValueError(
                "compile: two recordings differ before the first value that Python saw"
            )
        if read is None:
            branch.result = map_arg(output_of(graph), known.__getitem__)
            continue
        known[read] = read.meta["val"]  # below here it is this value
        key = exactly(read.meta["val"])
        is_new = key not in branch.children
        if is_new:
            branch.children[key] = Branch(branch)
        branch = branch.children[key]
    for one in changed:
        carry(one, changed)
    for one in changed:
        one.takes = available(one, inputs)
    return changed, branch


def follow(branch, calls, read, known):
    """Whether a path makes the calls of a branch; notes in `known` which node is which."""
    if len(calls) != len(branch.nodes) or (read is None) != (branch.read is None):
        return False
    pairs = [*zip(calls, branch.nodes, strict=True)]
    if read is not None:
        pairs.append((read, branch.read))
    for new, old in pairs:
        if new.target is not old.target or not same(map_arg(new.args, known.__getitem__), old.args):
            return False
        known[new] = old
    return True


def same(x, y):
    """Whether two structures of arguments are equal: nodes by identity, numbers exactly."""
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, Node) or isinstance(y, Node):
        return x is y
    return type(x) is type(y) and exactly(x) == exactly(y)


def carry(branch, changed):
    """Note, in the branches above, which of their values this one takes."""
    mine = set(branch.nodes)
    taken = [node for call in branch.nodes for node in call.all_input_nodes]
    if branch.read is not None:
        taken += branch.read.all_input_nodes
    taken += nodes_in(branch.result)
    for node in taken:
        if node in mine or node.op == "placeholder":
            continue
        above = branch.parent
        while node not in above.nodes:
            above = above.parent
        if node not in above.carried:
            above.carried.append(node)
            if above not in changed:
                changed.append(above)


def available(branch, inputs):
    """The values that a branch may take."""
    chain = []
    while branch.parent is not None:
        branch = branch.parent
        chain.append(branch)
    return [*inputs, *(node for above in reversed(chain) for node in above.carried)]


def graph_of(branch):
    """A Graph of the calls of a branch, from `branch.takes` to what the branch hands on."""
    graph, copies = Graph(), {}
    for node in branch.takes:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    for node in (*branch.nodes, *([branch.read] if branch.read else [])):
        copies[node] = graph.node_copy(node, copies.__getitem__)
    results = [*branch.carried, branch.read] if branch.read else branch.result
    graph.output(map_arg(results, copies.__getitem__))
    return graph


def run_tree(root, inputs):
    """Walk down from `root`; returns the values of the nodes in the result of the path, and its last branch.

    Raises
    ------
    Unseen
        If a value was read for which nothing has been recorded.
    """
    values, branch = dict(zip(root.takes, inputs, strict=True)), root
    while branch.read is not None:
        *carried, read = branch.run([values[node] for node in branch.takes])
        values.update(zip(branch.carried, carried, strict=True))
        below = branch.children.get(exactly(read))
        if below is None:
            raise Unseen
        branch = below
    return branch.run([values[node] for node in branch.takes]), branch
