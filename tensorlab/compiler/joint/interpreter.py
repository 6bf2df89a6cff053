"""Run a graph of ops: on real tensors, as an oracle for everything that changes graphs; or on meta, to learn shapes.

The graphs are those that compiler.capture records: placeholders, calls of ops with all arguments by
position, `getitem` for ops with several results, and one output.
"""

import operator

from tensorlab._core.dispatch.facets import checks_values, fills_with
from tensorlab._core.dispatch.op import Op
from tensorlab._core.tensor import TensorBase
from tensorlab.autograd.grad_mode import no_grad, set_grad_enabled
from tensorlab.errors import NoDataError
from tensorlab.fx.node import Node
from tensorlab.ops.creation import empty_strided


# ---------------------------------------------------------------- arguments
def map_leaves(value, function):
    """Apply a function to everything in nested tuples, lists, dicts and slices; lists stay lists, as kernels want."""
    if isinstance(value, tuple):
        items = [map_leaves(one, function) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [map_leaves(one, function) for one in value]
    if isinstance(value, dict):
        return {key: map_leaves(one, function) for key, one in value.items()}
    if isinstance(value, slice):
        return slice(*(map_leaves(one, function) for one in (value.start, value.stop, value.step)))
    return function(value)


def map_nodes(value, function):
    """Apply a function to every node in a nested structure."""
    return map_leaves(value, lambda one: function(one) if isinstance(one, Node) else one)


def leaves_of(value):
    """Everything that is in a nested structure, in order."""
    found = []
    map_leaves(value, found.append)
    return found


def nodes_of(value):
    """The nodes in a nested structure, in order; one that stands twice comes twice."""
    return [one for one in leaves_of(value) if isinstance(one, Node)]


# ---------------------------------------------------------------- on real tensors
def run(graph, inputs, *, follows_grad=False):
    """Run a graph and return what its output node says.

    Parameters
    ----------
    graph : Graph
    inputs : list of Tensors, one for each placeholder
    follows_grad : bool, whether ops run in the grad mode that they were recorded in; without it
        nothing is recorded for backward
    """

    def call(node, args):
        with set_grad_enabled(follows_grad and node.meta.get("grad_enabled", True)):
            return node.target(*args)

    return run_by(call, graph, inputs)


def run_by(call, graph, inputs):
    """Run a graph whose ops are run by `call(node, args)`."""
    values, remaining = {}, iter(inputs)
    for node in graph.nodes:
        if node.op == "placeholder":
            values[node] = next(remaining)
        elif node.op == "output":
            return map_nodes(node.args[0], values.__getitem__)
        else:
            values[node] = call(node, map_nodes(node.args, values.__getitem__))
    raise ValueError("run: the graph has no output node")


# ---------------------------------------------------------------- on meta
def on_meta(x):
    """A tensor on meta with the layout of `x`, and nothing else of it."""
    return empty_strided(tuple(x.shape), x.stride(), dtype=x.dtype, device="meta")


def value_on_meta(target, args, recorded=None):
    """What a call gives on meta, for arguments whose nodes have `meta["val"]`.

    Where the result depends on values (the size of nonzero), it is what was `recorded`.
    """
    args = map_nodes(args, lambda node: node.meta["val"])
    try:
        return call_on_meta(target, args)
    except NoDataError:
        if recorded is None:
            raise
        return recorded


def call_on_meta(target, args):
    """Call an op, or another function, with tensors on meta; a new tensor is on meta, too."""
    with no_grad():
        return target(*new_on_meta(target, args))


def new_on_meta(target, args):
    """The arguments of a call whose new tensors will be on meta."""
    if not isinstance(target, Op):
        return args
    parameters = target.signature.parameters
    return [
        "meta" if one.type.word == "Device" else value
        for one, value in zip(parameters, args, strict=True)
    ]


# ---------------------------------------------------------------- kinds of nodes
def is_call(node):
    return node.op == "call_function" and isinstance(node.target, Op)


def is_getitem(node):
    return node.op == "call_function" and node.target is operator.getitem


def facet_of(node, facet):
    """What the op has that a node calls; None if it calls none."""
    return facet.of(node.target) if isinstance(node.target, Op) else None


def is_write(node):
    """Whether the op writes to arguments; in a functional graph only steps of optimizers do, at the end."""
    return is_call(node) and node.target.writes


def is_random(node):
    return is_call(node) and "generator" in node.target.params


def may_raise(node):
    """Whether the program's call could refuse values, so that it must be made even if no one uses what it gives."""
    return bool(facet_of(node, checks_values)) and not node.meta.get("is_backward")


def fill_value(node):
    """The number that every element of a call's result is; None where that is not known before it runs."""
    value = facet_of(node, fills_with)
    if not isinstance(value, str):
        return value
    value = node.args[node.target.params.index(value)]
    return None if isinstance(value, (Node, TensorBase)) else value


def is_alias(node):
    """Whether the result shares the memory of the first argument: a view, `detach`; also one of several views."""
    if is_getitem(node):
        return is_alias(node.args[0])
    return is_call(node) and gives_alias(node.target)


def gives_alias(op):
    """Whether what an op returns lies in the memory of its first argument, to which it does not write."""
    return not op.writes and any(kind.alias for _, kind in op.signature.results)
