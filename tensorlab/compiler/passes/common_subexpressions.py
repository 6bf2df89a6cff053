"""Common subexpressions: the same call with the same arguments is made once.

Never a draw from the random generator, because two draws differ. And never two results that the
caller gets, because he may write to one of them.
"""

from tensorlab.compiler.passes.dead_code import has_effect
from tensorlab.compiler.passes.rewriting import may_replace
from tensorlab.fx.node import Node


def eliminate_common_subexpressions(graph):
    """Use the first of equal calls instead of the others; return how many are gone."""
    seen, count = {}, 0
    for node in list(graph.nodes):
        if node.op != "call_function" or has_effect(node):
            continue
        first = seen.setdefault((node.target, frozen(tuple(node.args))), node)
        if first is not node and may_replace(node, first):
            node.replace_all_uses_with(first)
            graph.erase_node(node)
            count += 1
    return count


def frozen(value):
    """Something with a hash, equal for arguments that mean the same. 1, 1.0 and True differ; so do 0.0 and -0.0."""
    if isinstance(value, (tuple, list)):
        return (isinstance(value, tuple), *map(frozen, value))
    if isinstance(value, slice):
        return ("slice", frozen((value.start, value.stop, value.step)))
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, (int, str, Node)) or value is None:
        return (type(value).__name__, value)
    return (type(value).__name__, id(value))
