"""Constant folding: tensors that hold one number, and what is computed from them alone.

A call whose operands hold one number each holds one number, too: it is computed now, by the op
itself, and `full` makes the tensor. An operand that holds one number becomes that number, so that a
kernel needn't read it. `ones_like(x)` doesn't need x.
"""

import math

from tensorlab._core.device import CPU
from tensorlab._core.dispatch.facets import is_copy, rearranges
from tensorlab._tensor import Tensor
from tensorlab.autograd.grad_mode import no_grad
from tensorlab.compiler.joint.interpreter import (
    fill_value,
    is_alias,
    is_call,
    map_leaves,
    nodes_of,
)
from tensorlab.compiler.passes.rewriting import rewrite
from tensorlab.fx.node import Node
from tensorlab.ops.creation import full


def fold_constants(graph):
    """Replace what is known before the graph runs; return how many calls are replaced."""
    known = {}  # node: the number that it holds

    def fold(rewriter, node):
        value = number_in(node, known)
        x = node.meta["val"]
        if value is None and fill_value(node) is not None and node.all_input_nodes:
            return rewriter.replace(rewriter.op("full", tuple(x.shape), 0, x.dtype, CPU))  # empty
        if value is None:
            return take_numbers(rewriter, node, known)
        known[node] = value
        if not node.all_input_nodes or not x.is_contiguous():
            return False
        new = rewriter.op("full", tuple(x.shape), value, x.dtype, CPU)
        known[new] = value
        return rewriter.replace(new)

    return rewrite(graph, fold, is_call)


def number_in(node, known):
    """The number that every element of a call's result is; None if that isn't known."""
    x, op = node.meta["val"], node.target
    if not isinstance(x, Tensor) or x.numel() == 0:
        return None
    value = fill_value(node)
    if value is not None:
        return as_stored(value, x.dtype)
    operands = nodes_of(tuple(node.args))
    if not operands or any(one not in known for one in operands):
        return None
    if op.is_pointwise or is_copy.of(op):
        return computed(node, known)
    if rearranges.of(op) or (is_alias(node) and op.name != "view_dtype"):
        return known[operands[0]]
    return None


def as_stored(value, dtype):
    """A number as an element of this type holds it."""
    with no_grad():
        return full((1,), value, dtype=dtype, device=CPU).item()


def computed(node, known):
    """The number that an op gives, computed by itself from one element of each operand."""

    def element(one):
        if not isinstance(one, Node):
            return one
        x = one.meta["val"]
        return full((1,) * min(x.ndim, 1), known[one], dtype=x.dtype, device=CPU)

    with no_grad():
        result = node.target(*map_leaves(tuple(node.args), element))
    return result.item() if result.dtype == node.meta["val"].dtype else None


def take_numbers(rewriter, node, known):
    """Operands of a pointwise op that hold one number become that number."""
    if not node.target.is_pointwise or all(one in known for one in nodes_of(tuple(node.args))):
        return False
    dtype = type_of_operands(node)
    args = [known[one] if is_plain(one, known, dtype) else one for one in node.args]
    changes = any(one is not other for one, other in zip(args, node.args, strict=True))
    return changes and rewriter.replace(rewriter.call(node.target, args))


def type_of_operands(node):
    """The type that all operands have, or that of the result if they differ."""
    types = {one.meta["val"].dtype for one in nodes_of(tuple(node.args))}
    return types.pop() if len(types) == 1 else node.meta["val"].dtype


def is_plain(value, known, dtype):
    """Whether a number can stand for an operand: it does if both are of the type that is computed in."""
    return (
        isinstance(value, Node)
        and value in known
        and value.meta["val"].dtype == dtype
        and math.isfinite(known[value])
    )
