"""What functionalize does with ops that write in a way of their own, and with `as_strided`.

Each function takes the Functionalizer, the recorded node, and the Alias that is the node's first
argument, and returns what the node's value is in the new graph.
"""

import numpy as np

from tensorlab._core.dispatch.facets import Facet, forgets_history
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._core.dtypes import DTYPES
from tensorlab.compiler.cannot_compile import CannotCompile
from tensorlab.compiler.joint.interpreter import map_nodes, nodes_of
from tensorlab.compiler.joint.memory import (
    View,
    is_dense,
    reach,
    scatter,
    scatter_whole,
)

FLOAT32, FLOAT64 = (one for one in DTYPES if one.is_floating_point and one.itemsize in (4, 8))


def usual_functionalization(op):
    """That of an op which says nothing: None for most, which functionalize understands."""
    if op.writes and op.functional is not None and op.functional.is_view:
        return change_view
    if op.writes and op.signature.parameters[0].type.is_list:
        return optimizer_step
    return None


functionalization = Facet("functionalization", usual_functionalization)


# ---------------------------------------------------------------- ops that change what a tensor object is
@functionalization("set_", "resize_", "set_data")
def refuse(functionalizer, node, target):
    raise CannotCompile("it gives a tensor other memory", node)


def change_view(functionalizer, node, target):
    """`transpose_` and its relatives: the same tensor object shows its memory in another way."""
    refuse_input(node, target)
    functional = node.target.functional
    args = map_nodes(tuple(node.args[1:]), functionalizer.current)
    old = functionalizer.current(node.args[0], node)
    target.node = functionalizer.builder.call(functional, (old, *args), grad_enabled=True)
    target.views = (*target.views, View(functional, args))
    return target


@functionalization("detach_")
def detach_in_place(functionalizer, node, target):
    """`detach_`: the same tensor object without its history."""
    refuse_input(node, target)
    old = functionalizer.current(node.args[0], node)
    new = functionalizer.builder.call(node.target.functional, (old,))
    functionalizer.lost.add(target.memory)  # aliases that still have the history
    functionalizer.builder.write(target, new)
    target.requires_grad = False
    return target


def refuse_input(node, target):
    if target.memory.origin is not None and not target.views:
        raise CannotCompile("it changes what an input is, not only what it holds", node)


# ---------------------------------------------------------------- as_strided
@functionalization("as_strided")
def as_strided(functionalizer, node, target):
    """`as_strided` counts from the start of the storage: here as a view of the tensor that owns the memory."""
    views = strided_view(functionalizer, node, target)
    requires_grad = node.meta.get("requires_grad", False)
    if requires_grad and gradient_differs(functionalizer, target):
        functionalizer.lost_history.append(node)
    return functionalizer.builder.alias(target.memory, views, requires_grad)


def gradient_differs(functionalizer, target):
    """Whether a view of the whole memory has another gradient than one of the tensor.

    Autograd drops the gradient of places that the tensor doesn't show, and of what was viewed
    without grad mode.
    """
    shown = functionalizer.builder.read(target).meta["val"].numel()
    is_part = shown < target.memory.value.meta["val"].numel()
    return is_part or not all(view.grad_enabled for view in target.views)


@functionalization("as_strided_")
def as_strided_in_place(functionalizer, node, target):
    refuse_input(node, target)
    target.views = strided_view(functionalizer, node, target)
    target.version = -1  # replayed when it is read
    return target


def strided_view(functionalizer, node, target):
    """The views that lead from the memory to what `as_strided` shows."""
    _, size, stride, offset = node.args
    functionalizer.current(node.args[0], node)  # notes it if its history is lost
    base = target.memory.value.meta["val"]
    if offset is None:
        raise CannotCompile("with the storage offset of the tensor, which isn't recorded", node)
    if target.memory.origin is not None and target.memory.begins > 0:
        raise CannotCompile("of an input that does not begin where its storage begins", node)
    start = offset - target.memory.begins
    if not is_dense(base):
        raise CannotCompile("of a tensor with gaps or overlaps in its memory", node)
    if start < 0 or start + reach(size, stride) > base.numel():
        raise CannotCompile("it reaches outside of the tensor that owns the memory", node)
    forgetting = tuple(one for one in target.views if forgets_history.of(one.op))
    args = (tuple(size), tuple(stride), start)
    grad_enabled = node.meta.get("grad_enabled", True)
    return (*forgetting, View(REGISTRY["as_strided"], args, None, grad_enabled))


# ---------------------------------------------------------------- running averages
@functionalization("update_average_")
def update_average(functionalizer, node, target):
    """x * (1 - share) + value * share, rounded where the kernel rounds.

    For float32 that is the product on the right; what stands on the left is computed in float64.
    """
    op = functionalizer.builder.op
    x, value, share = functionalizer.read_args(node.args, node)
    dtype = x.meta["val"].dtype
    computing = wider(dtype, value.meta["val"].dtype)
    share = share if computing == FLOAT64 else float(np.float32(share))

    def cast(one, to):
        return one if one.meta["val"].dtype == to else op("to_copy", one, to, None, None)

    kept = op("mul", cast(cast(x, computing), FLOAT64), 1 - share)
    added = cast(op("mul", cast(value, computing), share), FLOAT64)
    new = cast(cast(op("add", kept, added), computing), dtype)
    return functionalizer.assign(node, target, new)


def wider(dtype, other):
    """The type that a kernel computes in: float64 if one of the two is, else float32."""
    return FLOAT64 if FLOAT64 in (dtype, other) else FLOAT32


# ---------------------------------------------------------------- steps of optimizers
def optimizer_step(functionalizer, node, _):
    """Stay as it is; whatever it writes can't be read any more."""
    written = [one.type.is_written for one in node.target.signature.parameters]
    for is_written, value in zip(written, node.args, strict=True):
        for one in nodes_of(value) if is_written else ():
            own(functionalizer, node, functionalizer.values[one])
    new = functionalizer.graph.call_function(node.target, functionalizer.read_args(node.args, node))
    new.meta = {**functionalizer.builder.meta, "grad_enabled": False, "val": None}
    for is_written, value in zip(written, node.args, strict=True):
        for one in nodes_of(value) if is_written else ():
            functionalizer.values[one].memory.sealed = new
    for i, one in enumerate(nodes_of(node.args[0])):
        functionalizer.items[node, i] = functionalizer.values[one]
    return new


def own(functionalizer, node, target):
    """Make the value of a tensor that will be written something that nothing else is made of."""
    value = functionalizer.builder.read(target, node)
    functionalizer.check_writable(node, target)
    if any(scatter.of(view.op) is not scatter_whole for view in target.views):
        raise CannotCompile("it writes to a view", node)
    if target.memory.origin is None or target.memory.version > 0:
        functionalizer.builder.write(target, functionalizer.builder.op("clone", value, None))
