"""The engine on plain numbers: counting, a ready queue, adding up.

`count` and `steps` use only `next_functions` and `_sequence_nr()` of a node. The nodes of tensorlab have
both, so the two functions also predict what the real engine will do.
"""

from itertools import count as count_up


class Node:
    """One number that a program computed, with an edge to each number it was computed from."""

    numbers = count_up(1)

    def __init__(self, name, *inputs):
        self.name = name
        self.next_functions = tuple((node, 0) for node, _ in inputs)
        self.slopes = [slope for _, slope in inputs]  # the derivative by each input
        self.number = next(Node.numbers)
        self.grad = None

    def _sequence_nr(self):
        return self.number


def count(root):
    """Return {node: edges that arrive at it} for all nodes reached from the root."""
    dependencies, stack = {root: 0}, [root]
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is None:
                continue
            if node not in dependencies:
                dependencies[node] = 0
                stack.append(node)
            dependencies[node] += 1
    return dependencies


def steps(root):
    """Yield (node that runs, counts after it, ready queue after it), step by step."""
    dependencies, ready = count(root), [root]
    while ready:
        ready.sort(key=lambda node: node._sequence_nr())
        node = ready.pop()  # the one made last
        for next_node, _ in node.next_functions:
            if next_node is None:
                continue
            dependencies[next_node] -= 1
            if dependencies[next_node] == 0:
                ready.append(next_node)
        yield node, dependencies, ready


def backward(root, gradient=1.0):
    """Give every node the derivative of the root's number by its own."""
    waiting = {root: gradient}
    for node, _, _ in steps(root):
        node.grad = waiting.pop(node)
        for (next_node, _), slope in zip(node.next_functions, node.slopes, strict=True):
            waiting[next_node] = waiting.get(next_node, 0.0) + node.grad * slope
