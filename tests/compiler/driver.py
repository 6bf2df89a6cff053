"""Record a function as a graph, schedule it, and run the schedule by calling its kernels through ctypes."""

import ctypes
import math
import operator

import tensorlab
from tensorlab._core.dispatch.recorder import Recorder
from tensorlab.compiler import toolchain
from tensorlab.compiler.build import build_plan, nodes_in, output_of
from tensorlab.compiler.lowering import Kernel, block_schedule, schedule
from tensorlab.fx import Graph, Node
from tensorlab.fx.node import map_aggregate


def meta_of(x):
    """A tensor on "meta" with the layout of x."""
    return tensorlab.empty_strided(tuple(x.shape), tuple(x.stride()), dtype=x.dtype, device="meta")


def record(function, *inputs, line="program.py:1 in f"):
    """The graph of a function's op calls; its placeholders are the inputs."""
    with Recorder() as recorder:
        results = function(*inputs)
    graph, nodes, alive = Graph(), {}, []

    def note(node, value):
        node.meta.update(stack_trace=line)
        if isinstance(value, tensorlab.Tensor):
            nodes[id(value)] = node
            alive.append(value)
            node.meta["val"] = meta_of(value)
        else:
            node.meta["val"] = tuple(meta_of(one) for one in value)
            for k, one in enumerate(value):
                note(graph.call_function(operator.getitem, (node, k)), one)

    def named(value):
        return nodes[id(value)] if isinstance(value, tensorlab.Tensor) else value

    for x in inputs:
        note(graph.placeholder("x"), x)
    for call in recorder.calls:
        arguments = map_aggregate(tuple(call.arguments), named)
        note(graph.call_function(call.op, arguments), call.result)
    graph.output(map_aggregate(results, named))
    return graph


def run(graph, steps, inputs):
    """What the graph returns, computed by the steps of its schedule."""
    kernels = [step for step in steps if isinstance(step, Kernel)]
    addresses = toolchain.load([kernel.source for kernel in kernels])
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    values = dict(zip(placeholders, inputs, strict=True))
    for step in steps:
        if isinstance(step, Kernel):
            values.update(
                zip(step.outputs, launch(step, addresses[step.name], values), strict=True)
            )
        else:
            arguments = map_aggregate(
                step.node.args, lambda one: values[one] if isinstance(one, Node) else one
            )
            values[step.node] = step.node.target(*arguments)
    return map_aggregate(graph.output_node().args[0], lambda one: values.get(one, one))


KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def launch(kernel, address, values, ranges=None):
    """Allocate a kernel's outputs and call it for all of its indices, or for the ranges that are given.

    What it leaves out must not be found there by chance: memory that was freed holds results of before.
    """
    outputs = [
        tensorlab.empty_strided(tuple(val.shape), tuple(val.stride()), dtype=val.dtype)
        for val in (node.meta["val"] for node in kernel.outputs)
    ]
    for one in outputs:
        one.fill_(math.nan if one.is_floating_point() else 85)
    tensors = [values[node] for node in kernel.inputs] + outputs
    pointers = (ctypes.c_void_p * len(tensors))(*(x.data_ptr() for x in tensors))
    numbers = (ctypes.c_int64 * max(len(kernel.numbers), 1))(*kernel.numbers)
    for begin, end in ranges or cut(kernel.count):
        KERNEL(address)(pointers, numbers, begin, end)
    return outputs


def cut(count):
    """Three ranges of odd sizes, out of order: whoever shares the work out may do it in any way."""
    first, second = count // 3, count // 3 * 2 + 1
    if not 0 < first < second < count:
        return [(0, count)]
    return [(second, count), (0, first), (first, second)]


def compiled(function, *inputs):
    """What `function(*inputs)` gives when its schedule is run, and the schedule."""
    with tensorlab.no_grad():
        graph = record(function, *inputs)
        steps = schedule(graph)
        return run(graph, steps, inputs), steps


def in_blocks(function, *inputs):
    """What `function(*inputs)` gives as a plan without a C compiler, and its schedule."""
    with tensorlab.no_grad():
        graph = record(function, *inputs)
    steps = block_schedule(graph)
    results = nodes_in(output_of(graph))
    values = build_plan(graph, steps).run(inputs)
    values = dict(zip(results, values, strict=True))
    return map_aggregate(output_of(graph), values.__getitem__), steps
