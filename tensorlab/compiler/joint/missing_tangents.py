"""The backward graph where some results have no gradient, because the program has not used them.

Zeros in their place would not do: an input that only they depend on gets no gradient in a program
without the compiler, not zeros; and zero times an infinite derivative is nan. So what depends on
missing tangents alone is left out. It is zero, as a backward graph is linear in its tangents, and a
sum with it is the other summand.
"""

from tensorlab._core.dispatch.op import REGISTRY
from tensorlab.compiler.joint.interpreter import map_nodes
from tensorlab.fx.graph import Graph

ADD = REGISTRY["add"]


def without_tangents(graph, tangents, missing):
    """Return a backward graph for fewer tangents.

    Parameters
    ----------
    graph : Graph, which returns a tuple of gradients and None
    tangents : list of Node, those of its placeholders that are tangents
    missing : set of Node, the tangents without a value. They stay placeholders, which get
        zeros, as an op that takes several gradients at once may want them all

    Returns
    -------
    Graph with the same placeholders and as many results
    """
    made, copies = Graph(), {}
    follows, zero = set(tangents), set(missing)

    def copy(node):
        if node not in copies:
            copies[node] = made.node_copy(node, copy)
        return copies[node]

    for node in graph.nodes:
        if node.op == "placeholder":
            copy(node)
        elif node.op == "output":
            made.output(
                tuple([None if one in zero else map_nodes(one, copy) for one in node.args[0]])
            )
        else:
            followed = [one for one in node.all_input_nodes if one in follows]
            if not followed:
                continue
            follows.add(node)
            living = [one for one in followed if one not in zero]
            if not living:
                zero.add(node)
            elif len(living) < len(followed) and is_sum(node) and same_layout(living[0], node):
                copies[node] = copy(living[0])
    return made


def is_sum(node):
    return node.target is ADD and len(node.all_input_nodes) == 2


def same_layout(x, y):
    x, y = x.meta["val"], y.meta["val"]
    return (x.shape, x.stride(), x.dtype) == (y.shape, y.stride(), y.dtype)
