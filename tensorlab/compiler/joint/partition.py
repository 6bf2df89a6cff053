"""Partition: a joint graph as two, of which the first saves values for the second.

What backward reads of forward is saved. Views are not saved: their base is, and backward takes the
view again; and what depends on no input is made again. With `mode="recompute"` backward also
computes pointwise ops again, where the cheapest cut through the graph says so: the cut is the set
of values with the fewest bytes from which everything that backward reads can be computed by views and
pointwise ops. Inputs cost nothing, as they are there in any case.
"""

from math import inf

from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._tensor import Tensor
from tensorlab.compiler.joint.interpreter import (
    is_alias,
    is_call,
    is_random,
    map_nodes,
    may_raise,
    nodes_of,
)
from tensorlab.compiler.joint.min_cut import min_cut
from tensorlab.fx.graph import Graph
from tensorlab.ops.creation import empty_like

MODES = ("save", "recompute")


def partition(whole, n_results, n_inputs, written=(), mode="save"):
    """Cut a joint graph in two.

    Parameters
    ----------
    whole : Graph, functional; it takes inputs, then tangents, and returns a tuple of results,
        then gradients
    written : set of numbers of inputs that are written when forward has run; what is saved of
        them is copied
    mode : "save" or "recompute"

    Returns
    -------
    forward, backward : Graph
    n_saved : int; forward returns the results, then so many values, which are the first
        placeholders of backward
    """
    if mode not in MODES:
        raise ValueError(f"partition: mode is {mode!r}; it must be one of {', '.join(MODES)}")
    outputs = whole.output_node().args[0]
    results, gradients = outputs[:n_results], outputs[n_results:]
    placeholders = whole.find_nodes(op="placeholder")
    inputs, tangents = placeholders[:n_inputs], placeholders[n_inputs:]
    cut = Cut(whole, {inputs[i] for i in written})
    backward = cut.backward_of(gradients)
    wanted = cut.wanted_by(backward, gradients, tangents)
    if mode == "recompute":
        cut.minimize(wanted)
    saved, again = cut.frontier(wanted)
    drawn = [one for one in whole.nodes if is_random(one) and not one.meta.get("is_backward")]
    checked = [one for one in whole.nodes if may_raise(one)]
    kept = ancestors((*nodes_of(results), *saved, *drawn, *checked))
    first = copy_graph(inputs, [one for one in whole.nodes if one in kept])
    first.graph.output((*first.take(results), *(first.save(one, cut) for one in saved)))
    again |= backward
    second = copy_graph((*saved, *tangents), [one for one in whole.nodes if one in again])
    second.graph.output(second.take(gradients))
    return first.graph, second.graph, len(saved)


class Cut:
    """What backward computes, what it computes again, and what is saved for it."""

    def __init__(self, whole, written):
        self.whole, self.written = whole, written
        self.recomputed = set()  # pointwise calls that minimize has chosen

    def backward_of(self, gradients):
        """The nodes that only backward needs."""
        found = ancestors(nodes_of(gradients))
        return {one for one in found if one.meta.get("is_backward")}

    def wanted_by(self, backward, gradients, tangents):
        """The values of forward that backward reads, in their order."""
        read = {one for node in backward for one in nodes_of(node.args)} | set(nodes_of(gradients))
        return [
            one
            for one in self.whole.nodes
            if one in read and one not in backward and one not in tangents
        ]

    def is_copied(self, node):
        """Whether it lies in the memory of an input that is written when forward has run."""
        while is_alias(node):
            node = node.args[0]
        return node in self.written

    def is_free(self, node):
        """Whether backward makes it again in any case: a view, or something that depends on no input."""
        if is_alias(node):
            return not self.is_copied(node)
        return is_call(node) and not is_random(node) and not nodes_of(node.args)

    def frontier(self, wanted):
        """The values that are saved, and the set of those that backward makes of them."""
        saved, again, stack = {}, set(), list(reversed(wanted))
        while stack:
            node = stack.pop()
            if self.is_free(node) or node in self.recomputed:
                again.add(node)
                stack += [one for one in nodes_of(node.args) if one not in again]
            else:
                saved[node] = None
        return list(saved), again

    # ------------------------------------------------------------ recomputing
    def minimize(self, wanted):
        """Choose what is computed again, so that the fewest bytes are saved."""
        kept = min_cut(self.network(wanted), "source", "sink") - {"sink"}
        self.recomputed = {node for node, side in kept if side == "in" and is_recomputable(node)}

    def network(self, wanted):
        """Edges (start, end, capacity); each value is one, from (node, "in") to (node, "out")."""
        edges = [((node, "out"), "sink", inf) for node in wanted]
        seen, stack = set(), list(wanted)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            edges.append(((node, "in"), (node, "out"), self.price(node)))
            if self.is_free(node) or is_recomputable(node):
                for one in nodes_of(node.args):
                    edges.append(((one, "out"), (node, "in"), inf))
                    stack.append(one)
            else:
                edges.append(("source", (node, "in"), inf))
        return edges

    def price(self, node):
        """Bytes that saving the value keeps alive."""
        if self.is_free(node):
            return inf  # its base is saved, not the view
        if node.op == "placeholder" and node not in self.written:
            return 0
        x = node.meta["val"]
        return x.numel() * x.dtype.itemsize if isinstance(x, Tensor) else inf


def is_recomputable(node):
    return is_call(node) and node.target.is_pointwise and not node.target.writes


def ancestors(nodes):
    """The nodes, and what they are made of."""
    found, stack = set(), list(nodes)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += nodes_of(node.args)
    return found


# ---------------------------------------------------------------- copying
class Copies(dict):
    """The nodes of a new graph, by those that they are copies of."""

    def __init__(self):
        super().__init__()
        self.graph = Graph()

    def take(self, value):
        return map_nodes(value, self.__getitem__)

    def save(self, node, cut):
        """The copy of a node, as something that no write to an input changes."""
        if not cut.is_copied(node):
            return self[node]
        copied = self.graph.call_function(CLONE, (self[node], None))
        copied.meta = {"val": empty_like(node.meta["val"])}
        return copied


def copy_graph(placeholders, nodes):
    """Copies of the nodes; the first ones become placeholders, whatever they were."""
    copies = Copies()
    for node in placeholders:
        copies[node] = copies.graph.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    for node in nodes:
        if node not in copies and node.op == "call_function":
            copies[node] = copies.graph.call_function(node.target, copies.take(tuple(node.args)))
            copies[node].meta = dict(node.meta)
    return copies


CLONE = REGISTRY["clone"]
