"""Solutions of the exercises of chapter 18; tests/book/test_tiny_engine.py runs them."""

from tiny_engine import steps


def needed(root, targets):
    """Return the nodes from which a target can be reached: those that inputs= has to run."""
    order = [node for node, _, _ in steps(root)]
    found = set(targets)
    for node in reversed(order):  # what a node points to comes before it
        if any(next_node in found for next_node, _ in node.next_functions):
            found.add(node)
    return found


def backward_without_counts(root, gradient=1.0):
    """Give every node its gradient, running the node made last of those where something waits."""
    waiting = {root: gradient}
    while waiting:
        node = max(waiting, key=lambda node: node.number)
        node.grad = waiting.pop(node)
        for (next_node, _), slope in zip(node.next_functions, node.slopes, strict=True):
            waiting[next_node] = waiting.get(next_node, 0.0) + node.grad * slope
