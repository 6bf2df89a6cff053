"""A backward pass, step by step: what is ready, what still waits for how much, and the gradients.

    step  runs  its gradient  ready                waiting
    0                         d (1, 1)             a 0 of 2, x 0 of 3
    1     d     (1, 1)        c (3, 12), b (2, 6)  a 0 of 2, x 0 of 3
    2     c     (3, 12)       b (2, 6)             a 1 of 2: (3, 12), x 1 of 3: (3, 12)

The real engine runs, and two hooks at every node look on.  The one before says which node runs and
with what gradient, the one after what it sends; order and numbers are therefore the engine's own.
The counts are what follows from them: at first each node waits for all the edges that arrive at it,
and each node that runs takes one away at the end of each of its edges.

Only public attributes of tensors and nodes are used, so the engine of PyTorch is watched as well.
"""

import re
import textwrap
from dataclasses import dataclass, field

from .graph import collect, in_order, is_leaf, shape_text, short_name
from .layered import Edge, Vertex, draw, order_layers, place, split_layers
from .picture import CHARACTER, LINE, MARGIN, Picture, Strip, label

__all__ = ["Backward"]

MOST_VALUES, MOST_CHARACTERS = 3, 14  # of a gradient that is written out
LEAST_WIDTH = 150  # pixels of a picture, for its captions
GAP, FALL = 12, 24  # closer than in a single graph, since many stand together


@dataclass
class Stop:
    """A node of the graph that is watched."""

    name: str
    kind: str
    is_leaf: bool
    is_root: bool
    number: int  # nodes with larger ones were made later
    edges: list = field(default_factory=list)  # of (position of the stop, output number)
    expected: int = 0  # edges that arrive
    forms: tuple = ()  # for each output of the op: its shape and type, which a gradient is brought to


@dataclass
class Step:
    """What is so after one node has run; before the first, `runs` is None."""

    runs: int | None
    gradient: str
    sends: list  # of (position, gradient)
    counts: list  # for each stop: gradients still to come
    waiting: list  # for each stop: what has arrived and is not used yet, as text


class Backward:
    """A backward pass as a strip of pictures, watched while the engine runs it.

    Parameters
    ----------
    *tensors : Tensors that backward will start from
    names : dict from name to Tensor: how results, intermediate tensors and leaves are called
    most_nodes : int, more are refused, because no one could follow them

    Notes
    -----
    Use it in a `with` statement around the call of `backward` or `autograd.grad`.  The first pass
    over the graph is kept.  The gradient given to `backward` is seen when its node runs; until then
    only what arrived over edges is.  The table leaves out nodes that wait for a single gradient.
    After the statement no hook and no tensor is held.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import viz
    >>> x = tensorlab.tensor([1.0, 2.0], requires_grad=True)
    >>> a = x * x
    >>> s = (a * x).sum()
    >>> with viz.Backward(s, names={"x": x, "a": a, "s": s}) as film:
    ...     s.backward()
    >>> print(film)
    s SumBackward0 -> #2
    #2 MulBackward0 -> a, x
    a MulBackward0 -> x, x
    x leaf
    <BLANKLINE>
    step  runs  its gradient  ready      waiting
    0                         s 1        x 0 of 3
    1     s     1             #2 (1, 1)  x 0 of 3
    2     #2    (1, 1)        a (1, 2)   x 1 of 3: (1, 4)
    3     a     (1, 2)        x (3, 12)
    4     x     (3, 12)
    """

    def __init__(self, *tensors, names=None, most_nodes=20):
        self.nodes = in_order(collect(tensors, most_nodes, "viz.Backward"))
        roots = {tensor.grad_fn for tensor in tensors}
        self.stops = read_stops(self.nodes, roots, names or {})
        self.handles = []
        self.counts = [stop.expected for stop in self.stops]
        self.sums = {}  # (position, output number): the gradients that wait there, added up
        self.gradients = {}  # position: what the node got, in the order in which nodes ran
        self.steps = []
        self.ending = ""

    # ---------------------------------------------------------------- looking on
    def __enter__(self):
        self.steps.append(Step(None, "", [], list(self.counts), [""] * len(self.stops)))
        for position, node in enumerate(self.nodes):
            self.handles += [
                node.register_prehook(lambda got, position=position: self.before(position, got)),
                node.register_hook(lambda sent, _, position=position: self.after(position, sent)),
            ]
        return self

    def __exit__(self, kind, error, trace):
        for handle in self.handles:
            handle.remove()
        if error is not None:
            self.ending = f"{kind.__name__}: {error}".partition("\n")[0]
            self.add_step(*list(self.gradients)[len(self.steps) - 1 :], sent=())
        self.nodes, self.handles, self.sums = [], [], {}

    def before(self, position, got):
        """A node is about to run."""
        if position not in self.gradients:
            self.gradients[position] = "; ".join(map(gradient_text, got))

    def after(self, position, sent):
        """A node has run."""
        if len(self.steps) == len(self.gradients):
            self.add_step(position, sent=sent)

    def add_step(self, *positions, sent):
        """Write down what is so after a node has run (or has failed to, if nothing is sent)."""
        for position in positions:
            sends = []
            for key in [key for key in self.sums if key[0] == position]:
                del self.sums[key]
            for edge, gradient in zip(self.stops[position].edges, sent, strict=False):
                if edge is not None:
                    arriving = self.add(edge, gradient)
                    self.counts[edge[0]] -= 1
                    sends.append((edge[0], gradient_text(arriving)))
            gradient = self.gradients[position]
            waiting = [self.waiting_at(i) for i in range(len(self.stops))]
            self.steps.append(Step(position, gradient, sends, list(self.counts), waiting))

    def add(self, edge, gradient):
        """Add a gradient to what waits at the end of an edge; return it in the form in which it arrives there."""
        if gradient is None:
            return None
        shape, dtype = self.stops[edge[0]].forms[edge[1]]
        gradient = gradient.detach().clone().sum_to_size(shape).to(dtype)
        self.sums[edge] = self.sums[edge] + gradient if edge in self.sums else gradient
        return gradient

    def waiting_at(self, position):
        found = sorted((number, g) for (i, number), g in self.sums.items() if i == position)
        return "; ".join(gradient_text(gradient) for _, gradient in found)

    # ---------------------------------------------------------------- as words
    def queue(self, step):
        """Return the nodes that are ready after a step, the one that the engine takes first in front."""
        done = list(self.gradients)[: self.steps.index(step)]
        ready = [
            i
            for i, count in enumerate(step.counts)
            if count == 0 and i not in done and not self.is_left_out(i)
        ]
        return sorted(ready, key=lambda i: -self.stops[i].number)

    def is_left_out(self, position):
        """Did the pass not run this node, because nothing wanted lies behind it?"""
        return position not in self.gradients and not self.ending

    def gradient_at(self, position, step):
        """Return what has arrived at a node by then, or what backward was given if it begins there."""
        if step.runs is None and self.stops[position].expected == 0:
            return self.gradients.get(position, "")
        return step.waiting[position]

    def state(self, position, step):
        """Return in a word or two what a node does after a step."""
        stop = self.stops[position]
        done = list(self.gradients)[: self.steps.index(step)]
        if position == step.runs:
            return "runs"
        if position in done:
            return "done"
        if position in self.queue(step):
            return "ready"
        if self.is_left_out(position) and not self.steps[-1].waiting[position]:
            return "left out"
        return f"{stop.expected - step.counts[position]} of {stop.expected}"

    def waits(self, step, but_not=""):
        """Return for each node that is neither done nor ready what has arrived and what has not."""
        found = []
        for position, stop in enumerate(self.stops):
            state = self.state(position, step)
            if state not in ("runs", "done", "ready", but_not):
                gradient = self.gradient_at(position, step)
                found.append(f"{stop.name} {state}" + (f": {gradient}" if gradient else ""))
        return ", ".join(found)

    def ready(self, step):
        """Return the ready queue as text, with the gradient of each node."""
        names = (f"{self.stops[i].name} {self.gradient_at(i, step)}" for i in self.queue(step))
        return ", ".join(map(str.strip, names))

    def __str__(self):
        lines = []
        for stop in self.stops:
            ends = ", ".join(self.stops[e[0]].name for e in stop.edges if e is not None)
            lines.append(
                f"{stop.name} leaf" if stop.is_leaf else f"{stop.name} {stop.kind} -> {ends}"
            )
        rows = [["step", "runs", "its gradient", "ready", "waiting"]]
        for number, step in enumerate(self.steps):
            name = "" if step.runs is None else self.stops[step.runs].name
            rows.append([str(number), name, step.gradient, self.ready(step)])
            rows[-1].append(self.waits(step, but_not="0 of 1"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([*lines, "", *table, *([self.ending] if self.ending else [])])

    __repr__ = __str__

    def sentence(self, number):
        """Return one step in words, for the picture's text alternative."""
        step = self.steps[number]
        parts = [f"Ready: {self.ready(step) or 'nothing'}."]
        if step.runs is not None:
            sends = ", ".join(f"{gradient} to {self.stops[i].name}" for i, gradient in step.sends)
            runs = f"{self.stops[step.runs].name} runs with {step.gradient}"
            parts.insert(0, f"{runs} and sends {sends}." if sends else f"{runs}.")
        if waits := self.waits(step):
            parts.append(f"Waiting: {waits}.")
        return " ".join(parts)

    # ---------------------------------------------------------------- as pictures
    def picture(self):
        """Return the strip."""
        vertices = [Vertex(stop.name, is_tensor=stop.is_leaf) for stop in self.stops]
        for stop, vertex in zip(self.stops, vertices, strict=True):
            vertex.edges = [Edge(vertices[e[0]], e[1]) for e in stop.edges if e is not None]
            vertex.lines = max(
                (self.lines(vertices.index(vertex), step) for step in self.steps),
                key=lambda lines: max(map(len, lines)),
            )
            vertex.room = vertex.width, vertex.height
        layers = split_layers(vertices)
        order_layers(layers)
        size = place(layers, gap=GAP, fall=FALL)
        frames = [self.frame(number, vertices, layers, size) for number in range(len(self.steps))]
        names = ", ".join(stop.name for stop in self.stops if stop.is_root)
        sentences = [f"Step {n}. {self.sentence(n)}" for n in range(len(self.steps))]
        description = " ".join([*sentences, *([self.ending] if self.ending else [])])
        return Strip(f"Backward from {names}, step by step", description, str(self), frames)

    def lines(self, position, step):
        """Return what stands in the box of a node after a step: three lines, the last may be empty."""
        stop, state = self.stops[position], self.state(position, step)
        gradient = self.gradient_at(position, step)
        if state == "runs" or (state == "done" and stop.is_leaf):
            gradient = self.gradients[position]
        head = stop.name if stop.is_leaf else f"{stop.name} {short_name(stop.kind)}"
        return [head, state, without_shapes(gradient)]

    def frame(self, number, vertices, layers, size):
        """Return the picture of one step."""
        step = self.steps[number]
        outlines = {"runs": "thick", "ready": "shaded", "done": "plain"}
        for position, vertex in enumerate(vertices):
            vertex.lines = self.lines(position, step)
            vertex.outline = outlines.get(vertex.lines[1], "dashed")
            for edge in vertex.edges:
                mark(edge, position == step.runs)
        title = (
            "start" if step.runs is None else f"step {number}: {self.stops[step.runs].name} runs"
        )
        width = max(size[0], LEAST_WIDTH)
        foot = f"ready: {', '.join(self.stops[i].name for i in self.queue(step)) or 'nothing'}"
        if self.ending and number == len(self.steps) - 1:
            foot = self.ending
        under = textwrap.wrap(foot, int((width - 2 * MARGIN) / CHARACTER))
        top = LINE + MARGIN
        shapes = [label(MARGIN, MARGIN + LINE / 2, title, bold=True)]
        shapes += [
            f'<g transform="translate({(width - size[0]) / 2:g} {top})">',
            *draw(layers),
            "</g>",
        ]
        y = top + size[1]
        shapes += [label(MARGIN, y + LINE * (i + 0.5), line) for i, line in enumerate(under)]
        height = round(y + LINE * len(under) + MARGIN)
        return Picture(title, self.sentence(number), "", width, height, shapes)

    def _repr_html_(self):
        return self.picture()._repr_html_()

    def _repr_svg_(self):
        return self.picture()._repr_svg_()

    def save(self, path):
        """Write the strip as a file: .svg or .html."""
        self.picture().save(path)


def read_stops(nodes, roots, names):
    """Return a Stop for each node, in the same order."""
    made_by = {}
    for name, tensor in names.items():
        made_by[tensor.grad_fn] = "/".join(filter(None, [made_by.get(tensor.grad_fn), name]))
    leaves = {id(tensor): name for name, tensor in names.items()}
    at = {node: position for position, node in enumerate(nodes)}
    made = sum(not is_leaf(node) for node in nodes)
    stops = []
    for position, node in enumerate(nodes):
        if is_leaf(node):
            name = leaves.get(id(node.variable), f"leaf{position - made + 1}")
        else:
            name = made_by.get(node, f"#{made - position}")
        stop = Stop(name, node.name(), is_leaf(node), node in roots, node._sequence_nr())
        stop.forms = tuple((form.shape, form.dtype) for form in node._input_metadata)
        stop.edges = [None if to is None else (at[to], k) for to, k in node.next_functions]
        stops.append(stop)
    for stop in stops:
        for edge in stop.edges:
            if edge is not None:
                stops[edge[0]].expected += 1
    return stops


def gradient_text(gradient):
    """Return the numbers of a small gradient, the shape and the length of a larger one."""
    if gradient is None:
        return "None"
    gradient = gradient.detach()
    if gradient.numel() <= MOST_VALUES:
        values = ", ".join(f"{value:.4g}" for value in gradient.flatten().tolist())
        text = f"({values})" if gradient.ndim else values
        if len(text) <= MOST_CHARACTERS:
            return text
    return f"{shape_text(gradient)} norm {gradient.norm().item():.3g}"


def without_shapes(text):
    """Return a gradient's text for a narrow box, where the length of a larger one must do."""
    return re.sub(r"\([^)]*\) norm", "norm", text)


def mark(edge, is_used):
    """Let something go along an edge, or nothing: along all its pieces."""
    edge.is_used = is_used
    while not edge.target.lines:
        (edge,) = edge.target.edges
        edge.is_used = is_used
