"""From a functional graph to a list of kernels and calls, in an order in which they can run.

Where there is no C compiler, groups are instructions for blocks.pyx instead of kernels.
"""

import hashlib

from tensorlab.compiler.joint.interpreter import may_raise
from tensorlab.compiler.lowering.blocks import BlockPartition, block_group
from tensorlab.compiler.lowering.chunks import row_kernels
from tensorlab.compiler.lowering.fusion import Partition
from tensorlab.compiler.lowering.index_maps import op_name
from tensorlab.compiler.lowering.pointwise import pointwise_kernel
from tensorlab.compiler.lowering.reductions import reduced_dims
from tensorlab.compiler.lowering.steps import Blocks, Call, Kernel
from tensorlab.compiler.toolchain import without_comments

__all__ = ["Blocks", "Call", "Kernel", "block_schedule", "schedule"]


def schedule(graph, folds=True):
    """Divide a graph into kernels and calls.

    Parameters
    ----------
    graph : fx.Graph of op calls with `meta["val"]`, in which no op writes over its argument

    Returns
    -------
    list of Kernel and Call, in the order in which they run. Kernels that differ in nothing but
    their numbers have the same name and source. Nodes that no step makes are
    not needed.

    Without `folds` reductions are calls of ops, so that all results are those of the ops, to the last bit.
    An op that writes over its arguments, such as an optimizer's step, runs when everything else has read them.
    """
    return steps_of(Partition(graph, folds), kernels_for)


def block_schedule(graph):
    """Divide a graph into groups that run in blocks, and calls: a list of Blocks and Call.

    No reduction is in a group, and all results are those of the ops, to the last bit.
    """
    return steps_of(BlockPartition(graph), lambda nodes, outputs: [block_group(nodes, outputs)])


def steps_of(partition, lower):
    """The steps of a partition in order; `lower(nodes, outputs)` makes those of a group."""
    needed = needed_nodes(partition)
    steps = []
    for work in sorted(in_order(partition, needed), key=is_write):
        if isinstance(work, list):
            outputs = [node for node in work if node in needed]
            if outputs:
                steps += lower(work, outputs)
        else:
            steps.append(Call(work))
    return steps


def is_write(work):
    """Whether a node's op writes over its arguments; no group has one."""
    return not isinstance(work, list) and bool(op_name(work)) and work.target.writes


def kernels_for(nodes, outputs):
    """Lower a group. A kernel's name says what it does and, in six digits, what its source is."""
    stem = "_".join(dict.fromkeys(op_name(node) for node in nodes))[:40].rstrip("_")
    if any(reduced_dims(node) for node in nodes):
        kernels = row_kernels("NAME", nodes, outputs)
    else:
        kernels = [pointwise_kernel("NAME", set(nodes), outputs)]
    for kernel in kernels:
        digits = hashlib.sha256(without_comments(kernel.source).encode()).hexdigest()[:6]
        name = kernel.name.replace("NAME", f"fused_{stem}_{digits}")
        kernel.source = kernel.source.replace(f"{kernel.name}(", f"{name}(")
        kernel.name = name
    return kernels


def needed_nodes(partition):
    """Find the nodes whose values must be in memory: something outside of their kernel reads them."""
    needed, todo = set(), []

    def need(node):
        if node not in needed:
            needed.add(node)
            todo.append(node)

    for node in partition.graph.nodes:
        if node.op == "output":
            for one in node.all_input_nodes:
                need(one)
        elif node in partition.draws or is_write(node) or may_raise(node):
            need(node)  # the generator moves on, memory changes, an error is raised
    while todo:
        node = todo.pop()
        step = partition.step_of.get(node)
        if step is not None and step.is_group:
            for member in step.nodes:
                for one in member.all_input_nodes:
                    root = partition.source_of(one)
                    if root not in step.nodes and not partition.is_inlined(root):
                        need(root)
        else:
            for one in node.all_input_nodes:
                need(one)
    return needed


def in_order(partition, needed):
    """Yield the nodes of each group and each node that is called, after what they need."""
    done, result = set(), []

    def visit(node):
        """Depth first, without recursion: programs are longer than Python's stack."""
        stack = [(node, None)]
        while stack:
            node, rest = stack.pop()
            step = partition.step_of.get(node)
            key = step if step is not None and step.is_group else node
            if rest is None:
                if key in done or node.op in ("placeholder", "output", "get_attr"):
                    continue
                rest = iter(requirements(partition, node, step, needed))
            for one in rest:
                other = partition.step_of.get(one)
                if (other if other is not None and other.is_group else one) not in done:
                    stack.append((node, rest))
                    stack.append((one, None))
                    break
            else:
                if key not in done:
                    done.add(key)
                    result.append(step.nodes if key is step else node)

    for node in partition.nodes:
        if node in needed:
            visit(node)
    return result


def requirements(partition, node, step, needed):
    """List what must have run before a node's step."""
    if step is not None and step.is_group:
        roots = (
            partition.source_of(one) for member in step.nodes for one in member.all_input_nodes
        )
        return [root for root in dict.fromkeys(roots) if root not in step.nodes and root in needed]
    draws = partition.draws
    earlier = draws[: draws.index(node)][-1:] if node in draws else []
    return [*earlier, *node.all_input_nodes]
