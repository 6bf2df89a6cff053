"""Record a function as a graph of ops, with a Recorder alone: enough for programs whose Python reads no values."""

import operator
import sys

import tensorlab
from tensorlab._core.dispatch.facets import reads_values
from tensorlab._core.dispatch.recorder import Recorder
from tensorlab.compiler.joint.interpreter import map_leaves, on_meta
from tensorlab.fx.graph import Graph


class GraphRecorder(Recorder):
    """A Recorder that writes a Graph; what no recorded call has made becomes a placeholder, like the inputs."""

    def __init__(self, inputs):
        super().__init__()
        self.graph, self.inputs, self.nodes = Graph(), [], {}
        self.kept = []  # tensors whose addresses are in use
        for x in inputs:
            self.add_input(x)

    def add_input(self, x):
        with self.graph.inserting_after(self.nodes[id(self.inputs[-1])] if self.inputs else None):
            node = self.graph.placeholder(f"input_{len(self.inputs)}")
        node.meta.update(
            val=on_meta(x), requires_grad=x.requires_grad, storage_offset=x.storage_offset()
        )
        self.inputs.append(x)
        self.nodes[id(x)] = node

    def node_of(self, value):
        if not isinstance(value, tensorlab.Tensor):
            return value
        if id(value) not in self.nodes:
            self.add_input(value)
        return self.nodes[id(value)]

    def call(self, op, arguments):
        if reads_values.of(op):  # the graph holds for the values that were seen
            return super().call(op, arguments)
        args = map_leaves(arguments, self.node_of)
        grad_enabled = tensorlab.is_grad_enabled()
        result = super().call(op, arguments)
        node = self.graph.call_function(op, args)
        node.meta.update(grad_enabled=grad_enabled, stack_trace=where())
        self.note(node, result)
        return result

    def note(self, node, result):
        self.kept.append(result)
        if isinstance(result, tensorlab.Tensor):
            node.meta.update(val=on_meta(result), requires_grad=result.requires_grad)
            node.meta["storage_offset"] = result.storage_offset()
            self.nodes[id(result)] = node
            return
        node.meta["val"] = map_leaves(result, on_meta)
        if not node.target.writes:
            for i, one in enumerate(result):
                item = self.graph.call_function(operator.getitem, (node, i))
                item.meta.update(node.meta)
                self.note(item, one)


def where():
    """The innermost frame outside of the package."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__", "").startswith("tensorlab."):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def record_graph(function, inputs):
    """Run `function(*inputs)` and return what it returns, its graph, and a tensor for each placeholder."""
    recorder = GraphRecorder(inputs)
    with recorder:
        result = function(*inputs)
    recorder.graph.output(map_leaves(result, recorder.node_of))
    return result, recorder.graph, recorder.inputs
