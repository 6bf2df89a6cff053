"""Backends: what makes a program of a recording.

"tensorlab"     passes, fusion, generated C ("inductor" is another name of it, for programs written for PyTorch)
"aot_eager"     the same graphs, forward and backward, whose ops run one by one
"eager"         the recorded ops one by one, under autograd
a function      of (GraphModule, example inputs), which returns a function of as many tensors that gives a tuple
"""

from dataclasses import replace

from ..fx import GraphModule, Node
from .build import nodes_in
from .cannot_compile import CannotCompile
from .joint.results import rebuilt
from .program import ByCalls, Settings, functional_of, inputs_with_grad, make_program
from .tuning import make_fastest

__all__ = ["find", "list_backends", "register_backend"]


class Tensorlab:
    """The backend of this package."""

    def __init__(self, code):
        self.code = code

    def make(self, trace, settings, inputs):
        """Return the program of a trace; it raises CannotCompile if there is none.

        `inputs`: the tensors of the recorded call, or None.
        """
        settings = replace(settings, code=self.code and settings.code)
        return make_fastest(trace, settings.variants, inputs)

    def extend(self, program, trace):
        """Add a trace that saw other values than those that the program knows."""
        program.add(functional_of(trace))


class Eager:
    """Calls the ops as they were recorded; what stays is that Python does not run."""

    def make(self, trace, settings, inputs):
        if trace.value_reads or trace.grad_assignments:
            return make_program(trace, Settings(code=False))
        return ByCalls(functional_of(trace), inputs_with_grad(trace))

    def extend(self, program, trace):
        program.add(functional_of(trace))


class UserBackend:
    """A function that is given the recorded graph as a module."""

    def __init__(self, function):
        self.function = function

    def make(self, trace, settings, inputs):
        if trace.value_reads:
            raise CannotCompile(
                "looks at values, and a graph for a backend of your own can't have branches"
            )
        if trace.grad_assignments:
            raise CannotCompile(
                "runs backward, and a graph for a backend of your own can't assign gradients"
            )
        return UserProgram(self.function, trace)

    def extend(self, program, trace):
        raise CannotCompile("a graph for a backend of your own can't have branches")


class UserProgram:
    """What a backend of the user's has made of a graph."""

    def __init__(self, function, trace):
        graph = type(trace.graph)()
        copies = {}
        structure = graph.graph_copy(trace.graph, copies)
        self.structure = structure
        self.results = list(dict.fromkeys(nodes_in(structure)))
        graph.output(tuple(self.results))
        examples = [node.meta["val"] for node in graph.find_nodes(op="placeholder")]
        self.call = function(GraphModule({}, graph), examples)
        if not callable(self.call):
            raise TypeError(
                f"compile: the backend must return a function, not {type(self.call).__name__}"
            )

    pieces = ()

    def compute(self, inputs):
        return None  # the function may write, so it is called once, in `finish`

    def finish(self, inputs, outputs):
        values = dict(zip(self.results, self.call(*inputs), strict=True))
        return rebuilt(self.structure, Node, values.__getitem__)


BACKENDS = {
    "tensorlab": Tensorlab(code=True),
    "inductor": Tensorlab(code=True),
    "aot_eager": Tensorlab(code=False),
    "eager": Eager(),
}


def list_backends(exclude_tags=()):
    """Return the names of the backends, sorted.

    Examples
    --------
    >>> list_backends()
    ['aot_eager', 'eager', 'inductor', 'tensorlab']
    """
    return sorted(BACKENDS)


def register_backend(compiler_fn=None, name=None):
    """Give a backend of your own a name; a decorator, too.

    >>> import tensorlab
    >>> @tensorlab.compiler.register_backend
    ... def as_it_is(graph_module, example_inputs):
    ...     return graph_module.forward
    >>> "as_it_is" in tensorlab.compiler.list_backends()
    True
    """
    if compiler_fn is None:
        return lambda function: register_backend(function, name)
    BACKENDS[name or compiler_fn.__name__] = UserBackend(compiler_fn)
    return compiler_fn


def find(backend):
    """The backend of a name, or of a function.

    Raises
    ------
    RuntimeError
        If the name is unknown; the message lists those that there are.
    """
    if isinstance(backend, str):
        if backend not in BACKENDS:
            known = ", ".join(map(repr, list_backends()))
            raise RuntimeError(f"compile: there is no backend {backend!r}; choose from {known}")
        return BACKENDS[backend]
    if callable(backend):
        return UserBackend(backend)
    raise TypeError(f"compile: backend must be a name or a function, not {type(backend).__name__}")
