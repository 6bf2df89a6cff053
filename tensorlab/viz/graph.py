"""The autograd graph behind a tensor, read from its live nodes: as a list and as a drawing.

    y: (2,), made by #3
    #3 AddBackward0 -> #1, #2
    #2 MulBackward0 -> x, x
    #1 TanhBackward0 -> x
    x: leaf (2,)

Nodes are numbered in the order in which forward made them.  An arrow leads from a node to the one
that gets its gradient, so the result stands on top and the leaves stand below: the way of backward.

Only public attributes of tensors and nodes are used, so a graph of PyTorch is drawn as well.
"""

import math
import re

from . import modules
from .hooks import read_hooks
from .layered import Edge, Row, Vertex, draw, order_layers, place, split_layers
from .picture import CHARACTER, LINE, MARGIN, Picture, label
from .saved import read_saved, shape_text, total

__all__ = ["graph"]


def graph(*tensors, module=None, names=None, notes=None, saved=False, hooks=False, most_nodes=100):
    """Draw the autograd graph of some results: nodes, leaves with their shapes, edges.

    `graph(model, x)` runs a module on its inputs and draws the graph of what it returns; the nodes
    say which submodule made them.

    Parameters
    ----------
    *tensors : Tensors that require grad; or a Module and its inputs
    module : Module whose parameters are called by their names; the first argument if that is one
    names : dict from name to Tensor: how results, intermediate tensors and leaves are called
    notes : dict from node to str: one more line in the node's box
    saved : bool; show what each node has saved for backward, in bytes, with the version that it
        had then in a square, crossed out if the tensor is at another one now
    hooks : bool; show the hooks of each node and of the tensors that it made, as far as they
        are named, in the order of their calls
    most_nodes : int, more are refused, because no one could read the picture

    Returns
    -------
    Picture, which a notebook shows; `str` gives it as text, `save(path)` writes a file

    Raises
    ------
    ValueError
        If a tensor has no graph, or the graph has too many nodes.
    TypeError
        If something is neither a Tensor nor, in the first place, a Module.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import viz
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> y = x.tanh() + x * x
    >>> print(viz.graph(y, names={"x": x, "y": y}))
    y: (2,), made by #3
    #3 AddBackward0 -> #1, #2
    #2 MulBackward0 -> x, x
    #1 TanhBackward0 -> x
    x: leaf (2,)

    >>> model = tensorlab.nn.Sequential(tensorlab.nn.Linear(2, 3), tensorlab.nn.Tanh())
    >>> viz.graph(model, tensorlab.ones(1, 2))
    result: (1, 3), made by #2
    #2 TanhBackward0 -> #1, in 1 (Tanh)
    #1 AddmmBackward0 -> 0.weight, 0.bias, in 0 (Linear)
    0.weight: leaf (3, 2)
    0.bias: leaf (3,)

    >>> viz.graph(y, names={"x": x}, saved=True)
    result: (2,), made by #3
    #3 AddBackward0 -> #1, #2
    #2 MulBackward0 -> x, x
        saves self: x (2,), 8 bytes, version 0
        saves other: x (2,), 8 bytes, version 0
    #1 TanhBackward0 -> x
        saves result: (2,), 8 bytes, version 0
    x: leaf (2,)
    saved: 3 tensors in 2 storages of 16 bytes
    """
    names, notes = dict(names or {}), dict(notes or {})
    if tensors and modules.is_module(tensors[0]):
        module, *inputs = tensors
        tensors, owners = modules.run(module, inputs)
        notes = {**owners, **notes}
    if module is not None:
        names = {**modules.names_of(module), **names}
    nodes = in_order(collect(tensors, most_nodes, "viz.graph"))
    boxes = read_nodes(nodes, names)
    add_notes(boxes, tensors, names, notes)
    if hooks:
        add_hooks(boxes, [*tensors, *names.values()])
    below = [add_saved(boxes, names)] if saved else []
    results = read_results(boxes, tensors, names)
    vertices = [*results, *boxes.values()]
    title = f"Autograd graph of {', '.join(vertex.name for vertex in results)}"
    words = "; ".join([*map(sentence, vertices), *below])
    description = f"Edges lead the way that gradients go. {words}."
    lines = [line for vertex in vertices for line in (text_line(vertex), *rows_text(vertex))]
    lines += below
    layers = split_layers(vertices)
    order_layers(layers)
    width, height = place(layers)
    shapes = draw(layers)
    for line in below:
        shapes.append(label(MARGIN, height + LINE / 2, line))
        width, height = max(width, len(line) * CHARACTER + 2 * MARGIN), height + LINE
    return Picture(title, description, "\n".join(lines), math.ceil(width), height, shapes)


# ---------------------------------------------------------------- reading the live graph
def add_notes(boxes, tensors, names, notes):
    """Write into the boxes which named tensor a node made, and the user's notes."""
    for node, note in notes.items():
        if node in boxes:
            boxes[node].lines.append(note)
    for name, tensor in names.items():
        if tensor.grad_fn in boxes and not any(tensor is result for result in tensors):
            boxes[tensor.grad_fn].lines.insert(1, f"made {name} {shape_text(tensor)}")


def read_results(boxes, tensors, names):
    """Return a vertex for each result."""
    called = {id(tensor): name for name, tensor in names.items()}
    results = []
    for number, tensor in enumerate(tensors, 1):
        name = called.get(id(tensor), "result" if len(tensors) == 1 else f"result{number}")
        edge = Edge(boxes[tensor.grad_fn], tensor.output_nr)
        lines = [f"{name} {shape_text(tensor)}"]
        results.append(Vertex(name, lines, is_tensor=True, edges=[edge]))
    return results


def add_hooks(boxes, tensors):
    """Write into the boxes which hooks backward will call there."""
    distinct = {id(tensor): tensor for tensor in tensors}.values()
    for node, box in boxes.items():
        if is_leaf(node):
            made = [node.variable]
        else:
            made = [tensor for tensor in distinct if tensor.grad_fn is node]
        box.rows += [Row(text) for text in read_hooks(node, made)]


def add_saved(boxes, names):
    """Write into the boxes what the nodes have saved; return how much that is."""
    made = {(tensor.grad_fn, tensor.output_nr): name for name, tensor in names.items()}

    def called(tensor):
        """Return the name of a saved tensor, or where it came from, or nothing."""
        if tensor.grad_fn is None:
            leaves = {id(n.variable): box.name for n, box in boxes.items() if is_leaf(n)}
            others = {id(other): name for name, other in names.items()}
            return leaves.get(id(tensor)) or others.get(id(tensor), "")
        box = boxes.get(tensor.grad_fn)
        if box and box.is_tensor:  # unpacked: it leads to the leaf, and is not the leaf itself
            return box.name
        name = made.get((tensor.grad_fn, tensor.output_nr))
        return name or (f"{box.name}'s result" if box else "")

    everything = []
    for node, box in boxes.items():
        found = read_saved(node, called)
        box.rows += [one.row() for one in found]
        everything += found
    return total(everything)


def read_nodes(nodes, names, numbers=None):
    """Return {node: vertex} for some nodes in order, with the edges between them.

    Nodes get the numbers that are given, else they are counted from the first that was made.
    """
    made = sum(not is_leaf(node) for node in nodes)
    called = {id(tensor): name for name, tensor in names.items()}
    vertices = {}
    for position, node in enumerate(nodes):
        if is_leaf(node):
            name = called.get(id(node.variable), f"leaf{position - made + 1}")
            lines = [f"{name} {shape_text(node.variable)}"]
        else:
            name = f"#{made - position if numbers is None else numbers[node]}"
            lines = [f"{name} {node.name()}"]
        vertices[node] = Vertex(name, lines, is_tensor=is_leaf(node))
    for node, vertex in vertices.items():
        vertex.edges = [
            Edge(vertices[child], k) for child, k in node.next_functions if child is not None
        ]
    return vertices


def in_order(nodes):
    """Return the nodes that forward made, the last first, and then those of the leaves."""
    made = [node for node in nodes if not is_leaf(node)]
    made.sort(key=lambda node: -node._sequence_nr())
    return [*made, *filter(is_leaf, nodes)]


def is_leaf(node):
    return hasattr(node, "variable")


def collect(tensors, most_nodes, where):
    """Return every node that can be reached from the results, each once."""
    if not tensors:
        raise ValueError(f"{where}: no tensors are given; pass the result whose graph to draw")
    for tensor in tensors:
        if not hasattr(tensor, "grad_fn"):
            raise TypeError(
                f"{where}: a {type(tensor).__name__} is given; expected Tensors that require "
                "grad, or a Module and its inputs"
            )
        if tensor.grad_fn is None:
            raise ValueError(
                f"{where}: the tensor has no graph: it is a leaf, or was computed from nothing "
                "that requires grad; pass a result"
            )
    return reachable([tensor.grad_fn for tensor in tensors], most_nodes, where)


def reachable(nodes, most_nodes, where):
    """Return some nodes and everything that can be reached from them, each once."""
    found = dict.fromkeys(nodes)
    stack = list(reversed(found))
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None and node not in found:
                found[node] = None
                stack.append(node)
                if len(found) > most_nodes:
                    raise ValueError(
                        f"{where}: the graph has more than {most_nodes} nodes; draw a smaller "
                        "example, or raise most_nodes"
                    )
    return list(found)


def text_line(vertex):
    """Return what the text says of one vertex."""
    ends = [end_text(edge) for edge in vertex.edges if not edge.is_past]
    about = vertex.lines[0].removeprefix(vertex.name).strip()
    rest = "".join(f", {line}" for line in vertex.lines[1:])
    if not vertex.is_tensor:
        return f"{vertex.name} {about} -> {', '.join(ends) or 'nothing'}{rest}"
    if vertex.edges:
        by = [f", made by {end}" for end in ends]
        by += [f", before by {end_text(edge)}" for edge in vertex.edges if edge.is_past]
        return f"{vertex.name}: {about}{rest}{''.join(by)}"
    return f"{vertex.name}: leaf {about}{rest}"


def rows_text(vertex):
    """Yield what the text says of a vertex below its first line."""
    for row in vertex.rows:
        yield f"    {row}"


def sentence(vertex):
    """Return everything that is said of a vertex, in one line."""
    return ", ".join([text_line(vertex), *map(str, vertex.rows)])


def end_text(edge):
    """Return where an edge leads, with the number of the output if it is not the first."""
    return edge.target.name + (f"[{edge.number}]" if edge.number else "")


def short_name(name):
    """Return what tells one node from others where there is little room: Mul of MulBackward0."""
    return re.sub(r"Backward\d*$", "", name).rpartition("::")[2]
