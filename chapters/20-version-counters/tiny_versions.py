"""The engine of chapter 18 with saved tensors and version counters: the idea of chapter 20.

`count` and `steps` are those of chapter 18. Results are lists of numbers now, and instead of a slope an edge
has a rule: a function from a gradient to a gradient, which may need a tensor that forward saved.
"""

from itertools import count as count_up


class Node:
    """A result that a program computed, with an edge and a rule for each of its inputs."""

    numbers = count_up(1)

    def __init__(self, name, *inputs):
        self.name = name
        self.next_functions = tuple((node, 0) for node, _ in inputs)
        self.rules = [rule for _, rule in inputs]  # each turns a gradient into one of the input
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


def backward(root, gradient):
    """Give every node the gradient of its result, a list of numbers."""
    waiting = {root: gradient}
    for node, _, _ in steps(root):
        node.grad = waiting.pop(node)
        for (next_node, _), rule in zip(node.next_functions, node.rules, strict=True):
            new = rule(node.grad)
            old = waiting.get(next_node, [0.0] * len(new))
            waiting[next_node] = [a + b for a, b in zip(old, new, strict=True)]


class Counter:
    """How often some memory was written. All who see the memory hold the same counter."""

    def __init__(self):
        self.version = 0


class Saved:
    """A pointer to a tensor that a rule will need, and the version it was saved at."""

    def __init__(self, tensor):
        self.tensor, self.version = tensor, tensor.counter.version

    def unpack(self):
        now = self.tensor.counter.version
        if now != self.version:
            raise RuntimeError(f"at version {now}, but saved at {self.version}")
        return self.tensor.values


def times(saved):
    """Return the rule of a product: multiply the gradient by the saved other factor."""
    return lambda grad: [g * v for g, v in zip(grad, saved.unpack(), strict=True)]


def same(grad):
    """The rule of a sum: pass the gradient on."""
    return grad


class Tensor:
    """Numbers in memory, the counter of the writes to them, and the node that made them."""

    def __init__(self, values, counter=None, node=None):
        self.values = values  # a list, which several tensors may hold
        self.counter = counter or Counter()
        self.node = node or Node("leaf")

    def __add__(self, other):
        values = [a + b for a, b in zip(self.values, other.values, strict=True)]
        return Tensor(values, node=Node("add", (self.node, same), (other.node, same)))

    def __mul__(self, other):
        by_self, by_other = times(Saved(other)), times(Saved(self))
        values = [a * b for a, b in zip(self.values, other.values, strict=True)]
        return Tensor(values, node=Node("mul", (self.node, by_self), (other.node, by_other)))

    def detach(self):
        """Return an alias outside the graph, with the same counter."""
        return Tensor(self.values, self.counter)

    @property
    def data(self):
        """Return an alias outside the graph, with a counter of its own: a hole."""
        return Tensor(self.values)

    def write_(self, values):
        """Write to memory without recording it."""
        self.values[:] = values
        self.counter.version += 1

    def mul_(self, other):
        """Multiply in place: check, save, write, count, rebase."""
        if len(other.values) != len(self.values):
            raise ValueError(f"mul_: {len(other.values)} factors for {len(self.values)}")
        old = Tensor(list(self.values))  # a copy: the write destroys it
        by_self, by_other = times(Saved(other)), times(Saved(old))
        self.write_([a * b for a, b in zip(self.values, other.values, strict=True)])
        self.node = Node("mul_", (self.node, by_self), (other.node, by_other))
        return self
