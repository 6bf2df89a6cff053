"""A program as a graph of its calls: what `fx` traces, drawn from the inputs above to the output below.

    x -> relu
    relu = tensorlab.relu(x) -> add
    add = operator.add(relu, 1) -> output
    output: add

Inputs and attributes are boxes with two outlines, calls are pills.  An arrow leads from a value to the call
that uses it.  Shapes and types are shown where a pass has noted them.  Only public attributes of nodes are
used, so a graph of PyTorch is drawn as well.
"""

from .layered import Edge, Vertex, draw, order_layers, place, split_layers
from .picture import Picture

__all__ = ["program"]

WIDEST = 44  # characters of a line in a box


def program(graph, *, name="program", most_nodes=100):
    """Draw a graph of `fx`: its inputs, its calls with their arguments, and its output.

    Parameters
    ----------
    graph : Graph or GraphModule
    name : str, for the title
    most_nodes : int, more are refused, because no one could read the picture

    Returns
    -------
    Picture, which a notebook shows; `str` gives it as text, `save(path)` writes a file

    Raises
    ------
    ValueError
        If the graph has no nodes, or too many.
    TypeError
        If it is neither a Graph nor a module that has one.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import fx, viz
    >>> print(viz.program(fx.symbolic_trace(lambda x: tensorlab.relu(x) + 1)))
    x: input -> relu
    relu = tensorlab.relu(x) -> add
    add = operator.add(relu, 1) -> output
    output: add
    """
    graph = getattr(graph, "graph", graph)
    if not hasattr(graph, "nodes") or not hasattr(graph, "python_code"):
        raise TypeError(
            f"viz.program draws a Graph or a GraphModule, and was given a {type(graph).__name__}; "
            "fx.symbolic_trace makes one of a function or a module"
        )
    nodes = list(graph.nodes)
    if not 0 < len(nodes) <= most_nodes:
        raise ValueError(
            f"viz.program draws 1 to {most_nodes} nodes, and the graph has {len(nodes)}; "
            "most_nodes= draws more, fx.passes.split_module makes parts of it"
        )
    vertices = {node: read_node(node) for node in nodes}
    for node in nodes:
        vertices[node].edges = [Edge(vertices[user]) for user in node.users]
    text = "\n".join(map(describe, nodes))
    description = (
        f"Arrows lead from a value to the calls that use it. {'; '.join(map(describe, nodes))}."
    )
    layers = split_layers(list(vertices.values()))
    order_layers(layers)
    width, height = place(layers)
    return Picture(f"Graph of {name}", description, text, width, height, draw(layers))


def read_node(node):
    """Return the box of a node: its name, what it calls, and what is known of its value."""
    is_value = node.op in ("placeholder", "get_attr", "output")
    lines = [node.name, *([] if is_value and node.op != "get_attr" else [call_of(node)])]
    lines = [line if len(line) <= WIDEST else f"{line[: WIDEST - 3]}..." for line in lines]
    return Vertex(node.name, lines + known_of(node), is_tensor=is_value)


def call_of(node):
    """What a node calls, with its arguments, as in source."""
    if node.op == "get_attr":
        return f"self.{node.target}"
    named = [f"{name}={value}" for name, value in node.kwargs.items()]
    if node.op == "call_method":
        owner, *rest = node.args
        return f"{owner}.{node.target}({', '.join([*map(str, rest), *named])})"
    target = (
        f"self.{node.target}"
        if node.op == "call_module"
        else node._pretty_print_target(node.target)
    )
    return f"{target}({', '.join([*map(str, node.args), *named])})"


def known_of(node):
    """A line with type and shape of a tensor, if a pass has noted them."""
    for key in ("val", "tensor_meta"):
        value = node.meta.get(key)
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            return [f"{str(value.dtype).rpartition('.')[2]} {tuple(value.shape)}"]
    return []


def describe(node):
    """One line of text: a node, its value, and who uses it."""
    users = f" -> {', '.join(user.name for user in node.users)}" if node.users else ""
    known = "".join(f", {line}" for line in known_of(node))
    if node.op == "output":
        return f"output: {node.args[0]}"
    if node.op == "placeholder":
        return f"{node.name}: input{known}{users}"
    return f"{node.name} = {call_of(node)}{known}{users}"
