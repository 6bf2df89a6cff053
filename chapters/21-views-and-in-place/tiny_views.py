"""The engine of chapters 18 and 20 with views: one history for all who look, the idea of chapter 21.

Everything up to `same` is the program of chapter 20. New are the places that a tensor sees of its memory, and
with them views, whose node may be out of date, and writes that give their base a new node.
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
    """The places of some memory that it sees, the counter of the memory, and a node.

    A view has a base, and notes the version at which its node was right.
    """

    def __init__(self, memory, places=None, counter=None, base=None):
        self.memory = memory  # a list, which several tensors may hold
        self.places = range(len(memory)) if places is None else places
        self.counter = counter or Counter()
        self.base = base
        self.node = Node("leaf") if base is None else replay(self)
        self.view_version = self.counter.version

    @property
    def values(self):
        return [self.memory[place] for place in self.places]

    def __getitem__(self, part):
        """Return a view; a slice of a range is a range, so a view of a view is one of the base."""
        base = self if self.base is None else self.base
        return type(self)(self.memory, self.places[part], self.counter, base)

    def grad_fn(self):
        """Return the node that describes the present values: a stale view gets a new one."""
        if self.base is not None and self.view_version != self.counter.version:
            self.node, self.view_version = replay(self), self.counter.version
        return self.node

    def __mul__(self, other):
        by_self, by_other = times(Saved(other)), times(Saved(self))
        result = type(self)([a * b for a, b in zip(self.values, other.values, strict=True)])
        result.node = Node("mul", (self.grad_fn(), by_self), (other.grad_fn(), by_other))
        return result

    def change_(self, function, slope):
        """Write function(v) over each number v; slope(v) is its derivative there."""
        slopes = [slope(v) for v in self.values]  # saved before the write
        for place in self.places:
            self.memory[place] = function(self.memory[place])
        self.counter.version += 1
        rebase_history(self, slopes)


def replay(view):
    """Return the node of a view: a slice of what its base is now."""
    size, places = len(view.memory), view.places

    def spread(grad):
        result = [0.0] * size
        for place, g in zip(places, grad, strict=True):
            result[place] = g
        return result

    return Node("slice", (view.base.node, spread))


def rebase_history(written, slopes):
    """Give the base a new node: the gradient passes, scaled where it was written."""
    base, places = written.base or written, written.places

    def copy_slices(grad):
        result = list(grad)
        for place, slope in zip(places, slopes, strict=True):
            result[place] *= slope
        return result

    base.node = Node("CopySlices", (base.node, copy_slices))
