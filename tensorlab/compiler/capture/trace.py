"""Trace: what a recorded call did, as a graph; and Refusal: why it can't be replayed."""

import operator
from typing import Any, NamedTuple

from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._core.interop.exchange import VALUE_READS
from tensorlab._core.tensor import Size, TensorBase
from tensorlab.autograd.grad_mode import no_grad
from tensorlab.fx import Graph, Node
from tensorlab.ops.creation import empty_strided
from tensorlab.random import default_generator

from .guard_check import same_value, writes_to

__all__ = ["CannotTrace", "NamedResult", "RecordedCall", "Refusal", "Trace", "build"]


class Refusal(NamedTuple):
    """Why a call can't be replayed, and where that is in the user's program."""

    reason: str
    file: str
    line: int
    modules: tuple = ()  # of nn, that the call may have called, but for parts of others
    is_passing: bool = (
        False  # whether it is the moment of the call that does not suit, and not the call
    )

    def __str__(self):
        return f"{self.file}:{self.line}: the function {self.reason}"


class NamedResult(NamedTuple):
    """Stands in a graph for a tuple of `tensorlab.return_types`, whose class fx would not keep."""

    kind: type
    parts: tuple


class CannotTrace(Exception):
    """The reason why the recorded calls make no graph; `call` is the one that shows it, or None."""

    def __init__(self, reason, call=None):
        super().__init__(reason)
        self.call = call


class RecordedCall(NamedTuple):
    """A call of an op, and what was true right after it: tensors may be changed later."""

    op: Any
    arguments: tuple
    result: Any
    layouts: tuple  # of the tensors of the result: (size, stride, dtype, requires_grad)
    grad_enabled: bool
    place: tuple  # (file, line, function) of the user's innermost frame


class Trace:
    """A recorded call that can be replayed.

    The graph has a node for each call of an op, in order. An op that returns one of its arguments, as those in
    place do, has a node, but the tensor keeps the node that it had: after `add_(x, 1)`, what uses x uses x's node.

    Attributes
    ----------
    graph : fx.Graph
    inputs : list of Source, one for each placeholder
    guards : Guards
    grad_assignments : list of (placeholder Node, Node or None): tensors whose `.grad` is another one after the call
    grad_enabled : bool, grad mode at entry
    draws_random : bool, whether an op reads the default generator
    generators : list of Generator, those that ops draw from, the default one included
    is_spent : bool, whether backward has run through the history of every result that has one: it can't run again
    value_reads : list of Node, the calls of `item`, `truth`, `tolist` and `sizes`, in order; `meta["val"]` is
        what was read
    """

    def __init__(self, graph, inputs, grad_assignments, grad_enabled, generators, is_spent=False):
        self.graph, self.inputs, self.grad_assignments = graph, inputs, grad_assignments
        self.grad_enabled, self.generators, self.is_spent = grad_enabled, generators, is_spent
        self.draws_random = default_generator in generators
        self.value_reads = [node for node in graph.nodes if is_value_read(node)]
        self.guards = None

    def same_prefix(self, other):
        """Up to where two traces of a function are the same program.

        Returns
        -------
        int or None
            How many value reads saw the same value before the first that saw another one; the number of all reads if
            the traces are equal. None if they differ elsewhere, or if `other` depends on something that the guards
            of this one do not compare, such as a global that only its branch reads.
        """
        if not self.guards.covers(other.guards):
            return None
        numbers, reads = {}, 0
        mine, others = (list(trace.graph.nodes) for trace in (self, other))
        for i in range(max(len(mine), len(others))):
            if i >= min(len(mine), len(others)) or not is_same_node(mine[i], others[i], numbers):
                return None
            numbers[mine[i]] = numbers[others[i]] = i
            if is_value_read(mine[i]):
                if not same_value(mine[i].meta["val"], others[i].meta["val"]):
                    return reads
                reads += 1
        return reads


def is_value_read(node):
    return node.op == "call_function" and getattr(node.target, "name", None) in VALUE_READS


def is_same_node(x, y, numbers):
    """Do two nodes call the same op on the same arguments? Equal nodes before have one of the `numbers`."""
    if x.op != y.op or (x.target is not y.target and x.op != "placeholder"):
        return False
    if x.op == "placeholder" and x.meta["source"].text != y.meta["source"].text:
        return False
    return x.meta.get("grad_enabled") == y.meta.get("grad_enabled") and is_same_argument(
        x.args, y.args, numbers
    )


def is_same_argument(x, y, numbers):
    if isinstance(x, Node):
        return isinstance(y, Node) and numbers[x] == numbers[y]
    if isinstance(x, (tuple, list)):
        return (
            type(x) is type(y)
            and len(x) == len(y)
            and all(is_same_argument(one, other, numbers) for one, other in zip(x, y, strict=True))
        )
    return x is y or same_value(x, y)


# ------------------------------------------------------------------------------------------------ from calls to a graph
class Builder:
    """Makes the graph.

    Parameters
    ----------
    calls : list of RecordedCall
    source_of : function of an object, returning its Source if it was there before the call, else None
    """

    def __init__(self, calls, source_of):
        self.calls, self.source_of = calls, source_of
        self.graph = Graph()
        self.nodes = {}  # id of a tensor: Node
        self.inputs = []  # (tensor, Source, placeholder)
        self.begin = None

    def build(self, result, gradients):
        for call in self.calls:  # placeholders come first
            for x in tensors_in(call.arguments):
                self.find_input(x, call)
            for x in tensors_in(call.result):
                self.nodes.setdefault(id(x))
        for x in tensors_in((result, gradients)):
            self.find_input(x, None)
        self.nodes = {id(x): node for x, _, node in self.inputs}
        for call in self.calls:
            self.add_call(call)
        self.graph.output(self.output_of(result, set()))
        return self.graph

    def find_input(self, x, call):
        if id(x) in self.nodes:
            return
        source = self.source_of(x)
        if source is None:
            raise CannotTrace(
                f"uses a tensor of shape {tuple(x.shape)} that no op has made and that no variable leads to; "
                "it may share the memory of an array",
                call,
            )
        node = self.graph.placeholder(f"input_{len(self.inputs)}")
        node.meta.update(
            val=on_meta(*layout_of(x)[:3]), requires_grad=layout_of(x)[3], source=source
        )
        self.nodes[id(x)] = node
        self.inputs.append((x, source, node))

    def add_call(self, call):
        """The node of a call, and those of its results."""
        node = self.graph.call_function(
            call.op, tuple(self.argument_of(one, call) for one in call.arguments)
        )
        node.meta["grad_enabled"] = call.grad_enabled
        node.meta["stack_trace"] = "{}:{} in {}".format(*call.place)
        if call.op.name in VALUE_READS:
            node.meta.update(val=call.result, requires_grad=False)
            return
        is_single = isinstance(call.result, TensorBase)
        given = list(tensors_in(call.arguments))
        metas = [on_meta(*one[:3]) for one in call.layouts]
        follow = [one[3] for one in call.layouts]
        node.meta.update(val=metas[0] if is_single else tuple(metas), requires_grad=any(follow))
        depends = has_unknown_sizes(call, metas)
        for i, x in enumerate(tensors_in(call.result)):
            if any(x is one for one in given):
                continue
            part = node
            if not is_single:
                part = self.graph.call_function(operator.getitem, (node, i))
                part.meta.update(node.meta, val=metas[i], requires_grad=follow[i])
            self.nodes[id(x)] = part
            if depends:
                read = self.graph.call_function(REGISTRY["sizes"], (part,))
                read.meta.update(node.meta, val=tuple(metas[i].shape), requires_grad=False)

    def argument_of(self, value, call):
        if isinstance(value, TensorBase):
            return self.nodes[id(value)]
        if type(value) in (tuple, list):
            return type(value)(self.argument_of(one, call) for one in value)
        return value

    def output_of(self, value, seen):
        """What is returned, with Nodes in the places of tensors."""
        if isinstance(value, TensorBase):
            node = self.nodes[id(value)]
            node.meta["writes_in_the_end"] = writes_to(value)
            return node
        kind = type(value)
        if (
            value is None
            or kind in (bool, int, float, complex, str, Size)
            or kind.__name__ in ("dtype", "device")
        ):
            return value
        if kind.__module__ == "tensorlab.return_types":
            return NamedResult(kind, self.output_of(tuple(value), seen))
        is_named = issubclass(kind, tuple) and hasattr(kind, "_fields")
        if kind not in (tuple, list, dict) and not is_named:
            name = f"{kind.__module__}.{kind.__qualname__}"
            raise CannotTrace(
                f"returns a {name}; tensors, numbers, strings, and tuples, lists and dicts of them can be replayed"
            )
        if kind in (list, dict):
            if self.source_of(value) is not None:
                raise CannotTrace(f"returns a {kind.__name__} that comes from outside")
            if id(value) in seen:
                raise CannotTrace(f"returns the same {kind.__name__} in two places")
            seen.add(id(value))
        if kind is dict:
            if any(type(key) not in (str, int) for key in value):
                raise CannotTrace("returns a dict whose keys are not strings or ints")
            return {key: self.output_of(one, seen) for key, one in value.items()}
        parts = [self.output_of(one, seen) for one in value]
        return kind(*parts) if is_named else kind(parts)


def build(calls, result, gradients, source_of):
    """The graph of recorded calls.

    Returns it, its inputs as (tensor, Source, placeholder), and the nodes of all tensors by id.
    """
    builder = Builder(calls, source_of)
    with no_grad():
        return builder.build(result, gradients), builder.inputs, builder.nodes


def tensors_in(value):
    """Yield the tensors in nested tuples, lists and dicts."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors_in(one)


def layout_of(x):
    return tuple(x.shape), x.stride(), x.dtype, x.requires_grad


def on_meta(size, stride, dtype):
    """A tensor without memory, of this layout."""
    return empty_strided(size, stride, dtype=dtype, device="meta")


def has_unknown_sizes(call, metas):
    """Do the sizes of the results depend on values? Then the op can't tell them from the layouts of its arguments."""

    def as_meta(value):
        if isinstance(value, TensorBase):
            return on_meta(tuple(value.shape), value.stride(), value.dtype)
        return type(value)(map(as_meta, value)) if type(value) in (tuple, list) else value

    op = call.op
    if op.writes or op.is_view or op.is_pointwise or "generator" in op.params:  # that would draw
        return False
    try:
        result = call.op(*as_meta(call.arguments))
    except Exception:  # it says itself that it needs values
        return True
    return [x.shape for x in tensors_in(result)] != [x.shape for x in metas]
