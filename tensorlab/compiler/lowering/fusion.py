"""Which ops become one kernel.

Each op that a kernel can compute begins as a group of its own. In the order of the graph, a group
takes in those that its inputs come from, and those that read the same tensors, if

- all of their results have the same number of elements, so that one loop makes them all,
- nothing outside of both depends on one and is needed by the other: the kernels could not be put in an order,
- views between them are sums of loop indices (index_maps.py),
- the kernel stays small enough for the registers of a processor and for the patience of a reader.

Views and tensors filled with a number belong to no group: a kernel that reads them goes through to
what they are views of. Everything else is a call.
"""

import math
from collections import deque

from tensorlab.compiler.joint.interpreter import is_random
from tensorlab.compiler.lowering import index_maps
from tensorlab.compiler.lowering.chunks import is_row_group
from tensorlab.compiler.lowering.index_maps import root_of, view_source
from tensorlab.compiler.lowering.pointwise import evaluate, runs_across_memory
from tensorlab.compiler.lowering.reductions import reduced_dims
from tensorlab.compiler.lowering.values import (
    copies,
    has_expression,
    is_fill,
    numel_of,
    shape_of,
)

MOST_OPS = 64
MOST_POINTERS = 24
MOST_SIBLINGS = 4  # readers of the same tensor that a group may join


class Step:
    """A group or a call: what comes one after the other in the schedule."""

    def __init__(self, number, nodes, is_group):
        self.number, self.nodes, self.is_group = number, nodes, is_group
        self.before = 0  # the steps that must run before it, a bit each
        self.inputs = set()  # steps that it reads from
        self.rows = reduced_dims(nodes[0]) if is_group else None

    def __repr__(self):
        return f"Step({', '.join(node.name for node in self.nodes)})"


class Partition:
    """The nodes of a graph as steps. Without `folds`, reductions are called: a fused one adds in another order."""

    def __init__(self, graph, folds=True):
        self.folds = folds
        self.steps = []
        self.step_of = {}
        self.nodes = [node for node in graph.nodes if node.op == "call_function"]
        self.order = {node: k for k, node in enumerate(self.nodes)}
        self.graph = graph
        self.draws = []
        self.readers = {}  # nodes of groups that read a tensor, the last ones
        for node in self.nodes:
            if not self.is_inlined(node):
                self.add(node)
        for step in self.steps:
            if (
                step is not None
                and step.is_group
                and len(step.nodes) == 1
                and self.is_best_alone(step.nodes[0])
            ):
                step.is_group = False

    # ---------------------------------------------------------------- what a group becomes
    def is_inlined(self, node):
        """Does a group that reads a node make its value for itself, so that no step does?"""
        return view_source(node) is not None or is_fill(node)

    def source_of(self, node):
        """The node whose memory a group reads for `node`."""
        return root_of(node)

    def may_begin(self, node):
        """Can a node be a group?"""
        folds = self.folds and reduced_dims(node) is not None
        return (has_expression(node) or folds) and is_computable([node])

    def may_share_loops(self, late, early):
        if late.rows is None and early.rows is None:
            return numel_of(late.nodes[0]) == numel_of(early.nodes[0])
        return may_share_rows(late, early)

    def is_computable(self, nodes):
        return is_computable(nodes)

    def is_best_alone(self, node):
        """Does an op that has found no company gain nothing over its eager kernel?"""
        return reduced_dims(node) is not None or copies(node)

    # ---------------------------------------------------------------- fusion
    def add(self, node):
        step = Step(len(self.steps), [node], self.may_begin(node))
        self.steps.append(step)
        self.step_of[node] = step
        self.connect(step, [self.source_of(one) for one in node.all_input_nodes])
        if is_random(node):  # draws keep their order
            self.connect(step, self.draws[-1:])
            self.draws.append(node)
        if step.is_group:
            roots = [self.source_of(one) for one in node.all_input_nodes]
            makers = [self.step_of[root] for root in roots if root in self.step_of]
            siblings = [self.step_of[one] for root in roots for one in self.readers.get(root, ())]
            for other in dict.fromkeys([*makers, *siblings]):
                if other is not self.step_of[node] and self.steps[other.number] is other:
                    self.try_to_fuse(self.step_of[node], other)
            for root in roots:
                self.readers.setdefault(root, deque(maxlen=MOST_SIBLINGS)).append(node)

    def connect(self, step, nodes):
        """Note that a step needs nodes."""
        for node in nodes:
            other = self.step_of.get(node)
            if other is None:  # a placeholder, or a fill, whose own inputs do not matter
                continue
            if other is not step:
                step.inputs.add(other)
                step.before |= other.before | 1 << other.number

    def try_to_fuse(self, late, early):
        if self.may_fuse(late, early):
            self.fuse(late, early)

    def may_fuse(self, late, early):
        if not (late.is_group and early.is_group):
            return False
        if len(late.nodes) + len(early.nodes) > MOST_OPS:
            return False
        if not self.may_share_loops(late, early) or self.path_around(late, early):
            return False
        nodes = [*early.nodes, *late.nodes]
        return self.pointers(nodes) <= MOST_POINTERS and self.is_computable(nodes)

    def path_around(self, late, early):
        """Is there a step that needs one of the two, and that the other needs?"""
        for a, b in ((late, early), (early, late)):
            for between in a.inputs:
                if between is not b and between.before >> b.number & 1:
                    return True
        return False

    def pointers(self, nodes):
        inside = set(nodes)
        inputs = {self.source_of(one) for node in nodes for one in node.all_input_nodes}
        return len(inputs - inside) + sum(
            any(user not in inside for user in node.users) for node in nodes
        )

    def fuse(self, late, early):
        """Let `late` take in `early`, which is a step no longer."""
        late.nodes = sorted([*early.nodes, *late.nodes], key=self.order.__getitem__)
        late.rows = late.rows or early.rows
        late.inputs = (late.inputs | early.inputs) - {late, early}
        gone, here = 1 << early.number, 1 << late.number
        late.before = (late.before | early.before) & ~gone & ~here
        for node in early.nodes:
            self.step_of[node] = late
        self.steps[early.number] = None
        for step in self.steps:
            if step is None or step is late:
                continue
            if early in step.inputs:
                step.inputs = (step.inputs - {early}) | {late}
            if step.before & (gone | here):
                step.before = (step.before & ~gone) | here | late.before


def may_share_rows(late, early):
    """Can two groups, of which one at least is of rows, be loops over the same rows?"""
    if late.rows is not None and early.rows is not None:
        return late.rows == early.rows
    rows, other = (late.rows, early) if late.rows is not None else (early.rows, late)
    shape, dims = rows
    whole = math.prod(shape)
    length = math.prod(shape[d] for d in dims)
    return numel_of(other.nodes[0]) in (whole, whole // length)


def is_computable(nodes):
    """Can one kernel compute all of them, each result an output?"""
    if any(numel_of(node) == 0 for node in nodes):
        return False
    if any(reduced_dims(node) for node in nodes):
        return is_row_group(nodes)
    if is_plain(nodes):
        return True
    try:
        return not runs_across_memory(*evaluate(set(nodes), nodes[::-1], shape_of(nodes[-1])))
    except index_maps.NoMap:
        return False


def is_plain(nodes):
    """Are all tensors contiguous, without views between?"""
    inputs = [one for node in nodes for one in node.all_input_nodes]
    return all(view_source(one) is None for one in inputs) and all(
        one.meta["val"].is_contiguous() for one in [*inputs, *nodes]
    )
