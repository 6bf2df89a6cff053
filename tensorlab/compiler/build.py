"""From a graph and its schedule to a plan: every value gets a slot, and leaves it after the step that reads it last."""

import operator

from .._core.dispatch.op import Op
from .._core.tensor import TensorBase
from ..fx.node import Node
from .blocks import BlockStep
from .lowering.steps import Blocks
from .plan import CallStep, ItemStep, KernelStep, Plan, Slot

__all__ = ["build_plan", "calls_of", "nodes_in", "output_of"]


def build_plan(graph, schedule=None, addresses=None, *, records=False):
    """Return the Plan of a graph of ops.

    Parameters
    ----------
    graph : fx.Graph of op calls; the plan returns the nodes of its output, in the order of `nodes_in`
    schedule : list of Kernel, Blocks and Call (lowering), or None: a call for each node
    addresses : dict, name of a kernel: its address in memory
    records : bool, whether autograd records the calls, where meta["grad_enabled"] of the node
        says so
    """
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    results = nodes_in(output_of(graph))
    if schedule is None:
        schedule = calls_of(graph)
    items = [Item(one) for one in schedule]
    slots = {node: i for i, node in enumerate(inputs)}
    for item in items:
        for node in item.writes:
            slots[node] = len(slots)
    dead = last_readers(inputs, items, results)
    steps = [
        item.step(slots, [slots[node] for node in nodes], addresses, records)
        for item, nodes in zip(items, dead, strict=True)
    ]
    return Plan(len(inputs), len(slots), steps, [slots[node] for node in results], records=records)


def calls_of(graph) -> list:
    """The nodes that compute something, in order."""
    return [node for node in graph.nodes if node.op == "call_function"]


def output_of(graph):
    """The nested structure that the graph returns."""
    (output,) = [node for node in graph.nodes if node.op == "output"]
    return output.args[0]


def nodes_in(value):
    """The nodes of a nested structure, in order; a node that stands in it twice comes twice."""
    if isinstance(value, (tuple, list)):
        return [node for one in value for node in nodes_in(one)]
    if isinstance(value, dict):
        return [node for one in value.values() for node in nodes_in(one)]
    return [value] if isinstance(value, Node) else []


def last_readers(inputs, items, results):
    """For each item the nodes that nothing reads after it."""
    last = {}
    for i, item in enumerate(items):
        for node in (*item.writes, *item.reads):
            last[node] = i
    dead = [[] for _ in items]
    for node, i in last.items():
        if node not in results:
            dead[i].append(node)
    return dead


class Item:
    """A Kernel, Blocks, a Call or a node: it reads nodes, writes nodes and becomes a step."""

    def __init__(self, given):
        self.node = given if isinstance(given, Node) else getattr(given, "node", None)
        self.group = given if self.node is None else None
        self.reads = self.group.inputs if self.group else self.node.all_input_nodes
        self.writes = self.group.outputs if self.group else [self.node]

    def step(self, slots, dead, addresses, records):
        if isinstance(self.group, Blocks):
            return block_step(self.group, slots, dead)
        if self.group is not None:
            return kernel_step(self.group, slots, dead, addresses)
        return call_step(self.node, slots, dead, records)


def kernel_step(kernel, slots, dead, addresses):
    return KernelStep(
        kernel.name,
        addresses[kernel.name],
        [slots[node] for node in kernel.inputs],
        [slots[node] for node in kernel.outputs],
        [node.meta["val"] for node in kernel.outputs],
        kernel.numbers,
        kernel.count,
        kernel.grain,
        dead=dead,
    )


def block_step(group, slots, dead):
    return BlockStep(
        [slots[node] for node in group.inputs],
        [slots[node] for node in group.outputs],
        [node.meta["val"] for node in group.inputs],
        [node.meta["val"] for node in group.outputs],
        group.constants,
        group.instructions,
        group.buffers,
        group.row_bytes,
        dead=dead,
    )


def call_step(node, slots, dead, records):
    like = None if records or has_read_sizes(node) else node.meta.get("val")
    like = like if isinstance(like, TensorBase) else None
    if node.target is operator.getitem:
        results, index = node.args
        return ItemStep(slots[results], index, slots[node], like=like, dead=dead)
    if not isinstance(node.target, Op):
        raise TypeError(f"build_plan: {node.format_node()} does not call an op")
    return CallStep(
        node.target,
        pattern(node.args, slots),
        slots[node],
        like=like,
        grad_enabled=records and node.meta.get("grad_enabled", False),
        dead=dead,
    )


def has_read_sizes(node):
    """Whether the layout of what a node returns depends on values; a read of its sizes follows then."""
    return any(getattr(user.target, "name", None) == "sizes" for user in node.users)


def pattern(value, slots):
    """Arguments with a Slot in the place of each node, and plain lists, which ops tell from tuples."""
    if isinstance(value, Node):
        return Slot(slots[value])
    if isinstance(value, tuple):
        return tuple([pattern(one, slots) for one in value])
    return [pattern(one, slots) for one in value] if isinstance(value, list) else value
