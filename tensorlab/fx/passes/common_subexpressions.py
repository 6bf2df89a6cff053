"""Common subexpressions: what is computed twice from the same values is computed once.

Two calls are the same if they call the same with the same arguments.  That holds only for functions that give
the same result again: calls that write, that draw random numbers, or that another node writes over, stay as
they are.
"""

from tensorlab.fx.naming import short_name
from tensorlab.fx.node import Node, map_aggregate
from tensorlab.fx.passes.infra.pass_base import PassBase, PassResult

__all__ = ["CSEPass"]


# Functions and methods that draw random numbers, beside those that `Node.is_impure` knows.
_DRAW = {
    *("alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"),
    *("feature_dropout", "gumbel_softmax", "rrelu", "bernoulli", "multinomial", "poisson"),
    *("scaled_dot_product_attention", "multi_head_attention_forward"),
    *("gru", "lstm", "rnn_relu", "rnn_tanh"),
}


class CSEPass(PassBase):
    """Lets later calls use the result of an earlier one that is the same.

    Parameters
    ----------
    banned_ops : set of targets that are never shared, beside those that `Node.is_impure` knows
    """

    def __init__(self, banned_ops=None):
        self.banned_ops = set() if banned_ops is None else set(banned_ops)

    def call(self, graph_module):
        """Change a module; return a PassResult."""
        graph = graph_module.graph
        if any(_may_write(node) for node in graph.nodes):
            return PassResult(graph_module, False)
        first, modified = {}, False
        for node in graph.nodes:
            if node.op not in ("call_function", "call_method", "get_attr") or self._is_banned(node):
                continue
            earlier = first.setdefault(_key(node), node)
            if earlier is not node:
                node.replace_all_uses_with(earlier)
                graph.erase_node(node)
                modified = True
        if modified:
            graph_module.recompile()
        return PassResult(graph_module, modified)

    def _is_banned(self, node):
        return node.target in self.banned_ops or node.is_impure() or _draws(node)


def _draws(node):
    """Whether a node may draw random numbers, to judge by the name of what it calls."""
    target = node.target
    return (target if isinstance(target, str) else short_name(target)) in _DRAW


def _may_write(node):
    """Whether a node writes over a value, so that the same call gives something else before and after it."""
    return node.op.startswith("call_") and node.is_impure(impure_random=False)


def _key(node):
    """What two nodes share if they compute the same; literals of different types differ, as 1 and 1.0 do."""
    parts = [node.op, node.target]

    def note(value):
        is_node = isinstance(value, Node)
        parts.append(value if is_node else (type(value), repr(value)))
        return value

    structure = map_aggregate((node.args, node.kwargs), lambda value: None)
    map_aggregate((node.args, node.kwargs), note)
    return (*parts, repr(structure))
