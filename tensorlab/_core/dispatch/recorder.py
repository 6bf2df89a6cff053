"""Layers that watch: a Recorder writes down every call of an op, a Counter counts them."""

from collections import Counter as Tally
from typing import Any, NamedTuple

from tensorlab._core.dispatch.layers import Layer


class Call(NamedTuple):
    """A call of an op. Its tensors are the program's own, so they stay alive, and `is` shows which call made them."""

    op: Any
    arguments: tuple
    result: Any

    def __str__(self):
        return f"{self.op.name}({', '.join(describe(one) for one in self.arguments)})"


class Recorder(Layer):
    """While it is entered, `calls` grows by a Call for each op that this thread runs, those of backward included."""

    def __init__(self) -> None:
        super().__init__("recorder")
        self.calls: list = []

    def call(self, op, arguments):
        result = op(*arguments)
        self.calls.append(Call(op, arguments, result))
        return result


class Counter(Layer):
    """While it is entered, `counts` says how often this thread has run each op, by name."""

    def __init__(self, place="recorder"):
        super().__init__(place)
        self.counts = Tally()

    def call(self, op, arguments):
        self.counts[op.name] += 1
        return op(*arguments)


def describe(value):
    """An argument in a few characters."""
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(describe(one) for one in value)}]"
    return f"Tensor{tuple(value.shape)}" if hasattr(value, "shape") else repr(value)
