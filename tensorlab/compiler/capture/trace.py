"""What becomes of a recorded call: a Trace, which can be replayed, or a Refusal, which says why it can't."""

from typing import NamedTuple

from tensorlab._core.dispatch.facets import reads_values
from tensorlab._core.dispatch.op import Op
from tensorlab.fx import Node
from tensorlab.random import default_generator

from .same_value import same_value

__all__ = ["CannotTrace", "Refusal", "Trace", "is_value_read"]


class Refusal(NamedTuple):
    """Why a call can't be replayed, and where that is in the user's program."""

    reason: str
    file: str
    line: int
    modules: tuple = ()  # of nn, that the call may have called, but for parts of others
    is_passing: bool = False  # whether the moment of the call does not suit, and not the call

    def __str__(self):
        return f"{self.file}:{self.line}: the function {self.reason}"


class CannotTrace(Exception):
    """The reason why a call that was recorded makes no Trace; `call` is the RecordedCall that shows it, or None."""

    def __init__(self, reason, call=None):
        super().__init__(reason)
        self.call = call


class Trace:
    """A recorded call that can be replayed.

    Attributes
    ----------
    graph : fx.Graph, made by a GraphBuilder
    inputs : list of Source, one for each placeholder
    guards : Guards
    grad_assignments : list of (placeholder Node, Node or None): tensors whose `.grad` is
        another one after the call
    grad_enabled : bool, grad mode at entry
    draws_random : bool, whether an op reads the default generator
    generators : list of Generator, those that ops draw from, the default one included
    is_spent : bool, whether backward has run through the history of every result that has one:
        it can't run again
    value_reads : list of Node, the calls of `item`, `truth`, `tolist` and `sizes`, in order;
        `meta["val"]` is what was read
    """

    def __init__(self, graph, inputs, guards, grad_assignments, grad_enabled, generators, is_spent):
        self.graph, self.inputs, self.guards = graph, inputs, guards
        self.grad_assignments, self.grad_enabled = grad_assignments, grad_enabled
        self.generators, self.is_spent = generators, is_spent
        self.draws_random = default_generator in generators
        self.value_reads = [node for node in graph.nodes if is_value_read(node)]

    def same_prefix(self, other):
        """Up to where two traces of a function are the same program.

        Returns
        -------
        int or None
            How many value reads saw the same value before the first that saw another one; the number of all reads if
            the traces are equal. None if they differ elsewhere, or if `other` depends on something that the guards
            of this one do not compare, such as a global that only its branch reads.
        """
        if not self.guards.covers(other.guards):
            return None
        numbers, reads = {}, 0
        mine, others = (list(trace.graph.nodes) for trace in (self, other))
        for i in range(max(len(mine), len(others))):
            if i >= min(len(mine), len(others)) or not is_same_node(mine[i], others[i], numbers):
                return None
            numbers[mine[i]] = numbers[others[i]] = i
            if is_value_read(mine[i]):
                if not same_value(mine[i].meta["val"], others[i].meta["val"]):
                    return reads
                reads += 1
        return reads


def is_value_read(node):
    """Whether Python saw a number here; the graph is valid only while a run finds the same one."""
    return isinstance(node.target, Op) and reads_values.of(node.target)


def is_same_node(x, y, numbers):
    """Do two nodes call the same op on the same arguments? Equal nodes before have one of the `numbers`."""
    if x.op != y.op or (x.target is not y.target and x.op != "placeholder"):
        return False
    if x.op == "placeholder" and x.meta["source"].text != y.meta["source"].text:
        return False
    has_same_mode = x.meta.get("grad_enabled") == y.meta.get("grad_enabled")
    return has_same_mode and is_same_argument(x.args, y.args, numbers)


def is_same_argument(x, y, numbers):
    if isinstance(x, Node):
        return isinstance(y, Node) and numbers[x] == numbers[y]
    if not isinstance(x, (tuple, list)):
        return x is y or same_value(x, y)
    if type(x) is not type(y) or len(x) != len(y):
        return False
    return all(is_same_argument(one, other, numbers) for one, other in zip(x, y, strict=True))
