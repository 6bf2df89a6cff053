"""What an op is made of, for one kernel alone: no pass sees the parts, as they stand in no graph.

A kernel goes through a view to the views that it is made of (index_maps.py), and a row kernel makes
softmax of its reductions (reductions.py).
"""

from tensorlab._core.dispatch.op import REGISTRY
from tensorlab.compiler.passes.decomposition import decomposition


class Part:
    """A part of an op. It has what a node has, but for a graph."""

    op = "call_function"

    def __init__(self, name, *args, like):
        self.target, self.args = REGISTRY[name], args
        values = [one.meta["val"] if is_value(one) else one for one in args]
        self.meta = {"stack_trace": like.meta.get("stack_trace"), "val": self.target(*values)}
        self.all_input_nodes = [one for one in args if is_value(one)]

    @property
    def name(self):
        return self.target.name


class Parts:
    """Makes the parts of the op that `node` calls, as a Builder makes nodes of a graph."""

    def __init__(self, node):
        self.node = node

    def op(self, name, *args):
        return Part(name, *args, like=self.node)


def is_value(argument):
    """Say whether an argument of an op is a node, and not a number or a list."""
    return hasattr(argument, "meta") and hasattr(argument, "target")


def parts_of(node):
    """The part that a node's value is, or None if this call stays as it is. They are made once."""
    args, made = node.meta.get("parts", (None, None))
    if args is not node.args:
        made = decomposition.of(node.target).make(Parts(node), *node.args)
        node.meta["parts"] = node.args, made
    return made
