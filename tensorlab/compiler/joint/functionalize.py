"""Functionalize: from a graph whose ops write over tensors to one whose ops only make new ones.

    recorded                    functional
    %x = placeholder            %x = placeholder
    %y = slice(%x, ...)         %y = slice(%x, ...)
    %z = mul_(%y, 2)            %mul = mul(%y, 2)
                                %new = view_scatter(%x, %mul, slice, ...)
    %s = sum(%x)                %s = sum(%new) return %s, %y               return %s, %new      and
    afterwards x.copy_(new); the second result is slice(x, ...)

An op that writes runs as the op that makes a new tensor (`op.functional`), whose result becomes the
value of the memory (memory.py). What inputs hold in the end is written over them once, when the
graph has run; results that lie in the memory of an input, or of another result, are made from that
by their views (`finish`).

The steps of optimizers write to many tensors in one loop. They stay as they are, if nothing reads
what they have written: then they come after everything that reads its old value.
"""

from tensorlab._core.dispatch.facets import forgets_history
from tensorlab._tensor import Tensor
from tensorlab.compiler.cannot_compile import CannotCompile
from tensorlab.compiler.joint.interpreter import (
    is_alias,
    is_getitem,
    is_random,
    is_write,
    map_nodes,
    nodes_of,
    on_meta,
)
from tensorlab.compiler.joint.memory import (
    KEPT,
    Alias,
    Builder,
    Memory,
    View,
    is_one_to_one,
)
from tensorlab.compiler.joint.results import Functional, Result, Slot, run_functional
from tensorlab.compiler.joint.rewrites import functionalization
from tensorlab.fx.graph import Graph
from tensorlab.fx.node import Node
from tensorlab.ops.creation import empty_like

__all__ = [
    "Functional",
    "Result",
    "Slot",
    "functionalize",
    "functionalize_values",
    "run_functional",
]


def functionalize(graph, shared=()):
    """Make a recorded graph functional.

    Parameters
    ----------
    graph : Graph of calls of ops; it is left as it is
    shared : sets of numbers of placeholders whose memory overlaps; none of them may be written

    Returns
    -------
    Functional

    Raises
    ------
    CannotCompile
        If a write can't be expressed so: the reason names the op and the line of the program.
    """
    functionalizer = Functionalizer(graph, shared)
    functionalizer.run()
    return functionalizer.give_back()


def functionalize_values(graph):
    """A functional form of a graph that writes to no input: it returns values, and does not say which are aliases."""
    functionalizer = Functionalizer(graph, ())
    functionalizer.run()
    functionalizer.give_values()
    return functionalizer.graph


class Functionalizer:
    def __init__(self, graph, shared):
        self.old, self.graph = graph, Graph()
        self.builder = Builder(self.graph, {})
        self.shared = set().union(*shared)
        self.inputs = []  # placeholders of the new graph
        self.values = {}  # node of the recorded graph: Alias, or Node if it isn't a tensor
        self.items = {}  # (call with several results, number): Alias
        self.gained = {}  # memory: the write that has given it a history
        self.lost, self.lost_history = set(), []  # memory that was written without one
        self.returned = None

    def run(self):
        for node in self.old.nodes:
            if node.op == "placeholder":
                self.add_input(node)
            elif node.op == "output":
                self.returned = node.args[0]
            else:
                self.builder.meta = {key: node.meta[key] for key in KEPT if key in node.meta}
                self.values[node] = self.translate(node)
        self.builder.meta = {}

    def add_input(self, node):
        new = self.graph.placeholder(node.target)
        new.meta = {**node.meta, "val": on_meta(node.meta["val"])}
        begins = node.meta.get("storage_offset", 0)
        memory = Memory(new, origin=len(self.inputs), begins=begins)
        self.inputs.append(new)
        self.values[node] = Alias(memory, (), new, 0, node.meta.get("requires_grad", False))

    # ------------------------------------------------------------ calls
    def translate(self, node):
        if is_getitem(node):
            return self.get_item(node)
        change = functionalization.of(node.target)
        if change is not None:
            target = self.values[node.args[0]] if isinstance(node.args[0], Node) else None
            return change(self, node, target)
        if is_write(node):
            return self.write(node)
        if is_alias(node):
            return self.view(node, None)
        new = self.builder.call(node.target, self.read_args(node.args, node), node.meta.get("val"))
        if "requires_grad" in node.meta:
            new.meta["requires_grad"] = node.meta["requires_grad"]
        if not isinstance(new.meta["val"], Tensor):
            return new  # a number that was read, or several results
        return self.fresh(new, node)

    def fresh(self, new, node):
        """The Alias of a tensor with memory of its own."""
        requires_grad = node.meta.get("requires_grad", False)
        strides = node.meta.get("val", new.meta["val"]).stride()
        begins = node.meta.get("storage_offset", 0)
        memory = Memory(new, strides=strides, requires_grad=requires_grad, begins=begins)
        return Alias(memory, (), new, 0, requires_grad)

    def get_item(self, node):
        """One of several results. Asked for twice it is the same tensor."""
        call, i = node.args
        if (call, i) not in self.items:
            if is_alias(call):
                self.items[call, i] = self.view(call, i)
            else:
                new = self.builder.call(node.target, (self.values[call], i))
                is_tensor = isinstance(new.meta["val"], Tensor)
                self.items[call, i] = (
                    self.fresh(new, node) if is_tensor else new
                )  # a list of results
        return self.items[call, i]

    def view(self, call, item):
        """The Alias that a call of a view makes, or the last of `item` + 1; None if it makes several."""
        if item is None and call.target.signature.results[0][1].is_list:
            return None
        source = self.values[call.args[0]]
        args = map_nodes(tuple(call.args[1:]), self.current)
        views = (*source.views, View(call.target, args, item, call.meta.get("grad_enabled", True)))
        return self.builder.alias(source.memory, views, call.meta.get("requires_grad", False))

    def read_args(self, args, node):
        return map_nodes(tuple(args), lambda one: self.current(one, node))

    def current(self, old, reader=None):
        """The node of the new graph that is the value of an old one now."""
        alias = self.values[old]
        if isinstance(alias, Node):
            return alias
        if reader is not None and reader.meta.get("grad_enabled", True):
            self.note_lost(alias, reader)
        return self.builder.read(alias, reader)

    def note_lost(self, alias, reader):
        if alias.memory in self.lost and alias.requires_grad:
            self.lost_history.append(reader)

    # ------------------------------------------------------------ writes
    def write(self, node):
        functional = node.target.functional
        if functional is None:
            raise CannotCompile("it has no form that makes a new tensor", node)
        target, args = self.values[node.args[0]], self.read_args(node.args, node)
        if functional.name == "copy" and args[0] is args[1]:
            return target  # x[0] += 1 ends with x[0] = x[0]
        like_target = empty_like(args[0].meta["val"])
        if is_random(node):  # numbers are drawn in the order of memory
            layout = empty_like(node.meta["val"])
            args = (self.builder.laid_out(args[0], layout.stride()), *args[1:])
        return self.assign(node, target, self.builder.call(functional, args, like_target))

    def assign(self, node, target, value):
        """Let `value` be what the tensor `target` holds."""
        old = self.builder.read(target, node)
        self.check_writable(node, target)
        new, before = value.meta["val"], old.meta["val"]
        if (new.dtype, new.shape) != (before.dtype, before.shape):
            value = self.builder.op("copy", old, value)
        grad_enabled = node.meta.get("grad_enabled", True)
        forgets = any(forgets_history.of(view.op) for view in target.views)
        if forgets and node.meta.get("requires_grad"):
            self.lost_history.append(node)  # what was written is followed, what lies below isn't
        elif grad_enabled and node.meta.get("requires_grad"):
            self.gained[target.memory] = node
        if forgets or (target.requires_grad and not grad_enabled):
            self.lost.add(target.memory)
        try:
            self.builder.write(target, value)
        except CannotCompile as error:
            raise CannotCompile(error.reason, node) from None
        target.requires_grad = node.meta.get("requires_grad", target.requires_grad)
        return target

    def check_writable(self, node, target):
        memory = target.memory
        if memory.origin in self.shared:
            raise CannotCompile("it writes to an input whose memory another input shares", node)
        if not is_one_to_one(target.node.meta["val"]):
            raise CannotCompile("several elements of what it writes to may share a place", node)

    # ------------------------------------------------------------ what is returned
    def owners(self):
        """The memory of each placeholder."""
        return [self.values[one].memory for one in self.old.find_nodes(op="placeholder")]

    def give_values(self):
        if any(memory.version for memory in self.owners()):
            raise CannotCompile("the derivative of an op writes to what it is given")
        self.graph.output(map_nodes(self.returned, self.current))

    def give_back(self):
        made, results, known = [], [], {}
        nodes = nodes_of(self.returned)
        tensors = [self.values[one] for one in nodes]
        for node, alias in zip(nodes, tensors, strict=True):
            if isinstance(alias, Alias) and alias.memory.origin is None:
                self.note_lost(alias, node)
            if id(alias) not in known:
                strides = node.meta["val"].stride() if isinstance(alias, Alias) else ()
                known[id(alias)] = self.result_of(alias, strides, tensors, made, known)
            results.append(known[id(alias)])
        positions = iter(range(len(results)))
        structure = map_nodes(self.returned, lambda _: Slot(next(positions)))
        writes = [(one.origin, self.final(one)) for one in self.owners() if one.version > 0]
        self.graph.output((*made, *(node for _, node in writes)))
        versions = {
            one.index: node.meta["writes_in_the_end"]
            for node, one in zip(nodes, results, strict=True)
            if one.kind == "made" and node.meta.get("writes_in_the_end")
        }
        return Functional(
            self.graph,
            len(made),
            writes,
            structure,
            results,
            self.lost_history,
            self.writes_left_out(writes),
            tuple(versions.items()),
        )

    def writes_left_out(self, writes):
        """(number of a placeholder, how often the program has written to it more than the graph will)."""
        made = [i for i, _ in writes]
        made += [
            self.inputs.index(one)
            for node in self.graph.nodes
            if is_write(node)
            for one in nodes_of(node.args)
            if one in self.inputs
        ]
        counts = [
            (i, one.meta.get("writes", 0) - made.count(i)) for i, one in enumerate(self.inputs)
        ]
        return tuple([(i, count) for i, count in counts if count > 0])

    def final(self, memory):
        """The value that an input has in the end; without a history if it was written without one."""
        if memory not in self.lost:
            return memory.value
        if memory in self.gained:
            self.lost_history.append(self.gained[memory])
        return self.builder.op("detach", memory.value)

    def result_of(self, alias, strides, tensors, made, known):
        if isinstance(alias, Node):  # a number that was read
            made.append(alias)
            return Result("made", len(made) - 1, ())
        memory = alias.memory
        if memory.origin is not None:
            return Result("input", memory.origin, alias.views)
        together = {id(one) for one in tensors if isinstance(one, Alias) and one.memory is memory}
        memory.sealed = None  # nothing comes after it: it is read when everything has been written
        is_alone = len(together) == 1 and not self.takes_after_base(alias)
        if is_alone and self.builder.read(alias).meta["val"].stride() == strides:
            made.append(alias.node)
            return Result("made", len(made) - 1, ())
        if memory not in known:  # several views: their memory is returned, and they are made of it
            made.append(self.builder.laid_out(memory.value, memory.strides))
            known[memory] = len(made) - 1
        return Result("made", known[memory], alias.views)

    def takes_after_base(self, alias):
        """Whether a tensor is a view made without grad mode, with its base's requires_grad."""
        memory, views = alias.memory, alias.views
        return (
            (memory.requires_grad or memory in self.gained)
            and not all(view.grad_enabled for view in views)
            and not any(forgets_history.of(view.op) for view in views)
        )
