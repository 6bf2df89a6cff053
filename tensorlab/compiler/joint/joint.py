"""Forward and backward as one graph, before anything runs.

The functional graph runs once more on meta tensors, with autograd and a Recorder: first its own
ops, then those that `grad` calls for its results, its differentiable inputs and a tangent (the
gradient of a result) for each. The list of calls is the joint graph. Formulas of derivatives write
in place, so it is made functional in its turn.

    %x = placeholder                 %x = placeholder
    %y = tanh(%x)            ->      %tangent = placeholder
    return %y                        %y = tanh(%x)
                                     %g = tanh_backward(%tangent, %y)      meta["is_backward"]
                                     return %y, %g
"""

import operator
from contextlib import nullcontext
from dataclasses import dataclass

from tensorlab._core.device import CPU
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._core.dispatch.recorder import Recorder
from tensorlab._core.engine.backward import grad
from tensorlab._tensor import Tensor
from tensorlab.autograd.grad_mode import set_grad_enabled
from tensorlab.compiler.cannot_compile import CannotCompile, LostHistory
from tensorlab.compiler.capture.trace import is_value_read
from tensorlab.compiler.joint.functionalize import functionalize_values
from tensorlab.compiler.joint.interpreter import (
    is_write,
    leaves_of,
    map_leaves,
    new_on_meta,
    on_meta,
    run_by,
)
from tensorlab.compiler.joint.memory import KEPT, is_one_to_one
from tensorlab.compiler.joint.partition import partition
from tensorlab.fx.graph import Graph
from tensorlab.ops.creation import empty_like

VIEW_SCATTER, AS_STRIDED = REGISTRY["view_scatter"], REGISTRY["as_strided"]


@dataclass
class Joint:
    """Graphs of forward and backward, and how they fit together.

    Attributes
    ----------
    forward : Graph, which takes the placeholders of the functional graph, and returns its
        results, the new values of its inputs, and what backward needs
    saved : number of the last
    backward : Graph, which takes what was saved, then a tangent for each number in `tangents`;
        it returns a gradient or None for each placeholder of forward
    tangents : list of int, the results of forward that have a gradient. A tangent has the
        layout of the result, or is dense if elements of the result share a place; where the
        program gives none, it is zeros
    whole : Graph, the joint graph before partition; it takes placeholders, then tangents, and
        returns results, then gradients
    """

    forward: Graph
    saved: int
    backward: Graph
    tangents: list
    whole: Graph


def joint(functional, wants_grad, mode="save", prepare=None):
    """Derive the backward graph of a functional graph.

    Parameters
    ----------
    functional : Functional
    wants_grad : list of bool, for each placeholder whether it requires grad
    mode : "save", or "recompute": backward computes pointwise ops again where that saves memory
    prepare : function of the joint graph, which it may change, such as `run_passes`; it is called
        before partition, so that what forward and backward have in common is computed once

    Returns
    -------
    Joint, or None if no result depends on an input that requires grad

    Raises
    ------
    LostHistory
        If the history of the graph's ops isn't that of the program.
    CannotCompile
        If the program, or a formula of a derivative, reads values.
    """
    if not any(wants_grad):
        return None
    refuse_lost(functional)
    traced = trace(functional.graph, wants_grad)
    if traced is None:
        return None
    whole, tangents, results = traced
    if prepare is not None:
        prepare(whole)
    forward, backward, saved = partition(
        whole, results, len(wants_grad), {i for i, _ in functional.writes}, mode
    )
    return Joint(forward, saved, backward, tangents, whole)


def check_histories(functional, wants_grad):
    """Raise LostHistory unless the graph has right gradients if autograd records its calls.

    That is what is left to do with a graph that reads values, of which `joint` makes no backward.
    """
    if any(wants_grad):
        refuse_lost(functional)
        recorder = JointRecorder()
        inputs, checks = start(recorder, functional.graph, wants_grad)
        run_on_meta(functional.graph, inputs, recorder, checks, reads_values=True)


def refuse_lost(functional):
    if functional.lost_history:
        raise LostHistory(
            "it reads a tensor with a history that was written where autograd did not see it",
            functional.lost_history[0],
        )


class JointRecorder(Recorder):
    """Writes the calls that run on meta as a graph."""

    def __init__(self):
        super().__init__()
        self.graph, self.nodes, self.kept = Graph(), {}, []
        self.meta = {}  # of the node that is running
        self.last = None  # placeholder

    def add_input(self, x, like=None, name=None):
        """A placeholder for x, a tensor on meta, after the others; with name and meta of another one."""
        with self.graph.inserting_after(self.last) if self.last else nullcontext():
            self.last = self.graph.placeholder(like.target if like else name)
        self.last.meta = {**(like.meta if like else {}), "val": on_meta(x)}
        self.keep(x, self.last)
        return x

    def keep(self, x, node):
        self.kept.append(x)  # its address stays its own
        self.nodes[id(x)] = node

    def node_of(self, value):
        if not isinstance(value, Tensor):
            return value
        if id(value) not in self.nodes:
            raise CannotCompile("backward uses a tensor that is neither an input nor was computed")
        return self.nodes[id(value)]

    def call(self, op, arguments):
        parameters = op.signature.parameters
        args = [
            CPU if one.type.word == "Device" else map_leaves(value, self.node_of)
            for one, value in zip(parameters, arguments, strict=True)
        ]  # before the call, which may write to them
        node = self.graph.call_function(op, tuple(args))
        node.meta = dict(self.meta)
        result = op(*new_on_meta(op, arguments))
        self.note(node, result)
        return result

    def note(self, node, result):
        if isinstance(result, Tensor):
            node.meta["val"] = on_meta(result)
            self.keep(result, node)
            return
        node.meta["val"] = map_leaves(result, on_meta)
        for i, one in enumerate(result):
            item = self.graph.call_function(operator.getitem, (node, i))
            item.meta = dict(self.meta)
            self.note(item, one)


# ---------------------------------------------------------------- the trace
def trace(graph, wants_grad):
    """The functional joint graph, the results with tangents, and the number of results; or None."""
    recorder = JointRecorder()
    inputs, checks = start(recorder, graph, wants_grad)
    with recorder:
        results = run_on_meta(graph, inputs, recorder, checks)
    followed = [i for i, y in enumerate(results) if has_history(y)]
    if not followed:
        return None
    tangents = [
        recorder.add_input(tangent_of(results[i]), name=f"tangent_{i}")  # on meta
        for i in followed
    ]
    with recorder:
        gradients = differentiate(recorder, [results[i] for i in followed], inputs, tangents)
    recorder.graph.output(tuple(recorder.node_of(one) for one in (*results, *gradients)))
    return functionalize_values(recorder.graph), followed, len(results)


def start(recorder, graph, wants_grad):
    """Inputs on meta, and whether histories can be checked: some inputs may have one that isn't wanted."""
    placeholders = graph.find_nodes(op="placeholder")
    inputs = [
        recorder.add_input(on_meta(node.meta["val"]).requires_grad_(wanted), node)
        for node, wanted in zip(placeholders, wants_grad, strict=True)
    ]
    recorded = [node.meta.get("requires_grad") for node in placeholders]
    return inputs, all(wanted or not one for wanted, one in zip(wants_grad, recorded, strict=True))


def has_history(y):
    """Whether backward can begin at y. A view that was made without grad mode requires grad, and leads nowhere."""
    return isinstance(y, Tensor) and y.grad_fn is not None


def tangent_of(y):
    """A tensor on meta with the layout of the gradient of y, in which each element has a place of its own."""
    return on_meta(y) if is_one_to_one(y) else empty_like(on_meta(y))


def run_on_meta(graph, inputs, recorder, checks, *, reads_values=False):
    """Run the functional graph as the program ran: in the same grad modes, with the same histories.

    With `reads_values` what depends on values is as it was recorded.
    """

    def call(node, args):
        if is_value_read(node) or is_write(node):
            if not reads_values:
                raise CannotCompile("it can't be part of a graph with gradients", node)
            return node.meta["val"]
        recorder.meta = {key: node.meta[key] for key in KEPT if key in node.meta}
        result = run_node(node, args, reads_values)
        if checks:
            check_history(node, result)
        return result

    return run_by(call, graph, inputs)


def run_node(node, args, reads_values):
    try:
        with set_grad_enabled(node.meta.get("grad_enabled", True)):
            return node.target(*new_on_meta(node.target, args))
    except NotImplementedError as error:
        if reads_values:
            followed = any(x.requires_grad for x in tensors_of(args))
            return map_leaves(node.meta["val"], lambda x: as_recorded(x, node, followed))
        raise CannotCompile(f"its result depends on values: {error}", node) from None


def as_recorded(x, node, followed):
    """A tensor on meta that requires grad if the recorded one did; if it is not known, if an argument does."""
    wanted = node.meta.get("requires_grad")
    wanted = followed and x.is_floating_point() if wanted is None else wanted
    return on_meta(x).requires_grad_(bool(wanted))


def tensors_of(args):
    return [x for x in leaves_of(args) if isinstance(x, Tensor)]


def check_history(node, value):
    """Raise unless the value has a history where the program's had one."""
    if node.target is VIEW_SCATTER and node.args[2] is AS_STRIDED and value.requires_grad:
        raise CannotCompile("it writes to a window, and the gradient would need its layout", node)
    recorded = node.meta.get("requires_grad")
    if recorded and isinstance(value, Tensor) and not value.requires_grad:
        raise LostHistory("its history comes from something that is no op", node)


def differentiate(recorder, results, inputs, tangents):
    """A gradient, or None, for each input."""
    followed = [x for x in inputs if x.requires_grad]
    recorder.meta = {"grad_enabled": False, "is_backward": True}
    try:
        found = iter(grad(results, followed, tangents, allow_unused=True))
    except NotImplementedError as error:
        raise CannotCompile(f"a derivative depends on values: {error}") from None
    return [next(found) if x.requires_grad else None for x in inputs]
