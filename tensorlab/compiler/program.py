"""What a recording becomes: something that takes the tensors of a call and gives its result.

    Straight        one plan, and no gradient is wanted
    Differentiable  a plan for forward and one for backward, as one node of the autograd graph
    Branching       a tree of plans, where Python looked at values
    ByCalls         the ops of the graph one by one, recorded by autograd as in the program itself

Each has `compute(inputs)`, which writes to no tensor of the program, and `finish(inputs,
outputs)`, which writes what is to be written and returns the result. `make_program` chooses.
"""

import functools
import itertools
import warnings
from dataclasses import dataclass, replace

from .._core.random import DrawingAside
from ..fx import Graph
from ..ops.creation import empty_strided
from ..random import default_generator
from .build import build_plan, calls_of, nodes_in, output_of
from .cannot_compile import CannotCompile
from .capture.trace import is_value_read
from .compiled_node import Differentiation
from .joint.functionalize import functionalize
from .joint.joint import LostHistory, check_histories, joint
from .joint.missing_tangents import without_tangents
from .joint.results import Slot
from .logs import log
from .lowering.schedule import Call, Kernel, block_schedule, schedule
from .passes import PASSES, run_passes
from .passes.running import checks_passes, interpret
from .second_order import SecondOrder
from .toolchain import ToolchainError, load
from .tree import Branch, add_path, graph_of, run_tree

__all__ = ["Settings", "functional_of", "inputs_with_grad", "make_program", "shared_memory"]


@dataclass(frozen=True)
class Settings:
    """What `compile` was told that matters here.

    Attributes
    ----------
    code : bool, whether C is generated; else the plans call ops
    recompute : bool, whether backward computes pointwise ops again, which saves memory
    without : names of passes that are left out
    dynamic : bool or None; False says that a recording for other sizes counts like any other
    tune : bool, whether variants are measured
    """

    code: bool = True
    recompute: bool = False
    without: tuple = ("decompose",)
    dynamic: bool | None = None
    tune: bool = False

    @property
    def variants(self):
        """The Settings to choose from."""
        return [self, replace(self, without=())] if self.tune else [self]

    @property
    def passes(self):
        """The names of the passes that run."""
        return [name for name in PASSES if name not in self.without]


def make_program(trace, settings, inputs=None):
    """Return the program of a trace.

    `inputs`: the tensors of the recorded call, or None; passes are checked on them where the environment asks for it.

    Raises
    ------
    CannotCompile
        If its writes can't be put off to the end, so that nothing can be replayed.
    """
    functional = functional_of(trace)
    if trace.grad_assignments and not trace.is_spent and has_followed_results(trace):
        raise CannotCompile(
            "it runs backward, and returns a result through which backward can run again"
        )
    wants_grad = inputs_with_grad(trace)
    reads = any(is_value_read(node) for node in functional.graph.nodes)
    if not any(wants_grad) or trace.grad_assignments:
        return Branching(functional, settings) if reads else Straight(functional, settings, inputs)
    if reads:
        return Branching(functional, settings, wants_grad)
    try:
        whole = joint(functional, wants_grad, "recompute" if settings.recompute else "save")
    except LostHistory:
        raise
    except CannotCompile as reason:
        log("graph", f"backward is not compiled: {reason}")
        return ByCalls(functional, wants_grad)
    if whole is None:
        return Straight(functional, settings, inputs)
    program = Differentiable(functional, whole, wants_grad, settings, inputs, trace.generators)
    if settings.code and not settings.tune and is_one_op(functional, program.pieces):
        try:
            return ByCalls(functional, wants_grad, program.pieces[:1])
        except LostHistory:
            pass
    return program


def is_one_op(functional, pieces):
    """Whether forward is a call of one op, without generated code: autograd is faster then."""
    return len(calls_of(functional.graph)) == 1 and not any(piece.kernels for piece in pieces)


def inputs_with_grad(trace):
    """For each placeholder whether it wants a gradient through the results of the call."""
    return [
        trace.grad_enabled and not trace.is_spent and node.meta["requires_grad"]
        for node in trace.graph.find_nodes(op="placeholder")
    ]


def has_followed_results(trace):
    return any(node.meta.get("requires_grad") for node in nodes_in(output_of(trace.graph)))


def functional_of(trace):
    """The functional graph of a trace, which also gives the gradients that the call assigned."""
    if not trace.grad_assignments:
        functional = functionalize(trace.graph, shared_memory(trace))
        if any(inputs_with_grad(trace)):
            functional.made_versions = ()  # backward saves results as they are made
        return functional
    graph, copies = Graph(), {}
    result = graph.graph_copy(trace.graph, copies)
    gradients = [node and copies[node] for _, node in trace.grad_assignments]
    graph.output((result, gradients))
    functional = functionalize(graph, shared_memory(trace))
    placeholders = trace.graph.find_nodes(op="placeholder")
    return WithGradients(functional, [placeholders.index(x) for x, _ in trace.grad_assignments])


class WithGradients:
    """A Functional whose result is a pair: what the call returns, and the new `.grad` of some inputs."""

    def __init__(self, functional, inputs):
        self.functional, self.inputs = functional, inputs

    def __getattr__(self, name):
        return getattr(self.functional, name)

    def finish(self, inputs, outputs):
        """Write to the inputs, assign the gradients, and return what the call returns."""
        result, gradients = self.functional.finish(inputs, outputs)
        for i, grad in zip(self.inputs, gradients, strict=True):
            inputs[i].grad = grad if grad is None else on_its_own(grad)
        return result


def on_its_own(x):
    """A tensor that is not a view, and keeps no more memory than it needs: what the engine gives a leaf."""
    if x._base is None:
        return x
    return x.data if x._base.numel() == x.numel() else x.clone()


def shared_memory(trace):
    """Sets of numbers of placeholders whose memory is the same; guards hold later calls to it."""
    sets = {}
    for i, first in enumerate(trace.guards.first_sharers):
        sets.setdefault(first, set()).add(i)
    return [numbers for numbers in sets.values() if len(numbers) > 1]


# ------------------------------------------------------------------------------------------------ plans
class Piece:
    """A graph and the plan that it became; what `explain` tells of it.

    Attributes
    ----------
    graph : Graph, after the passes
    before : int, calls in it before the passes
    changes : dict, pass: how many changes it made
    steps : list of Kernel and Call; of Blocks and Call if there is no C compiler
    plan : Plan
    """

    def __init__(self, graph, settings, inputs, folds):
        self.graph = graph
        self.before = len(calls_of(graph))
        self.changes = run_passes(graph, inputs, settings.passes)
        self.steps = (
            schedule(graph, folds) if settings.code else [Call(node) for node in calls_of(graph)]
        )
        self.plan = None

    @property
    def kernels(self):
        return [step for step in self.steps if isinstance(step, Kernel)]

    def build(self, addresses):
        """Make the plan. Without addresses of kernels their ops run in blocks."""
        if addresses is None:
            self.steps = block_schedule(self.graph)
            log("fusion", lambda: "\n".join(map(str, self.steps)))
        self.plan = build_plan(self.graph, self.steps, addresses)
        return self


def make_pieces(graphs, settings, inputs=(), *, folds=True):
    """A Piece with its plan for each graph; their kernels are compiled together.

    `inputs`: for each graph tensors that it may be tried on, where there are any.
    """
    pieces = [
        Piece(graph, settings, tensors, folds)
        for graph, tensors in itertools.zip_longest(graphs, inputs)
    ]
    # kernels of one name differ at most in their comments
    sources = {kernel.name: kernel.source for piece in pieces for kernel in piece.kernels}
    log("graph", lambda: "\n".join(f"after the passes:\n{piece.graph}" for piece in pieces))
    log("fusion", lambda: "\n".join(str(step) for piece in pieces for step in piece.steps))
    log("code", lambda: "\n".join(sources.values()))
    try:
        addresses = load(list(sources.values()))
    except ToolchainError as error:
        warn_once(error)
        addresses = None
    return [piece.build(addresses) for piece in pieces]


warned: set[type] = set()  # the failures that have been told


def warn_once(error):
    """Tell about a compiler that is missing or fails, once for each kind of failure."""
    if type(error) not in warned:
        warned.add(type(error))
        warnings.warn(
            f"compile: {error}. Pointwise ops run in blocks, all others one by one", stacklevel=2
        )


# ------------------------------------------------------------------------------------------------ kinds of programs
def direct_results(functional):
    """The number of the plan's output that is the result; of a tuple, a tuple of them.

    None if `functional.finish` has more to do than to take them.
    """
    structure = functional.structure
    slots = structure if type(structure) is tuple else (structure,)
    if not all(isinstance(one, Slot) for one in slots):
        return None
    results = [functional.results[one.position] for one in slots]
    if any(one.kind != "made" or one.views for one in results):
        return None
    numbers = tuple([one.index for one in results])
    return numbers if type(structure) is tuple else numbers[0]


class OnePlan:
    """A program that is one plan; `plan` is set by those that inherit it.

    Attributes
    ----------
    direct : what `direct_results` gives
    written : numbers of the inputs that are written over when the plan has run
    """

    def __init__(self, functional):
        self.functional = functional
        self.direct, self.written = direct_results(functional), functional.written

    def compute(self, inputs):
        return self.plan.run(inputs)

    def finish(self, inputs, outputs):
        return self.functional.finish(inputs, outputs)


class Straight(OnePlan):
    """One plan, without gradients."""

    def __init__(self, functional, settings, inputs=None):
        super().__init__(functional)
        self.pieces = make_pieces([functional.graph], settings, [inputs])
        self.plan = self.pieces[0].plan


class ByCalls(OnePlan):
    """The calls of the graph, recorded by autograd one by one."""

    def __init__(self, functional, wants_grad, pieces=()):
        check_histories(functional, wants_grad)
        super().__init__(functional)
        self.pieces = pieces
        self.plan = build_plan(functional.graph, records=True)


class Differentiable:
    """Forward and backward as two plans."""

    def __init__(self, functional, whole, wants_grad, settings, inputs=None, generators=()):
        self.functional, self.whole, self.settings = functional, whole, settings
        self.direct, self.written = direct_results(functional), functional.written
        self.backward = copy_of(whole.backward)  # before passes fold what depends on a tangent
        tangents = whole.backward.find_nodes(op="placeholder")[whole.saved :]
        likes = [node.meta["val"] for node in tangents]
        examples = [inputs, None]
        if inputs is not None and checks_passes():
            examples[1] = [*interpret(whole.forward, inputs)[: -len(inputs)], *ones_of(likes)]
            del examples[1][: len(nodes_in(output_of(whole.forward))) - whole.saved]
        self.pieces = make_pieces([whole.forward, whole.backward], settings, examples)
        forward, backward = [piece.plan for piece in self.pieces]
        gradients = output_of(whole.backward)
        self.plans = Differentiation(
            forward,
            backward,
            len(forward.outputs) - whole.saved,
            whole.tangents,
            likes,
            places_of(gradients),
            len(gradients),
            functools.cache(self.backward_for),
            functools.cache(
                lambda: SecondOrder(functional, whole.tangents, wants_grad, generators)
            ),
            default_generator in generators,
        )

    def backward_for(self, given):
        """The plan of backward, and the places of its results, where not all results have a gradient.

        `given`: for each tangent whether there is one.
        """
        graph = self.backward
        tangents = graph.find_nodes(op="placeholder")[self.whole.saved :]
        missing = {node for node, is_given in zip(tangents, given, strict=True) if not is_given}
        graph = without_tangents(graph, tangents, missing)
        places = places_of(output_of(graph))
        with DrawingAside():
            pieces = make_pieces([graph], self.settings)
        self.pieces += pieces
        return pieces[0].plan, places

    def compute(self, inputs):
        return self.plans.run(inputs)

    def finish(self, inputs, outputs):
        return self.functional.finish(inputs, outputs)


def ones_of(likes):
    """Gradients for trials: ones with the layouts of tensors on meta."""
    return [
        empty_strided(tuple(one.shape), one.stride(), dtype=one.dtype).fill_(1) for one in likes
    ]


def copy_of(graph):
    copied = Graph()
    copied.output(copied.graph_copy(graph, {}))
    return copied


def places_of(gradients) -> tuple:
    """The numbers of the inputs that have a gradient."""
    return tuple([i for i, node in enumerate(gradients) if node is not None])


class Branching:
    """A tree of plans. Where an input wants a gradient the plans are calls, which autograd records."""

    def __init__(self, functional, settings, wants_grad=()):
        self.settings, self.wants_grad = settings, wants_grad
        self.inputs = functional.graph.find_nodes(op="placeholder")
        self.root = Branch(None)
        self.ends, self.pieces = {}, []  # last branch of a path: its Functional
        self.add(functional)

    def add(self, functional):
        """Add the path of another recording, which saw another value somewhere."""
        check_histories(functional, self.wants_grad)
        changed, end = add_path(self.root, functional.graph, self.inputs)
        self.ends[end] = functional
        graphs = [graph_of(branch) for branch in changed]
        if any(self.wants_grad):
            plans = [build_plan(graph, records=True) for graph in graphs]
        else:
            # a value that Python looks at must be the same one, to the last bit
            pieces = make_pieces(graphs, self.settings, folds=False)
            self.pieces += pieces
            plans = [piece.plan for piece in pieces]
        for branch, plan in zip(changed, plans, strict=True):
            branch.run = plan.run

    def compute(self, inputs):
        return run_tree(self.root, inputs)

    def finish(self, inputs, outputs):
        values, end = outputs
        return self.ends[end].finish(inputs, values)
