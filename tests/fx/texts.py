"""What of a graph must be equal here and in PyTorch: its nodes as plain text, with the package's name taken out."""

import re


def without_package(text):
    """Return a text without the names of the packages and of their inner modules.

    A function that is public here under `tensorlab.nn.functional` may be one of `torch._C._nn` there.
    """
    text = re.sub(
        r"\b(tensorlab|torch)(\.(nn\.functional|_C\._nn|special|_C\._special|functional|_tensor|_ops|ops|fx\.\w+))*\.",
        "",
        text,
    )
    return re.sub(r"\b(tensorlab|torch)\b", "package", text)


def target_name(node):
    """Return what a node calls, by its last name: the two packages keep a function in different modules."""
    target = node.target
    return target if isinstance(target, str) else getattr(target, "__name__", None) or target.name


def describe(graph):
    """Return all there is to know of a graph: each node with its arguments, users and inputs."""
    return [
        (
            node.op,
            node.name,
            target_name(node),
            without_package(repr(node.args)),
            without_package(repr(node.kwargs)),
            [user.name for user in node.users],
            [used.name for used in node.all_input_nodes],
        )
        for node in graph.nodes
    ]
