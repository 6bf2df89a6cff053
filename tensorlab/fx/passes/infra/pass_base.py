"""Passes as classes: something that takes a GraphModule and returns it, with word of whether it changed."""

from typing import Any, NamedTuple

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass returns: the module, and whether the pass changed something."""

    graph_module: Any
    modified: bool


class PassBase:
    """A pass. A subclass defines `call(graph_module)`, which returns a PassResult."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module if result is None else result.graph_module)
        return result

    def call(self, graph_module):
        """Change a module; every subclass defines its own."""
        raise NotImplementedError(
            f"{type(self).__name__}: has no call; define call(self, graph_module)"
        )

    def requires(self, graph_module):
        """Raise an error unless the module is what the pass needs. Runs before it."""

    def ensures(self, graph_module):
        """Raise an error unless the module is what the pass promises. Runs after it."""
