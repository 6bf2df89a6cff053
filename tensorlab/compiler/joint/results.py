"""What a functional graph leaves to do when it has run: writes to inputs, and results that lie in their memory."""

from dataclasses import dataclass
from typing import NamedTuple

from tensorlab._core.state.modes import is_grad_enabled
from tensorlab.autograd.grad_mode import set_grad_enabled
from tensorlab.compiler.capture.graph_builder import NamedResult
from tensorlab.compiler.joint.write_back import count_writes, write_back
from tensorlab.fx.graph import Graph


class Slot(NamedTuple):
    """The place of a tensor in what a function returns."""

    position: int


@dataclass(frozen=True)
class Result:
    """Where a tensor that a function returns comes from."""

    kind: str  # "made": that result of the graph; "input": that placeholder
    index: int
    views: tuple  # what has to be done to it: View.of, one after the other


@dataclass
class Functional:
    """A graph without writes, and what to do when it has run.

    Attributes
    ----------
    graph : Graph, which returns a flat tuple: `made` results, then the new values of inputs
    made : int
    writes : list of (number of a placeholder, Node): what the input holds in the end; in the
        order of the graph's results
    structure : what the function returned, with a Slot for each tensor and each number read
        from one
    results : list of Result, by the position of the Slot; one object twice: one tensor twice
    lost_history : list of Node, calls that read a tensor whose history a write without grad
        mode has not changed
    left_out : tuple of (number of a placeholder, int): writes of the program that are not made
        one by one
    made_versions : tuple of (number of a result, int): writes that have gone into it already
    """

    graph: Graph
    made: int
    writes: list
    structure: object
    results: list
    lost_history: list
    left_out: tuple = ()
    made_versions: tuple = ()

    @property
    def written(self):
        """The numbers of the placeholders that the graph's last results are written to."""
        return tuple([i for i, _ in self.writes])

    @property
    def aliases(self):
        """{position: Result} of those that are an input, or a view of an input or of another result."""
        seen, found = set(), {}
        for position, one in enumerate(self.results):
            if one.kind == "input" or one.views or one.index in seen:
                found[position] = one
            seen.add(one.index if one.kind == "made" else None)
        return found

    def finish(self, inputs, outputs):
        """Write to the inputs, and return what the function returns.

        Parameters
        ----------
        inputs : list of Tensors, one for each placeholder
        outputs : what the graph has returned for them
        """
        inputs, outputs = list(inputs), list(outputs)
        count_writes(inputs, self.left_out)
        count_writes(outputs, self.made_versions)
        write_back(inputs, outputs, self.written)
        found = {id(one): remake(one, inputs, outputs) for one in self.results}
        return rebuilt(self.structure, Slot, lambda one: found[id(self.results[one.position])])


def rebuilt(structure, place, function):
    """What a function returns: a nested structure with `function(one)` for every `one` of class `place`."""
    if isinstance(structure, place):
        return function(structure)
    if isinstance(structure, NamedResult):
        return structure.kind(rebuilt(structure.parts, place, function))
    if isinstance(structure, tuple):
        made = [rebuilt(one, place, function) for one in structure]
        return type(structure)(*made) if hasattr(structure, "_fields") else type(structure)(made)
    if isinstance(structure, list):  # fx has lists of its own
        return [rebuilt(one, place, function) for one in structure]
    if isinstance(structure, dict):
        return {key: rebuilt(one, place, function) for key, one in structure.items()}
    return structure


def remake(result, inputs, outputs):
    x = inputs[result.index] if result.kind == "input" else outputs[result.index]
    for view in result.views:
        with set_grad_enabled(view.grad_enabled and is_grad_enabled()):
            x = view.of(x)
    return x


def run_functional(functional, inputs, run):
    """Run the graph with `run(graph, inputs)`, write to the inputs, and return what the function returns."""
    return functional.finish(inputs, run(functional.graph, inputs))
