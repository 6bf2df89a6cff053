"""Which tensors of a graph share memory, and what each shows of it.

A `Memory` is what one tensor owns: an input, or the result of an op. An `Alias` is a tensor of the
program: a memory and the views that lead to it. A write through one alias gives the memory a new
value; the others are stale then, and when one is read again its views are replayed.

    y = x[1:]       memory of x: value %x          aliases: x (), y (slice,)
    y.mul_(2)       value %view_scatter(%x, %mul)  y is fresh, x is stale
    x.sum()         x is read: it is the memory's value
"""

import operator
from dataclasses import dataclass, field
from typing import NamedTuple

from tensorlab._core.dispatch.facets import Facet, forgets_history
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab.compiler.cannot_compile import CannotCompile
from tensorlab.compiler.capture.trace import is_value_read
from tensorlab.compiler.joint.interpreter import value_on_meta
from tensorlab.fx.node import Node
from tensorlab.ops.creation import empty_like

# What a node of a new graph takes over from the one that it is made for.
KEPT = ("stack_trace", "grad_enabled", "is_backward")


class View(NamedTuple):
    """One step from a tensor to a view of it: `op(x, *args)`, and if that makes several, number `item` of them."""

    op: object
    args: tuple
    item: int | None = None
    grad_enabled: bool = True

    @property
    def key(self):
        """A key that is equal for views that show the same places. (`args` may hold slices, which have no hash.)"""
        return self.op.name, repr(self.args), self.item, self.grad_enabled

    def of(self, x):
        """The view of a tensor."""
        made = self.op(x, *self.args)
        return made if self.item is None else made[self.item]


@dataclass(eq=False)
class Memory:
    value: Node
    origin: int | None = None  # number of the placeholder that owns it
    version: int = 0
    shown: dict = field(default_factory=dict)  # keys of views: Node, in this version
    sealed: Node | None = None  # a step of an optimizer that has written to it for good
    strides: tuple = ()  # as they were recorded
    requires_grad: bool = False  # the tensor that was computed
    begins: int = 0  # how many elements of its storage came before it when it was recorded

    def set(self, value):
        self.value, self.version, self.shown = value, self.version + 1, {}


@dataclass(eq=False)
class Alias:
    memory: Memory
    views: tuple
    node: Node  # its value in this version:
    version: int
    requires_grad: bool = False


def keys_of(views):
    return tuple(view.key for view in views)


# ---------------------------------------------------------------- making nodes
class Builder:
    """Adds calls to a graph, with `meta` of each: what it was given, and the value on meta."""

    def __init__(self, graph, meta):
        self.graph = graph
        self.meta = meta  # stack_trace and grad_enabled of the call that is being translated

    def call(self, target, args, recorded=None, **meta):
        node = self.graph.call_function(target, tuple(args))
        val = recorded if is_value_read(node) else value_on_meta(target, args, recorded)
        node.meta = {**self.meta, **meta, "val": val}
        return node

    def op(self, name, *args, **meta):
        return self.call(REGISTRY[name], args, **meta)

    def alias(self, memory, views, requires_grad):
        """A new view. Of what an optimizer has written it can be returned, but not read."""
        if memory.sealed is not None:
            return Alias(memory, views, None, -1, requires_grad)
        return Alias(memory, views, self.replay(memory, views), memory.version, requires_grad)

    # ------------------------------------------------------------ reading
    def read(self, alias, reader=None):
        """The node that is the value of a tensor now."""
        memory = alias.memory
        if memory.sealed is not None:
            raise CannotCompile(
                f"what {memory.sealed.target.name} has written is read again in the same call",
                reader,
            )
        if alias.version != memory.version:
            alias.node = self.replay(memory, alias.views)
            alias.version = memory.version
        return alias.node

    def replay(self, memory, views):
        """The part of a memory's value that these views show."""
        if not views:
            return memory.value
        key, view = keys_of(views), views[-1]
        if key not in memory.shown and view.item is None:
            memory.shown[key] = self.show(self.replay(memory, views[:-1]), view)
        elif key not in memory.shown:
            every = self.replay(memory, (*views[:-1], view._replace(item=None)))
            memory.shown[key] = self.call(
                operator.getitem, (every, view.item), grad_enabled=view.grad_enabled
            )
        return memory.shown[key]

    def show(self, node, view):
        return self.call(view.op, (node, *view.args), grad_enabled=view.grad_enabled)

    # ------------------------------------------------------------ writing
    def write(self, alias, value):
        """Make `value`, of the alias's shape and type, what the alias shows."""
        memory = alias.memory
        parents = [self.replay(memory, alias.views[:i]) for i in range(len(alias.views))]
        old, new = memory.value, self.scatter(parents, alias.views, value)
        keeps_layout = same_layout(new.meta["val"], empty_like(old.meta["val"]).stride())
        memory.set(new if keeps_layout else self.op("copy", old, new))
        if keeps_layout:
            memory.shown[keys_of(alias.views)] = value
        alias.node, alias.version = self.replay(memory, alias.views), memory.version

    def scatter(self, parents, views, value):
        if not all(is_one_to_one(one.meta["val"]) for one in parents[1:]):
            return self.scatter_strided(parents, views, value)
        for parent, view in zip(reversed(parents), reversed(views), strict=True):
            value = scatter.of(view.op)(self, parent, view, value)
        return value

    def scatter_strided(self, parents, views, value):
        """Write to a part of a view that shows places several times, such as one window of `unfold`, in one step."""
        view = as_one_view(views[-1])
        base, shown = parents[0].meta["val"], self.show(parents[-1], view).meta["val"]
        if not is_dense(base):
            raise CannotCompile("a write through a window of a tensor with gaps in its memory")
        start = shown.storage_offset() - base.storage_offset()
        where = (tuple(shown.shape), shown.stride(), start)
        return self.op("view_scatter", parents[0], value, REGISTRY["as_strided"], where)

    def laid_out(self, node, strides):
        """A node with the same values and these strides."""
        x = node.meta["val"]
        if x.stride() == strides:
            return node
        new = self.op("empty_strided", tuple(x.shape), strides, x.dtype, None)
        return self.op("copy", new, node)


# ---------------------------------------------------------------- views
# Of an op that gives several views: a function of the number of one and the arguments, which
# says how it is made alone.
part = Facet("part")


@part("split", "split_with_sizes")
def part_of_split(item, sizes, dim):
    """The pieces are of one size, or of these."""
    if isinstance(sizes, int):
        return "slice", (dim, item * sizes, (item + 1) * sizes, 1)
    return "slice", (dim, sum(sizes[:item]), sum(sizes[: item + 1]), 1)


@part("unbind")
def part_of_unbind(item, dim):
    return "select", (dim, item)


def as_one_view(view):
    """One of several views of a tensor as a view that is made alone."""
    if view.item is None:
        return view
    alone = part.of(view.op)
    if alone is None:
        raise CannotCompile(f"it writes to one of the views that {view.op.name} gives")
    name, args = alone(view.item, *view.args)
    return View(REGISTRY[name], args)


def scatter_part(builder, parent, view, value):
    view = as_one_view(view)
    return builder.op("view_scatter", parent, value, view.op, view.args)


def scatter_whole(builder, parent, view, value):
    return value


# Of a view: a function of a Builder, what is viewed, the View and a value, which gives `parent`
# with that value in the places that the view shows.
scatter = Facet("scatter", lambda op: scatter_whole if forgets_history.of(op) else scatter_part)
scatter("as_subclass", "getitem_alias")(scatter_whole)


@scatter("t", "transpose")
def scatter_transposed(builder, parent, view, value):
    return builder.call(view.op, (value, *view.args))


@scatter("permute")
def scatter_permuted(builder, parent, view, value):
    dims = [dim % len(view.args[0]) for dim in view.args[0]]
    return builder.op("permute", value, tuple(dims.index(i) for i in range(len(dims))))


@scatter("view", "squeeze", "unsqueeze", "getitem_unsqueeze")
def scatter_reshaped(builder, parent, view, value):
    return builder.op("view", value, tuple(parent.meta["val"].shape))


@scatter("view_dtype")
def scatter_converted(builder, parent, view, value):
    before, after = parent.meta["val"].dtype, value.meta["val"].dtype
    if before.itemsize != after.itemsize:
        raise CannotCompile(f"a write through a view of {before} as {after}")
    return builder.call(view.op, (value, before))


# ---------------------------------------------------------------- layouts
def is_one_to_one(x):
    """Whether it is sure that no two elements of a tensor share a place."""
    reached = 0  # how far the dimensions of smaller stride reach
    for step, n in sorted((step, n) for n, step in zip(x.shape, x.stride(), strict=True) if n > 1):
        if step <= reached:
            return False
        reached += step * (n - 1)
    return True


def is_dense(x):
    """Whether the elements fill a stretch of memory, each at a place of its own."""
    return is_one_to_one(x) and reach(x.shape, x.stride()) == x.numel()


def reach(size, stride):
    """How many elements of memory lie between the first and the last one of a tensor, both included."""
    if 0 in tuple(size):
        return 0
    return 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))


def same_layout(x, strides):
    """Whether a tensor lies in memory as these strides say; what belongs to sizes below 2 says nothing."""
    return all(
        one == other or size < 2
        for size, one, other in zip(x.shape, x.stride(), strides, strict=True)
    )
