"""explain: what became of a function that was compiled, as text and as a page.

>>> import tensorlab
>>> found = tensorlab.compiler.explain(lambda x: (x * 2 + 1).tanh())(tensorlab.ones(4))
>>> found.graph_count, found.graph_break_count
(1, 0)
"""

import html
import statistics
import time

from .._tensor import Tensor
from ..nn.module import Module
from .backends import find
from .build import nodes_in, output_of
from .frontend import Compiled
from .lowering.schedule import Blocks, Call
from .options import settings_for

__all__ = ["Explanation", "explain"]

ROUNDS = 7
ATTEMPTS = 4  # calls until one is replayed
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: #8881; padding: .75rem; overflow-x: auto; border-radius: .4rem; font-size: .85rem; }
table { border-collapse: collapse; margin: 1rem 0; } td, th { padding: .25rem .75rem; text-align: right; }
td:first-child, th:first-child { text-align: left; } tr { border-bottom: 1px solid #8884; }
h2 { margin-top: 2rem; } @media (prefers-color-scheme: dark) { body { background: #1b1d20; color: #ddd; } }
"""


def explain(f, *, backend="tensorlab", mode=None, options=None):
    """Return a function that calls `f` with its arguments as `compile` would, and returns an Explanation.

    It calls `f` several times: as Python, recorded, and replayed. What is printed shows graphs,
    guards, breaks, passes, fused groups with their C, memory traffic and times; `to_html(path)` writes it as a page.

    Parameters
    ----------
    f : function or Module
    backend, mode, options : as for `compile`

    Examples
    --------
    >>> import tensorlab
    >>> result = explain(lambda x: x.exp().sum(), backend="eager")(tensorlab.zeros(2))
    >>> type(result).__name__
    'Explanation'
    """
    function = f
    if isinstance(f, Module):
        function = f._call_as_python
    elif hasattr(f, "compiled"):  # others may have `__wrapped__` as well, such as what vmap returns
        function = f.__wrapped__

    def explain_call(*args, **kwargs):
        compiled = Compiled(function, find(backend), False, settings_for(mode, options))
        result = compiled.replay(*args, **kwargs)
        while not compiled.counts["replayed"] and compiled.recorded + compiled.as_python < ATTEMPTS:
            compiled.replay(*args, **kwargs)
        times = None
        if compiled.counts["replayed"]:
            eager = [seconds(lambda: function(*args, **kwargs)) for _ in range(ROUNDS)]
            fused = [seconds(lambda: compiled.replay(*args, **kwargs)) for _ in range(ROUNDS)]
            times = statistics.median(eager), statistics.median(fused)
        return Explanation(compiled, result, times)

    return explain_call


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


class Explanation:
    """What `compiler.explain(f)(x)` found out.

    Attributes
    ----------
    result : what the call returned
    graph_count, graph_break_count, op_count : int
    graphs : list of Graph, after the passes
    guards : list of str, what must hold, as Python
    break_reasons : list of Refusal: reason, file and line
    block_count : int, groups whose ops run in blocks, because there is no C compiler
    sources : list of str, the generated C functions
    bytes_eager, bytes_fused : int, bytes that ops read and write, one by one and as planned
    peak_eager, peak_fused : int, bytes of values that exist at once, inputs aside
    seconds_eager, seconds_fused : float or None, medians of a call as Python and of a replay
    """

    def __init__(self, compiled, result, times):
        self.name, self.result, self.counts = compiled.name, result, dict(compiled.counts)
        self.break_reasons = list(compiled.refusals)
        self.guards = [text for entry in compiled.entries for text in entry.trace.guards.texts]
        self.pieces = [piece for entry in compiled.entries for piece in entry.program.pieces]
        self.graphs = [piece.graph for piece in self.pieces]
        self.seconds_eager, self.seconds_fused = times or (None, None)

    @property
    def graph_count(self):
        return len(self.graphs)

    @property
    def graph_break_count(self):
        return len(self.break_reasons)

    @property
    def op_count(self):
        return sum(piece.before for piece in self.pieces)

    @property
    def block_count(self):
        steps = [step for piece in self.pieces for step in piece.steps]
        return sum(isinstance(step, Blocks) for step in steps)

    @property
    def sources(self):
        kernels = [kernel for piece in self.pieces for kernel in piece.kernels]
        return list({kernel.name: kernel.source for kernel in kernels}.values())

    @property
    def bytes_eager(self):
        return sum(moved(call_ends(piece.graph)) for piece in self.pieces)

    @property
    def bytes_fused(self):
        return sum(moved(step_ends(piece)) for piece in self.pieces)

    @property
    def peak_eager(self):
        return max((peak(piece.graph, call_ends(piece.graph)) for piece in self.pieces), default=0)

    @property
    def peak_fused(self):
        return max((peak(piece.graph, step_ends(piece)) for piece in self.pieces), default=0)

    # ------------------------------------------------------------ as text
    def summary(self):
        """Rows of (what, figure)."""
        rows = [
            ("graphs", self.graph_count),
            ("graph breaks", self.graph_break_count),
            ("ops recorded", self.op_count),
            ("steps to run", sum(len(piece.steps) for piece in self.pieces)),
            ("of them kernels", sum(len(piece.kernels) for piece in self.pieces)),
            ("of them in blocks", self.block_count),
            ("bytes moved, op by op", f"{self.bytes_eager:,}"),
            ("bytes moved, fused", f"{self.bytes_fused:,}"),
            ("peak memory, op by op", f"{self.peak_eager:,}"),
            ("peak memory, fused", f"{self.peak_fused:,}"),
        ]
        if self.seconds_eager is not None:
            rows.append(("microseconds as Python", f"{self.seconds_eager * 1e6:.1f}"))
            rows.append(("microseconds replayed", f"{self.seconds_fused * 1e6:.1f}"))
        return rows

    def sections(self):
        """Pairs of heading and preformatted text."""
        if self.break_reasons:
            yield "Breaks", "\n".join(map(str, self.break_reasons))
        if self.guards:
            yield "Guards", "\n".join(self.guards)
        for i, piece in enumerate(self.pieces):
            changes = ", ".join(f"{name} {n}" for name, n in piece.changes.items() if n) or "none"
            yield (
                f"Graph {i}",
                f"{piece.graph}\n\npasses: {piece.before} calls before, {len(call_ends(piece.graph))} after; "
                f"changes: {changes}\n\nsteps:\n" + "\n".join(f"  {step}" for step in piece.steps),
            )
        for source in self.sources:
            yield "Generated C", source

    def __str__(self):
        width = max(len(name) for name, _ in self.summary())
        lines = [f"{self.name}", ""] + [f"{name:<{width}}  {n}" for name, n in self.summary()]
        for heading, text in self.sections():
            lines += ["", f"---- {heading}", text]
        return "\n".join(lines)

    __repr__ = __str__

    # ------------------------------------------------------------ as a page
    def _repr_html_(self):
        rows = "".join(f"<tr><td>{name}</td><td>{n}</td></tr>" for name, n in self.summary())
        parts = [f"<h1>{html.escape(self.name)}</h1>", f"<table>{rows}</table>"]
        parts += [
            f"<h2>{heading}</h2><pre>{html.escape(text)}</pre>" for heading, text in self.sections()
        ]
        return "".join(parts)

    def to_html(self, path):
        """Write the explanation as a page that needs nothing else; returns the path."""
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(self.name)}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>{self._repr_html_()}</html>'
        )
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
        return path


# ------------------------------------------------------------------------------------------------ memory
def size_of(node) -> int:
    """Bytes of the value of a node; of all its results, if it has several."""
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    return sum(x.numel() * x.itemsize for x in values if isinstance(x, Tensor))


def is_free(node):
    """Whether a node moves nothing: a view, or one of several results."""
    return getattr(node.target, "is_view", True)


def call_ends(graph) -> list:
    """For each call of a graph (what it reads, what it writes)."""
    return [
        (node.all_input_nodes, [node])
        for node in graph.nodes
        if node.op == "call_function" and not is_free(node)
    ]


def step_ends(piece) -> list:
    """For each step that runs instead of the calls of a piece (what it reads, what it writes)."""
    return [
        (step.node.all_input_nodes, [step.node])
        if isinstance(step, Call)
        else (step.inputs, step.outputs)
        for step in piece.steps
        if not isinstance(step, Call) or not is_free(step.node)
    ]


def moved(ends):
    return sum(size_of(node) for reads, writes in ends for node in (*reads, *writes))


def peak(graph, ends):
    """The most bytes of values that exist at once."""
    inputs = set(graph.find_nodes(op="placeholder"))
    last = {node: len(ends) for node in nodes_in(output_of(graph))}
    for i, (reads, writes) in enumerate(ends):
        for node in (*reads, *writes):
            last[node] = max(i, last.get(node, 0))
    alive, most = set(), 0
    for i, (_, writes) in enumerate(ends):
        alive.update(node for node in writes if node not in inputs)
        most = max(most, sum(map(size_of, alive)))
        alive = {node for node in alive if last[node] > i}
    return most
