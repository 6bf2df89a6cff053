"""A small engine that trains: numbers that remember their inputs, and one walk back."""

import math
from itertools import count


class Number:
    """A number, what it was computed from, and a place for its gradient."""

    counter = count(1)

    def __init__(self, value, *inputs, made_by="leaf"):
        self.value = value
        self.inputs = inputs  # pairs: a number, and the slope by it
        self.made_by = made_by
        self.sequence_number = next(Number.counter)
        self.grad = 0.0

    def __add__(self, other):
        other = number(other)
        return Number(self.value + other.value, (self, 1.0), (other, 1.0), made_by="add")

    def __mul__(self, other):
        other = number(other)
        slopes = (self, other.value), (other, self.value)
        return Number(self.value * other.value, *slopes, made_by="mul")

    def tanh(self):
        y = math.tanh(self.value)
        return Number(y, (self, 1 - y * y), made_by="tanh")

    def __sub__(self, other):
        return self + -1.0 * number(other)

    __radd__, __rmul__ = __add__, __mul__


def number(x):
    """Return x itself if it is a Number, else a new leaf."""
    return x if isinstance(x, Number) else Number(x)


def ancestors(result):
    """Return the numbers that `result` was computed from, itself included."""
    found, stack = {result}, [result]
    while stack:
        for source, _ in stack.pop().inputs:
            if source not in found:
                found.add(source)
                stack.append(source)
    return found


def last_made_first(numbers):
    """Return the numbers in the order of backward: each before those that it was made from."""
    return sorted(numbers, key=lambda n: n.sequence_number, reverse=True)


def backward(result):
    """Add the derivative of `result` by every leaf to the leaf's grad."""
    arrived = {result: 1.0}
    for node in last_made_first(ancestors(result)):
        gradient = arrived.pop(node)
        if not node.inputs:
            node.grad += gradient
        for source, slope in node.inputs:
            arrived[source] = arrived.get(source, 0.0) + slope * gradient
