"""Splitting a graph: a function says for each node which part it goes to, and the parts become submodules.

Every part gets the values that it needs from outside as inputs, and returns those that are used outside.
Parts that need one another in a circle cannot run one after another, and are refused.
"""

import operator

from tensorlab import _missing
from tensorlab.fx.graph import Graph
from tensorlab.fx.graph_module import GraphModule
from tensorlab.fx.node import map_arg
from tensorlab.nn.module import Module

__all__ = ["Partition", "split_module"]


class Partition:
    """A part: its nodes, what goes in and out, and the parts that it needs and that need it."""

    def __init__(self, name):
        self.name, self.submod_name = name, f"submod_{name}"
        self.nodes = []
        # used as ordered sets
        self.inputs, self.outputs = {}, {}
        self.dependencies, self.dependents = {}, {}
        self.graph, self.environment, self.targets = Graph(), {}, {}


def split_module(
    m,
    root_m,
    split_callback,
    qualname_map=None,
    keep_original_order=False,
    keep_original_node_name=False,
    *,
    partition_affix=None,
):
    """Make a module of submodules out of a graph.

    Parameters
    ----------
    m : GraphModule
    root_m : Module; not used
    split_callback : function of a node, which returns the number or name of its part
    qualname_map : dict, which is filled with {new dotted name of a submodule: the old one}
    keep_original_order : bool, whether the parts are called in the order of their first nodes
    keep_original_node_name : bool, whether nodes keep their names
    partition_affix : str, to put between `submod_` and the part's number

    Returns
    -------
    GraphModule, whose submodules are called submod_0 and so on

    Raises
    ------
    RuntimeError
        If parts need one another in a circle.
    """
    partitions, part_of = {}, {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        name = name if partition_affix is None else f"{partition_affix}_{name}"
        part_of[node] = partitions.setdefault(name, Partition(name))
        part_of[node].nodes.append(node)
    _find_borders(m.graph, part_of)
    order = _order(partitions)
    for partition in order:
        _fill(partition, m, qualname_map, keep_original_node_name)
    if keep_original_order:
        order = list(partitions.values())
    assembly = _Assembly(m, keep_original_node_name)
    if not keep_original_order:
        assembly.add_attributes([node for node in m.graph.nodes if node.op == "get_attr"])
    for partition in order:
        assembly.call(partition)
    return assembly.finish()


def _find_borders(graph, part_of):
    """Note which values cross from one part to another, to a part from outside, and out of all parts."""
    for user in graph.nodes:
        for node in user.all_input_nodes:
            giver, taker = part_of.get(node), part_of.get(user)
            if giver is taker:
                continue
            if giver is not None:
                giver.outputs[node] = None
            if taker is not None:
                taker.inputs[node] = None
                if giver is not None:
                    giver.dependents[taker] = None
                    taker.dependencies[giver] = None


def _order(partitions):
    """List the parts so that each stands after those that it needs."""
    missing = {one: dict(one.dependencies) for one in partitions.values()}
    ready = [one for one, needed in missing.items() if not needed]
    order = []
    while ready:
        one = ready.pop()
        order.append(one)
        for dependent in one.dependents:
            del missing[dependent][one]
            if not missing[dependent]:
                ready.append(dependent)
    if len(order) < len(partitions):
        circle = [one.submod_name for one in partitions.values() if one not in order]
        raise RuntimeError(
            f"cycle exists between partitions! None of {circle} can run before the others"
        )
    return order


def _fill(partition, m, qualname_map, keep_names):
    """Write the graph of a part: inputs, its nodes, and what it returns."""
    graph, env = partition.graph, partition.environment
    attributes = [node for node in partition.inputs if _is_module_attribute(node, m)]
    for node in [node for node in partition.inputs if node not in attributes]:
        env[node] = graph.placeholder(node.name, type_expr=node.type)
        env[node].meta = node.meta.copy()
    for node in attributes:
        env[node] = graph.get_attr(node.target)
        partition.targets[node.target] = _attribute(m, node.target)
        del partition.inputs[node]
    for node in partition.nodes:
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            partition.targets[target] = _attribute(m, node.target)
            if qualname_map is not None:
                qualname_map[f"{partition.submod_name}.{target}"] = node.target
        args, kwargs = map_arg((node.args, node.kwargs), env.__getitem__)
        name = node.name if keep_names else None
        env[node] = graph.create_node(node.op, target, args, dict(kwargs), name, node.type)
        env[node].meta = node.meta.copy()
    results = tuple(env[node] for node in partition.outputs)
    graph.output(results[0] if len(results) == 1 else results)


class _Assembly:
    """The graph that calls the parts, while it is written."""

    def __init__(self, m, keep_names):
        self.m, self.graph = m, Graph()
        self.env, self.attributes = {}, {}
        for node in m.graph.nodes:
            if node.op == "placeholder":
                name = node.name if keep_names else node.target
                self._add(node, self.graph.placeholder(name, node.type, *node.args[:1]))

    def _add(self, old, new):
        new.meta = old.meta.copy()
        self.env[old] = new

    def add_attributes(self, nodes):
        """Add the get_attr nodes among some that are not there yet."""
        for node in nodes:
            if node.op == "get_attr" and node not in self.env:
                self._add(node, self.graph.get_attr(node.target))
                self.attributes[node.target] = _attribute(self.m, node.target)

    def call(self, partition):
        """Add the call of a part, and the nodes that take its results apart."""
        self.add_attributes(partition.inputs)
        missing = [node for node in partition.inputs if node not in self.env]
        if missing:
            raise RuntimeError(
                f"keep_original_order: {partition.submod_name} comes before the part that makes {missing} for it; "
                "leave keep_original_order out, or put these nodes into one part"
            )
        self.attributes[partition.submod_name] = GraphModule(partition.targets, partition.graph)
        inputs = tuple(self.env[node] for node in partition.inputs)
        result = self.graph.call_module(partition.submod_name, inputs)
        if len(partition.outputs) == 1:
            self.env[next(iter(partition.outputs))] = result
            return
        for place, node in enumerate(partition.outputs):
            self.env[node] = self.graph.call_function(operator.getitem, (result, place))

    def finish(self):
        """Add the output, and return the module."""
        output = self.m.graph.output_node()
        self.add_attributes(output.all_input_nodes)
        self.graph.output(map_arg(output.args[0], self.env.__getitem__))
        split = GraphModule(self.attributes, self.graph)
        split.training = self.m.training
        return split


def _attribute(module, path):
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _is_module_attribute(node, m):
    return node.op == "get_attr" and isinstance(_attribute(m, node.target), Module)


__getattr__ = _missing.refusing(__name__)
