"""Where the boxes of a graph stand and how they are drawn: from the results above to the leaves below.

Three steps.  Layers: each vertex one below its lowest predecessor (longest path), with stand-ins
where an edge passes a layer.  Order within a layer: the mean of the neighbours' places, a few times
down and up, and of the orders seen the one with the fewest crossings (Sugiyama, Tagawa and Toda
1981).  Places: as near to the mean of the neighbours as the distances allow.
"""

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise

from .picture import CHARACTER, TEXT_SIZE, WARNING, label, rectangle

__all__ = ["Edge", "Vertex", "draw", "order_layers", "place", "split_layers"]

LINE = TEXT_SIZE + 4
MARGIN = 8
GAP = 20  # between neighbours in a layer
FALL = 34  # between layers
ROUNDS = 6  # of ordering and of placing
SQUARE = 15  # pixels, the side of the square around a version


@dataclass
class Edge:
    """One arrow: where it leads, and how it looks."""

    target: "Vertex"
    number: int = 0  # the output of the target that it belongs to
    is_past: bool = False  # dashed: it was there before
    is_used: bool = False  # thick: something goes along it now


@dataclass
class Row:
    """One thing that a node has kept: its name, and the version in a square."""

    text: str
    version: int | None = None
    is_stale: bool = False
    words: str = ""  # what a text says in its place

    def __str__(self):
        return self.words or self.text

    @property
    def width(self):
        return len(self.text) * CHARACTER + (SQUARE + 8 if self.version is not None else 0)


@dataclass
class Vertex:
    """A node, a tensor, or a stand-in for an edge that passes a layer."""

    name: str = ""
    lines: list = field(default_factory=list)
    is_tensor: bool = False
    edges: list = field(default_factory=list)
    rows: list = field(default_factory=list)  # below the lines
    outline: str = "plain"  # or dashed, shaded, thick
    room: tuple = (0, 0)  # width and height that it takes at least
    layer: int = 0
    x: float = 0.0  # the middle
    y: float = 0.0
    height_of_layer: float = 0.0

    @property
    def width(self):
        if not self.lines:
            return 2
        widest = max([len(line) * CHARACTER for line in self.lines] + [r.width for r in self.rows])
        return max(self.room[0], widest + 2 * MARGIN)

    @property
    def height(self):
        if not self.lines:
            return self.height_of_layer
        rows = len(self.rows) * (SQUARE + 5)
        return max(self.room[1], len(self.lines) * LINE + rows + MARGIN)


# ---------------------------------------------------------------- layers and their order
def split_layers(vertices):
    """Return the vertices by layer, each edge cut into pieces from one layer to the next."""
    for vertex in topological(vertices):
        for edge in vertex.edges:
            least = vertex.layer + (2 if edge.is_past else 1)  # the past lies deeper
            edge.target.layer = max(edge.target.layer, least)
    layers = [[] for _ in range(max(vertex.layer for vertex in vertices) + 1)]
    for vertex in vertices:
        layers[vertex.layer].append(vertex)
        for edge in vertex.edges:
            for layer in range(vertex.layer + 1, edge.target.layer):
                stand_in = Vertex(layer=layer, edges=[replace(edge)])
                layers[layer].append(stand_in)
                edge.target, edge.number = stand_in, 0
                edge = stand_in.edges[0]
    return layers


def topological(vertices):
    """Yield the vertices so that each comes after everything that points to it, as the engine does."""
    missing = {id(vertex): 0 for vertex in vertices}
    for vertex in vertices:
        for edge in vertex.edges:
            missing[id(edge.target)] += 1
    ready = [vertex for vertex in vertices if missing[id(vertex)] == 0]
    while ready:
        vertex = ready.pop()
        yield vertex
        for edge in vertex.edges:
            missing[id(edge.target)] -= 1
            if missing[id(edge.target)] == 0:
                ready.append(edge.target)


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
            for edge in neighbour.edges:
                places.setdefault((id(edge.target), "from"), []).append(position)

    def key(vertex):
        if above:
            found = places.get((id(vertex), "from"), [])
        else:
            found = [places[id(edge.target)] for edge in vertex.edges]
        return sum(found) / len(found) if found else len(neighbours) / 2

    return key


def crossings(layers):
    """Count the pairs of edges that cross."""
    count = 0
    for upper, lower in pairwise(layers):
        position = {id(vertex): i for i, vertex in enumerate(lower)}
        ends = [(i, position[id(e.target)]) for i, vertex in enumerate(upper) for e in vertex.edges]
        count += sum((a - c) * (b - d) < 0 for k, (a, b) in enumerate(ends) for c, d in ends[:k])
    return count


# ---------------------------------------------------------------- places
def place(layers, gap=GAP, fall=FALL):
    """Give every vertex its x and y; return the width and the height of the picture."""
    for layer in layers:
        spread(layer, [0.0] * len(layer), gap)
    for _ in range(ROUNDS):
        for upper, lower in pairwise(layers):
            found = {id(vertex): [] for vertex in lower}
            for vertex in upper:
                for edge in vertex.edges:
                    found[id(edge.target)].append(vertex.x)
            spread(lower, [mean(found[id(vertex)], vertex.x) for vertex in lower], gap)
        for upper in reversed(layers[:-1]):
            spread(upper, [mean([e.target.x for e in one.edges], one.x) for one in upper], gap)
    left = min(vertex.x - vertex.width / 2 for layer in layers for vertex in layer) - MARGIN
    y = MARGIN
    for layer in layers:
        tallest = max(vertex.height for vertex in layer)
        for vertex in layer:
            vertex.x -= left
            vertex.y = y + tallest / 2
            vertex.height_of_layer = tallest
        y += tallest + fall
    right = max(vertex.x + vertex.width / 2 for layer in layers for vertex in layer)
    return math.ceil(right + MARGIN), math.ceil(y - fall + MARGIN)


def mean(numbers, otherwise):
    return sum(numbers) / len(numbers) if numbers else otherwise


def spread(layer, wanted, gap=GAP):
    """Put the vertices of a layer as near to the wanted places as order and distances allow.

    With the distances taken off, places may only grow from left to right; the nearest such numbers
    in the sense of least squares are found by pooling neighbours that are out of order.
    """
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + gap)
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
    arriving = {}
    for vertex in sorted(vertices, key=lambda vertex: vertex.x):
        leaving = sorted(vertex.edges, key=lambda edge: edge.target.x)
        for i, edge in enumerate(leaving):
            start = port(vertex, i, len(leaving)), vertex.y + vertex.height / 2
            arriving.setdefault(id(edge.target), []).append((start, edge))
    shapes = []
    for target in vertices:
        ends = arriving.get(id(target), [])
        for i, (start, edge) in enumerate(ends):
            end = port(target, i, len(ends)), target.y - target.height / 2
            shapes += edge_shapes(start, end, edge)
    return shapes + [shape for vertex in vertices for shape in box_shapes(vertex)]


def port(vertex, i, n):
    """Return where the i-th of n edges meets a box: spread over its middle half."""
    return vertex.x + vertex.width / 2 * ((i + 1) / (n + 1) - 0.5) if vertex.lines else vertex.x


def edge_shapes(start, end, edge):
    """Return a line from one layer to the next, with a head where it arrives at a box."""
    (x0, y0), (x1, y1) = start, end
    is_end = bool(edge.target.lines)
    tip = y1 - 6 if is_end else y1
    middle = (y0 + tip) / 2
    shapes = [
        f'<path d="M{x0:.1f} {y0:.1f} C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} '
        f'{x1:.1f} {tip:.1f}" fill="none" stroke="currentColor"{look_of(edge)}/>'
    ]
    if is_end:
        shapes.append(f'<path d="M{x1:.1f} {y1:.1f} l-3.5 -7 h7 z"/>')
        if edge.number:
            shapes.append(label(x1 + 6, y1 - 7, str(edge.number), size=11))
    return shapes


def look_of(edge):
    """Return how an edge's line is drawn: dashed if it is past, thick if it is used now."""
    dashes = ' stroke-dasharray="3 3"' if edge.is_past else ""
    return dashes + (' stroke-width="2.5"' if edge.is_used else "")


def box_shapes(vertex):
    """Return a node as a pill, a tensor as a box with two outlines, a stand-in as a line."""
    width, height = vertex.width, vertex.height
    left, top = vertex.x - width / 2, vertex.y - height / 2
    if not vertex.lines:
        (edge,) = vertex.edges
        return [
            f'<path d="M{vertex.x:.1f} {top:.1f} v{height:.1f}" stroke="currentColor"'
            f"{look_of(edge)}/>"
        ]
    how = {"dashed": vertex.outline == "dashed", "thick": vertex.outline == "thick"}
    if vertex.is_tensor:
        shapes = [
            rectangle(left, top, width, height, fill="tensor", **how),
            rectangle(left + 2.5, top + 2.5, width - 5, height - 5, dashed=how["dashed"]),
        ]
    else:
        fill = "busy" if vertex.outline in ("shaded", "thick") else None
        shapes = [rectangle(left, top, width, height, radius=11, fill=fill, **how)]
    y = top + MARGIN / 2 + LINE / 2
    for number, line in enumerate(vertex.lines):
        shapes.append(label(vertex.x, y, line, anchor="middle", bold=number == 0))
        y += LINE
    for row in vertex.rows:
        shapes += row_shapes(row, left + MARGIN, left + width - MARGIN, y)
        y += SQUARE + 5
    return shapes


def row_shapes(row, left, right, y):
    """Return what a node has kept: its name, and the version in a square, crossed out if stale."""
    shapes = [label(left, y, row.text)]
    if row.version is not None:
        x = right - SQUARE
        shapes += [
            rectangle(x, y - SQUARE / 2, SQUARE, SQUARE, fill="version"),
            label(x + SQUARE / 2, y, str(row.version), anchor="middle", size=11, bold=True),
        ]
    if row.is_stale:
        shapes.append(
            f'<path d="M{x - 3:.1f} {y + 10:.1f} l{SQUARE + 6} -20" stroke="{WARNING}" stroke-width="2"/>'
        )
    return shapes
