"""Pictures of chapter 49: a joint graph with its numbers, and the cut that partition finds, drawn from live graphs."""

from tensorlab.compiler.joint.min_cut import min_cut
from tensorlab.compiler.joint.partition import Cut, is_recomputable
from tensorlab.viz.layered import Edge, Vertex, draw, order_layers, place, split_layers
from tensorlab.viz.picture import Picture

SIGNS = {"mul": "*", "add": "+", "sub": "-"}


def call_of(node):
    """A call in a few characters: x * y, or exp(x)."""
    name = getattr(node.target, "name", getattr(node.target, "__name__", str(node.target)))
    args = [str(one) for one in node.args if not isinstance(one, tuple) and one is not None]
    return f" {SIGNS[name]} ".join(args) if name in SIGNS else f"{name}({', '.join(args)})"


def picture_of(title, vertices):
    """A Picture of boxes and the arrows between them; its text has a line for each box."""
    text = "\n".join(
        f"{one.name}: {', '.join(one.lines[1:])}; leads to "
        f"{', '.join(edge.target.name for edge in one.edges) or 'nothing'}"
        for one in vertices
    )
    layers = split_layers(vertices)
    order_layers(layers)
    width, height = place(layers, gap=14, fall=30)
    return Picture(title, text.replace("\n", ". "), text, width, height, draw(layers))


def joint_picture(graph, values):
    """A joint graph with the numbers of each value; what belongs to backward is shaded."""
    vertices = {}
    for node in graph.nodes:
        if node.op == "output":
            continue
        numbers = " ".join(f"{value:g}" for value in values[node].tolist())
        lines = [node.name, *([call_of(node)] if node.op == "call_function" else []), numbers]
        is_shaded = node.meta["is_backward"] and node.op != "placeholder"
        outline = "shaded" if is_shaded else "plain"
        is_input = node.op == "placeholder"
        vertices[node] = Vertex(node.name, lines, is_tensor=is_input, outline=outline)
    for node, vertex in vertices.items():
        vertex.edges = [Edge(vertices[user]) for user in node.users if user in vertices]
    return picture_of("A joint graph with its numbers", list(vertices.values()))


class CutOf:
    """The cheapest cut of a joint graph.

    Attributes
    ----------
    wanted : list of Node, the values of forward that backward reads
    edges : list of (start, end, capacity), the network
    prices : dict, Node: bytes
    saved : set of Node, those whose edge is cut
    again : set of Node, which backward computes from them
    """

    def __init__(self, whole, n_results, n_inputs):
        cut = Cut(whole, set())
        gradients = whole.output_node().args[0][n_results:]
        tangents = whole.find_nodes(op="placeholder")[n_inputs:]
        self.wanted = cut.wanted_by(cut.backward_of(gradients), gradients, tangents)
        self.edges = cut.network(self.wanted)
        below = min_cut(self.edges, "source", "sink")
        values = [(start, end, price) for start, end, price in self.edges if start[0] is end[0]]
        self.prices = {start[0]: price for start, _, price in values}
        self.saved = {one[0] for one, end, _ in values if one not in below and end in below}
        self.again = {one[0] for one, _, _ in values if one in below}

    def picture(self):
        """A box for each value: thick if it is saved, dashed if backward computes it again."""
        boxes = {"source": Vertex("source", ["source"], is_tensor=True)}
        order = list(next(iter(self.prices)).graph.nodes)
        for node in sorted(self.prices, key=order.index):
            price = self.prices[node]
            is_fixed = not is_recomputable(node)
            lines = [
                node.name if is_fixed else call_of(node),
                f"{price} bytes" if price else "free",
            ]
            outline = "thick" if node in self.saved else "dashed" if node in self.again else "plain"
            boxes[node] = Vertex(node.name, lines, outline=outline)
        boxes["sink"] = Vertex("sink", ["backward"], is_tensor=True)
        for start, end, _ in self.edges:
            one, other = (place if isinstance(place, str) else place[0] for place in (start, end))
            if one is not other:
                boxes[one].edges.append(Edge(boxes[other]))
        return picture_of("What forward saves, as a cut", list(boxes.values()))
