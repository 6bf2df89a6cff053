"""The autograd graph behind a tensor, read from its live nodes: as a list and as a drawing.

    y: (2,), made by #3
    #3 AddBackward0 -> #1, #2
    #2 MulBackward0 -> x, x
    #1 TanhBackward0 -> x
    x: leaf (2,)

Nodes are numbered in the order in which forward made them.  An arrow leads from a node to the one
that gets its gradient, so the result stands on top and the leaves stand below: the way of backward.

The layout has three steps.  Layers: each node one below its lowest predecessor (longest path), with
stand-ins where an edge passes a layer.  Order within a layer: the mean of the neighbours' places,
a few times down and up, and of the orders seen the one with the fewest crossings (Sugiyama, Tagawa
and Toda 1981).  Places: as near to the mean of the neighbours as the distances allow.

Only public attributes of tensors and nodes are used, so a graph of PyTorch is drawn as well.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise

from . import modules
from .picture import CHARACTER, TEXT_SIZE, Picture, label, rectangle

__all__ = ["graph"]

LINE = TEXT_SIZE + 4
MARGIN = 8
GAP = 20  # between neighbours in a layer
FALL = 34  # between layers
ROUNDS = 6  # of ordering and of placing


@dataclass
class Vertex:
    """A node, a tensor, or a stand-in for an edge that passes a layer."""

    name: str = ""
    lines: list = field(default_factory=list)
    is_tensor: bool = False
    edges: list = field(default_factory=list)  # of (vertex, output number)
    layer: int = 0
    x: float = 0.0  # the middle
    y: float = 0.0
    height_of_layer: float = 0.0

    @property
    def width(self):
        return max(map(len, self.lines)) * CHARACTER + 2 * MARGIN if self.lines else 2

    @property
    def height(self):
        return len(self.lines) * LINE + MARGIN if self.lines else self.height_of_layer


def graph(*tensors, module=None, names=None, notes=None, most_nodes=100):
    """Draw the autograd graph of some results: nodes, leaves with their shapes, edges.

    `graph(model, x)` runs a module on its inputs and draws the graph of what it returns; the nodes
    say which submodule made them.

    Parameters
    ----------
    *tensors : Tensors that require grad; or a Module and its inputs
    module : Module whose parameters are called by their names; the first argument if that is one
    names : dict from name to Tensor: how results, intermediate tensors and leaves are called
    notes : dict from node to str: one more line in the node's box
    most_nodes : int, more are refused, because nobody could read the picture

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
    """
    names, notes = dict(names or {}), dict(notes or {})
    if tensors and modules.is_module(tensors[0]):
        module, *inputs = tensors
        tensors, owners = modules.run(module, inputs)
        notes = {**owners, **notes}
    if module is not None:
        names = {**modules.names_of(module), **names}
    vertices = read_graph(tensors, names, notes, most_nodes)
    below = len(tensors)
    title = f"Autograd graph of {', '.join(vertex.name for vertex in vertices[:below])}"
    text = "\n".join(map(text_line, vertices))
    description = f"Edges lead the way that gradients go. {'; '.join(map(text_line, vertices))}."
    layers = split_layers(vertices)
    order_layers(layers)
    width, height = place(layers)
    return Picture(title, description, text, width, height, draw(layers))


# ---------------------------------------------------------------- reading the live graph
def read_graph(tensors, names, notes, most_nodes):
    """Return a vertex for each result, node and leaf: results, nodes last made first, leaves."""
    nodes = collect(tensors, most_nodes)
    leaves = [node for node in nodes if hasattr(node, "variable")]
    made = sorted(
        (node for node in nodes if not hasattr(node, "variable")),
        key=lambda node: node._sequence_nr(),
    )
    called = {id(tensor): name for name, tensor in names.items()}
    vertices = {}
    for number, leaf in enumerate(leaves, 1):
        name = called.get(id(leaf.variable), f"leaf{number}")
        lines = [f"{name} {shape_text(leaf.variable)}", *note_of(leaf, notes)]
        vertices[leaf] = Vertex(name, lines, is_tensor=True)
    for number, node in enumerate(made, 1):
        vertices[node] = Vertex(f"#{number}", [f"#{number} {node.name()}", *note_of(node, notes)])
    for name, tensor in names.items():
        if tensor.grad_fn in vertices and not any(tensor is result for result in tensors):
            vertices[tensor.grad_fn].lines.insert(1, f"made {name} {shape_text(tensor)}")
    for node, vertex in vertices.items():
        vertex.edges = [
            (vertices[child], k) for child, k in node.next_functions if child is not None
        ]
    results = []
    for number, tensor in enumerate(tensors, 1):
        name = called.get(id(tensor), "result" if len(tensors) == 1 else f"result{number}")
        edge = (vertices[tensor.grad_fn], tensor.output_nr)
        lines = [f"{name} {shape_text(tensor)}"]
        results.append(Vertex(name, lines, is_tensor=True, edges=[edge]))
    return [*results, *(vertices[node] for node in reversed(made)), *map(vertices.get, leaves)]


def collect(tensors, most_nodes):
    """Return every node that can be reached from the results, each once."""
    if not tensors:
        raise ValueError("viz.graph: no tensors are given; pass the result whose graph to draw")
    for tensor in tensors:
        if not hasattr(tensor, "grad_fn"):
            raise TypeError(
                f"viz.graph: a {type(tensor).__name__} is given; expected Tensors that require "
                "grad, or a Module and its inputs"
            )
        if tensor.grad_fn is None:
            raise ValueError(
                "viz.graph: the tensor has no graph: it is a leaf, or was computed from nothing "
                "that requires grad; pass a result"
            )
    stack = [tensor.grad_fn for tensor in reversed(tensors)]
    found = dict.fromkeys(stack)
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None and node not in found:
                found[node] = None
                stack.append(node)
                if len(found) > most_nodes:
                    raise ValueError(
                        f"viz.graph: the graph has more than {most_nodes} nodes; draw a smaller "
                        "example, or raise most_nodes"
                    )
    return list(found)


def shape_text(tensor):
    return str(tuple(tensor.shape))


def note_of(node, notes):
    return [notes[node]] if node in notes else []


def text_line(vertex):
    """Return what the text says of one vertex."""
    ends = [target.name + (f"[{number}]" if number else "") for target, number in vertex.edges]
    about = vertex.lines[0].removeprefix(vertex.name).strip()
    rest = "".join(f", {line}" for line in vertex.lines[1:])
    if not vertex.is_tensor:
        return f"{vertex.name} {about} -> {', '.join(ends) or 'nothing'}{rest}"
    if ends:
        return f"{vertex.name}: {about}, made by {ends[0]}"
    return f"{vertex.name}: leaf {about}{rest}"


# ---------------------------------------------------------------- layers and their order
def split_layers(vertices):
    """Return the vertices by layer, each edge cut into pieces from one layer to the next."""
    for vertex in topological(vertices):
        for target, _ in vertex.edges:
            target.layer = max(target.layer, vertex.layer + 1)
    layers = [[] for _ in range(max(vertex.layer for vertex in vertices) + 1)]
    for vertex in vertices:
        layers[vertex.layer].append(vertex)
        for position, (target, number) in enumerate(vertex.edges):
            above = vertex
            for layer in range(vertex.layer + 1, target.layer):
                stand_in = Vertex(layer=layer, edges=[(target, number)])
                layers[layer].append(stand_in)
                if above is vertex:
                    vertex.edges[position] = (stand_in, 0)
                else:
                    above.edges[0] = (stand_in, 0)
                above = stand_in
    return layers


def topological(vertices):
    """Yield the vertices so that each comes after all that point to it, as the engine does."""
    missing = {id(vertex): 0 for vertex in vertices}
    for vertex in vertices:
        for target, _ in vertex.edges:
            missing[id(target)] += 1
    ready = [vertex for vertex in vertices if missing[id(vertex)] == 0]
    while ready:
        vertex = ready.pop()
        yield vertex
        for target, _ in vertex.edges:
            missing[id(target)] -= 1
            if missing[id(target)] == 0:
                ready.append(target)


def order_layers(layers):
    """Sort each layer by the mean place of the neighbours above, then below; keep the best."""
    best, fewest = [list(layer) for layer in layers], crossings(layers)
    for _ in range(ROUNDS):
        for upper, lower in pairwise(layers):
            lower.sort(key=mean_key(upper, above=True))
        for upper, lower in reversed(list(pairwise(layers))):
            upper.sort(key=mean_key(lower, above=False))
        count = crossings(layers)
        if count < fewest:
            best, fewest = [list(layer) for layer in layers], count
    layers[:] = best


def mean_key(neighbours, *, above):
    """Return a sort key: the mean place of a vertex's neighbours in the layer above or below."""
    places = {}
    for position, neighbour in enumerate(neighbours):
        places[id(neighbour)] = position
        if above:
            for target, _ in neighbour.edges:
                places.setdefault((id(target), "from"), []).append(position)

    def key(vertex):
        if above:
            found = places.get((id(vertex), "from"), [])
        else:
            found = [places[id(target)] for target, _ in vertex.edges]
        return sum(found) / len(found) if found else len(neighbours) / 2

    return key


def crossings(layers):
    """Count the pairs of edges that cross."""
    count = 0
    for upper, lower in pairwise(layers):
        position = {id(vertex): i for i, vertex in enumerate(lower)}
        ends = [(i, position[id(t)]) for i, vertex in enumerate(upper) for t, _ in vertex.edges]
        count += sum((a - c) * (b - d) < 0 for k, (a, b) in enumerate(ends) for c, d in ends[:k])
    return count


# ---------------------------------------------------------------- places
def place(layers):
    """Give every vertex its x and y; return the width and the height of the picture."""
    for layer in layers:
        spread(layer, [0.0] * len(layer))
    for _ in range(ROUNDS):
        for upper, lower in pairwise(layers):
            found = {id(vertex): [] for vertex in lower}
            for vertex in upper:
                for target, _ in vertex.edges:
                    found[id(target)].append(vertex.x)
            spread(lower, [mean(found[id(vertex)], vertex.x) for vertex in lower])
        for upper in reversed(layers[:-1]):
            spread(upper, [mean([t.x for t, _ in vertex.edges], vertex.x) for vertex in upper])
    left = min(vertex.x - vertex.width / 2 for layer in layers for vertex in layer) - MARGIN
    y = MARGIN
    for layer in layers:
        tallest = max(vertex.height for vertex in layer)
        for vertex in layer:
            vertex.x -= left
            vertex.y = y + tallest / 2
            vertex.height_of_layer = tallest
        y += tallest + FALL
    right = max(vertex.x + vertex.width / 2 for layer in layers for vertex in layer)
    return math.ceil(right + MARGIN), math.ceil(y - FALL + MARGIN)


def mean(numbers, otherwise):
    return sum(numbers) / len(numbers) if numbers else otherwise


def spread(layer, wanted):
    """Put the vertices of a layer as near to the wanted places as order and distances allow.

    With the distances taken off, places may only grow from left to right; the nearest such numbers
    in the sense of least squares are found by pooling neighbours that are out of order.
    """
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + GAP)
    pools = []  # of [sum, count]
    for want, offset in zip(wanted, offsets, strict=True):
        pools.append([want - offset, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
            total, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += count
    places = [total / count for total, count in pools for _ in range(count)]
    for vertex, found, offset in zip(layer, places, offsets, strict=True):
        vertex.x = found + offset


# ---------------------------------------------------------------- shapes
def draw(layers):
    """Return the shapes: edges first, boxes over them."""
    vertices = [vertex for layer in layers for vertex in layer]
    leaving = {id(vertex): sorted(vertex.edges, key=lambda edge: edge[0].x) for vertex in vertices}
    arriving = {}
    for vertex in sorted(vertices, key=lambda vertex: vertex.x):
        for i, (target, number) in enumerate(leaving[id(vertex)]):
            start = port(vertex, i, len(vertex.edges))
            arriving.setdefault(id(target), []).append((start, vertex, number))
    shapes = []
    for target in vertices:
        ends = arriving.get(id(target), [])
        for i, (start, vertex, number) in enumerate(ends):
            end = port(target, i, len(ends))
            top = target.y - target.height / 2
            shapes += edge_shapes(start, vertex.y + vertex.height / 2, end, top, target, number)
    return shapes + [shape for vertex in vertices for shape in box_shapes(vertex)]


def port(vertex, i, n):
    """Return where the i-th of n edges meets a box: spread over its middle half."""
    return vertex.x + vertex.width / 2 * ((i + 1) / (n + 1) - 0.5) if vertex.lines else vertex.x


def edge_shapes(x0, y0, x1, y1, target, number):
    """Return a line from one layer to the next, with a head where it arrives at a box."""
    is_end = bool(target.lines)
    tip = y1 - 6 if is_end else y1
    middle = (y0 + tip) / 2
    shapes = [
        f'<path d="M{x0:.1f} {y0:.1f} C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} '
        f'{x1:.1f} {tip:.1f}" fill="none" stroke="currentColor"/>'
    ]
    if is_end:
        shapes.append(f'<path d="M{x1:.1f} {y1:.1f} l-3.5 -7 h7 z"/>')
        if number:
            shapes.append(label(x1 + 6, y1 - 7, str(number), size=11))
    return shapes


def box_shapes(vertex):
    """Return a node as a pill, a tensor as a box with two outlines, a stand-in as a line."""
    width, height = vertex.width, vertex.height
    left, top = vertex.x - width / 2, vertex.y - height / 2
    if not vertex.lines:
        return [f'<path d="M{vertex.x:.1f} {top:.1f} v{height:.1f}" stroke="currentColor"/>']
    if vertex.is_tensor:
        shapes = [
            rectangle(left, top, width, height, shaded=True),
            rectangle(left + 2.5, top + 2.5, width - 5, height - 5),
        ]
    else:
        shapes = [rectangle(left, top, width, height, radius=11)]
    for number, line in enumerate(vertex.lines):
        y = top + MARGIN / 2 + LINE * (number + 0.5)
        shapes.append(label(vertex.x, y, line, anchor="middle", bold=number == 0))
    return shapes
