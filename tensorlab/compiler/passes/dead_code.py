"""Dead code: calls whose results no one uses.

Draws from the random generator stay, as later draws depend on how many came before; so do numbers
that Python saw, because the graph is valid only if a run sees the same ones; so do calls that may
raise an error; and so do the steps of optimizers.
"""

from tensorlab.compiler.capture.trace import is_value_read
from tensorlab.compiler.joint.interpreter import is_random, is_write, may_raise


def eliminate_dead_code(graph):
    """Erase calls that aren't needed; return how many."""
    count = 0
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and not node.users and not is_kept(node):
            graph.erase_node(node)
            count += 1
    return count


def is_kept(node):
    return has_effect(node) or may_raise(node)


def has_effect(node):
    return is_random(node) or is_value_read(node) or is_write(node)
