"""GraphBuilder: from recorded calls of ops to a graph of them."""

import operator
from typing import NamedTuple

from tensorlab._core.dispatch.facets import reads_values, sources
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._core.tensor import Size, TensorBase
from tensorlab.autograd.grad_mode import no_grad
from tensorlab.errors import ShapeError
from tensorlab.fx import Graph
from tensorlab.ops.creation import empty_strided

from .call_recorder import layout_of, tensors_in
from .tensor_state import writes_to
from .trace import CannotTrace

__all__ = ["GraphBuilder", "NamedResult"]


class NamedResult(NamedTuple):
    """Stands in a graph for a tuple of `tensorlab.return_types`, whose class fx would not keep."""

    kind: type
    parts: tuple


CONSTANTS = type(None), bool, int, float, complex, str, Size


class GraphBuilder:
    """A graph with a node for each call, in order.

    An op that returns one of its arguments, as those in place do, has a node, but the tensor
    keeps the node that it had: after `add_(x, 1)`, what uses x uses x's node.

    Parameters
    ----------
    calls : list of RecordedCall
    source_of : function of an object, returning its Source if it was there before the call,
        else None

    Attributes
    ----------
    graph : Graph, with `meta` of the nodes: "val", a tensor on meta or what Python has read;
        "requires_grad"; "source" of a placeholder; "grad_enabled" and "stack_trace" of a call
    inputs : list of (tensor, Source, placeholder)
    nodes : dict, id of a tensor: Node
    """

    def __init__(self, calls, source_of):
        self.calls, self.source_of = calls, source_of
        self.graph, self.inputs, self.nodes = Graph(), [], {}

    def build(self, result, gradients):
        """Make the graph of a function that returns `result` and computes the tensors in `gradients` as well."""
        with no_grad():
            self.add_placeholders(result, gradients)
            for call in self.calls:
                self.add_call(call)
            self.graph.output(self.output_of(result, set()))
        return self.graph

    # ------------------------------------------------------------ inputs
    def add_placeholders(self, result, gradients):
        """A placeholder for each tensor that is used before an op has made it."""
        made = set()
        for call in self.calls:
            for x in tensors_in(call.arguments):
                self.find_input(x, made, call)
            made.update(id(x) for x in tensors_in(call.result))
        for x in tensors_in((result, gradients)):
            self.find_input(x, made, None)

    def find_input(self, x, made, call):
        if id(x) in made or id(x) in self.nodes:
            return
        source = self.source_of(x)
        if source is None:
            reason = f"uses a tensor of shape {tuple(x.shape)} that no op has made and that no variable leads to"
            raise CannotTrace(f"{reason}; it may share the memory of an array", call)
        node = self.graph.placeholder(f"input_{len(self.inputs)}")
        *layout, follows = layout_of(x)
        node.meta.update(val=on_meta(*layout), requires_grad=follows, source=source)
        node.meta["storage_offset"] = x.storage_offset()
        self.nodes[id(x)] = node
        self.inputs.append((x, source, node))

    # ------------------------------------------------------------ calls
    def add_call(self, call):
        arguments = tuple(self.argument_of(one) for one in call.arguments)
        node = self.graph.call_function(call.op, arguments)
        node.meta["grad_enabled"] = call.grad_enabled
        node.meta["stack_trace"] = "{}:{} in {}".format(*call.place)
        if reads_values.of(call.op):
            node.meta.update(val=call.result, requires_grad=False)
        else:
            self.add_results(call, node)

    def argument_of(self, value):
        if isinstance(value, TensorBase):
            return self.nodes[id(value)]
        if type(value) in (tuple, list):
            return type(value)(self.argument_of(one) for one in value)
        return value

    def add_results(self, call, node):
        """Say what a call gives; of several results, each new one has a node. Sizes that depend on values are read."""
        metas = [on_meta(*layout) for *layout, _ in call.layouts]
        results = list(tensors_in(call.result))
        given = {id(x) for x in tensors_in(call.arguments)}
        follow = {id(x): follows for x, (*_, follows) in zip(results, call.layouts, strict=True)}
        values = {id(x): meta for x, meta in zip(results, metas, strict=True)}
        reads_sizes = has_unknown_sizes(call, metas)

        def add(node, result):
            node.meta["val"] = map_tensors(result, lambda x: values[id(x)])
            node.meta["requires_grad"] = any(follow[id(x)] for x in tensors_in(result))
            if isinstance(result, (tuple, list)):
                for i, one in enumerate(result):
                    if any(id(x) not in given for x in tensors_in(one)):
                        part = self.graph.call_function(operator.getitem, (node, i))
                        part.meta.update(node.meta)
                        add(part, one)
            elif isinstance(result, TensorBase) and id(result) not in given:
                self.add_tensor(result, node, reads_sizes)

        add(node, call.result)

    def add_tensor(self, x, node, reads_sizes):
        """`node` gives the new tensor x."""
        self.nodes[id(x)] = node
        node.meta["storage_offset"] = x.storage_offset()
        if reads_sizes:
            read = self.graph.call_function(REGISTRY["sizes"], (node,))
            read.meta.update(node.meta, val=tuple(node.meta["val"].shape), requires_grad=False)

    # ------------------------------------------------------------ the result
    def output_of(self, value, seen):
        """What is returned, with Nodes in the places of tensors; `seen` are the ids of lists and dicts in it."""
        kind = type(value)
        if isinstance(value, TensorBase):
            node = self.nodes[id(value)]
            node.meta["writes_in_the_end"] = writes_to(value)
            return node
        if kind in CONSTANTS or kind.__name__ in ("dtype", "device"):
            return value
        if kind.__module__ == "tensorlab.return_types":
            return NamedResult(kind, self.output_of(tuple(value), seen))
        if kind in (list, dict):
            self.check_container(value, seen)
        if kind is dict:
            return {key: self.output_of(one, seen) for key, one in value.items()}
        is_named = issubclass(kind, tuple) and hasattr(kind, "_fields")
        if kind not in (tuple, list) and not is_named:
            raise CannotTrace(
                f"returns a {kind.__module__}.{kind.__qualname__}; tensors, numbers, strings, and tuples, lists "
                "and dicts of them can be replayed"
            )
        parts = [self.output_of(one, seen) for one in value]
        return kind(*parts) if is_named else kind(parts)

    def check_container(self, value, seen):
        """Refuse a list or dict that is more than its content."""
        name = type(value).__name__
        if self.source_of(value) is not None:
            raise CannotTrace(f"returns a {name} that comes from outside")
        if id(value) in seen:
            raise CannotTrace(f"returns the same {name} in two places")
        if isinstance(value, dict) and any(type(key) not in (str, int) for key in value):
            raise CannotTrace("returns a dict whose keys are not strings or ints")
        seen.add(id(value))


def on_meta(size, stride, dtype):
    """A tensor without memory, of this layout."""
    return empty_strided(size, stride, dtype=dtype, device="meta")


def map_tensors(value, function):
    """`value` with `function(x)` in the place of each tensor x in it."""
    if isinstance(value, TensorBase):
        return function(value)
    if type(value) in (tuple, list):
        return type(value)([map_tensors(one, function) for one in value])
    return value


def has_unknown_sizes(call, metas):
    """Do the sizes of the results depend on values? Then the op can't tell them from the layouts of its arguments."""
    op = call.op
    if op.writes or op.is_view or op.is_pointwise or "generator" in op.params:  # that would draw
        return False
    try:
        arguments = map_tensors(call.arguments, lambda x: on_meta(*layout_of(x)[:3]))
        result = call.op(*arguments)
    except Exception:  # it says itself that it needs values
        return True
    made = list(tensors_in(result))
    if "::" in op.name:
        check_fake(op, made, metas)
    return [x.shape for x in made] != [x.shape for x in metas]


def check_fake(op, made, metas):
    """Raise unless the fake of a program's op said what its kernel returned: code that is generated for the fake's
    layout would read other memory.
    """
    said, real = ([described(x) for x in results] for results in (made, metas))
    if said != real:
        kernel, fake = sources.of(op)()
        raise ShapeError(
            f"{op.name}: its kernel returned (shape, strides, dtype) {as_text(real)}, and its fake said "
            f"{as_text(said)}; let the fake, {fake}, return what the kernel does, {kernel}. "
            f"library.opcheck finds such mistakes"
        )


def described(x):
    """(shape, strides, dtype) of a result; strides that no element depends on count as equal."""
    steps = [step if size > 1 else 1 for size, step in zip(x.shape, x.stride(), strict=True)]
    return tuple(x.shape), tuple(steps if x.numel() else ()), x.dtype


def as_text(descriptions):
    return ", ".join(map(str, descriptions))
