"""Which nodes made some tensors, before and after each step of a program: graphs side by side.

    before
    base: (4,), version 0, made by #1
    view: (2,), view of base, version 0, made by #2
    other: (2,), view of base, version 0, made by #3
    #3 SliceBackward0 -> #1
    #2 SliceBackward0 -> #1
    #1 MulBackward0 -> x
    x: leaf (4,)

    view.mul_(10)
    base: (4,), version 1, made by #4
    view: (2,), view of base, version 1, made by #5, before by #2
    other: (2,), view of base, version 1, made by #6, before by #3
    #6 AsStridedBackward0 -> #4
    ...

An in-place op gives the tensor another node.  If that is a view, it also gives its base a CopySlices,
and every other view of that base a new node as soon as it is asked for, which the picture does; views of
some kinds refuse, and are left without a node.  A
dashed arrow leads to the node that such a view had one step before, which is dashed, too, and
called stale: what it describes is gone.

Only public attributes of tensors and nodes are used, so histories in PyTorch are drawn as well.
"""

from .graph import in_order, is_leaf, reachable, read_nodes, shape_text, short_name, text_line
from .layered import Edge, Vertex, draw, order_layers, place, split_layers
from .picture import LINE, MARGIN, Picture, Strip, label

__all__ = ["Histories"]

GAP, FALL = 12, 28


class Histories:
    """The graphs of some tensors after each step, in a row.

    Parameters
    ----------
    **tensors : Tensor, by the names that they get; at least one made from something that
        requires grad

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import viz
    >>> x = tensorlab.ones(4, requires_grad=True)
    >>> base = x * 1
    >>> view = base[1:3]
    >>> log = viz.Histories(x=x, base=base, view=view)
    >>> _ = view.mul_(10)
    >>> log.note("view.mul_(10)")
    >>> print(log)
    before
    base: (4,), version 0, made by #1
    view: (2,), view of base, version 0, made by #2
    #2 SliceBackward0 -> #1
    #1 MulBackward0 -> x
    x: leaf (4,)
    <BLANKLINE>
    view.mul_(10)
    base: (4,), version 1, made by #3
    view: (2,), view of base, version 1, made by #4, before by #2
    #4 AsStridedBackward0 -> #3
    #3 CopySlices -> #1
    #2 SliceBackward0 -> #1, stale
    #1 MulBackward0 -> x
    x: leaf (4,)
    """

    def __init__(self, **tensors):
        if not tensors:
            raise ValueError(
                "viz.Histories: no tensors are given; name them, as in Histories(base=base)"
            )
        if all(tensor.grad_fn is None for tensor in tensors.values()):
            raise ValueError(
                "viz.Histories: none of the tensors has a graph: they are leaves, or were computed "
                "from nothing that requires grad"
            )
        self.tensors = tensors
        self.made_by = {}  # name: node, at the last step
        self.numbers = {}  # node: number, which it keeps from picture to picture
        self.steps = []  # of (text, frame)
        self.note("before")

    def note(self, step):
        """Draw the graph as it is after a step.

        Parameters
        ----------
        step : str, the statement that has just run
        """
        now, refused = {}, set()
        for name, tensor in self.tensors.items():
            try:
                now[name] = tensor.grad_fn
            except RuntimeError:  # a stale view of a kind that gets no new node
                refused.add(name)
        before = {name: node for name, node in self.made_by.items() if node is not now.get(name)}
        now = {name: node for name, node in now.items() if node is not None}
        alive = reachable(now.values(), 100, "viz.Histories")
        nodes = in_order(reachable([*now.values(), *before.values()], 100, "viz.Histories"))
        for node in reversed(nodes):
            if not is_leaf(node) and node not in self.numbers:
                self.numbers[node] = len(self.numbers) + 1
        vertices = read_nodes(nodes, self.tensors, self.numbers)
        for node in set(nodes).difference(alive):
            if not is_leaf(node):
                vertices[node].lines.append("stale")
                vertices[node].outline = "dashed"
        results = []
        for name, tensor in self.tensors.items():
            if name not in now and name not in refused:
                continue  # a leaf, which stands below, or not part of any graph
            lines = [f"{name} {shape_text(tensor)}", *self.facts(tensor)]
            box = Vertex(name, lines, is_tensor=True)
            if name in now:
                box.edges.append(Edge(vertices[now[name]], tensor.output_nr))
            else:
                box.lines.append("without a node")
            if name in before and before[name] not in alive:
                box.edges.append(Edge(vertices[before[name]], is_past=True))
            results.append(box)
        self.made_by = now
        self.steps.append((step, *self.frame(step, [*results, *vertices.values()])))

    def facts(self, tensor):
        """Return what else is said of a tensor: whose view it is, and its version."""
        lines = [f"version {tensor._version}"]
        if tensor._is_view():
            names = (name for name, other in self.tensors.items() if other is tensor._base)
            lines.insert(0, f"view of {next(names, 'another')}")
        return lines

    def frame(self, step, vertices):
        """Return the text and the picture of one step."""
        text = "\n".join(map(text_line, vertices))
        for vertex in vertices:
            vertex.lines[0] = short_name(vertex.lines[0])
        layers = split_layers(vertices)
        order_layers(layers)
        width, height = place(layers, gap=GAP, fall=FALL)
        shapes = [
            label(MARGIN, MARGIN + LINE / 2, step, bold=True),
            f'<g transform="translate(0 {LINE + MARGIN})">',
            *draw(layers),
            "</g>",
        ]
        description = f"Edges lead the way that gradients go. {text.replace(chr(10), '; ')}."
        return text, Picture(step, description, text, width, height + LINE + MARGIN, shapes)

    def __str__(self):
        return "\n\n".join(f"{step}\n{text}" for step, text, _ in self.steps)

    __repr__ = __str__

    def picture(self):
        """Return the graphs as one strip."""
        words = (f"{step}: {picture.description}" for step, _, picture in self.steps)
        title = f"Histories of {', '.join(self.tensors)}, step by step"
        return Strip(title, " ".join(words), str(self), [picture for *_, picture in self.steps])

    def _repr_html_(self):
        return self.picture()._repr_html_()

    def _repr_svg_(self):
        return self.picture()._repr_svg_()

    def save(self, path):
        """Write the graphs as a file: .svg or .html."""
        self.picture().save(path)
