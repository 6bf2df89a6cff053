"""pipeline: cut a model into stages at the submodules that are named, by its graph."""

import contextvars
import enum

from tensorlab.distributed.pipelining.stage import PipelineStage
from tensorlab.errors import DistError
from tensorlab.fx._symbolic_trace import Tracer
from tensorlab.fx.graph_module import GraphModule
from tensorlab.fx.passes.split_module import split_module

__all__ = ["Pipe", "SplitPoint", "build_stage", "pipe_split", "pipeline"]

tracer_at_work: contextvars.ContextVar = contextvars.ContextVar("tracer", default=None)


class SplitPoint(enum.Enum):
    """Where a stage begins or ends: at the beginning or at the end of a submodule."""

    BEGINNING = 1
    END = 2


def pipe_split():
    """Mark in `forward` where a stage ends, for `pipeline`; it does nothing else."""
    tracer = tracer_at_work.get()
    if tracer is not None:
        tracer.create_node("call_function", pipe_split, (), {})


class Pipe:
    """A model that was cut into stages.

    Attributes
    ----------
    split_gm : GraphModule, which calls the stages one after the other
    num_stages : int
    """

    def __init__(self, split_gm, num_stages):
        self.split_gm, self.num_stages = split_gm, num_stages

    def __call__(self, *args, **kwargs):
        return self.split_gm(*args, **kwargs)

    def __repr__(self):
        return f"Pipe({self.num_stages} stages)\n{self.split_gm}"

    def get_stage_module(self, stage_idx):
        """Return the module of a stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}; there are {self.num_stages} stages")
        return getattr(self.split_gm, f"submod_{stage_idx}")

    def build_stage(self, stage_index, device="cpu", group=None):
        """Return the PipelineStage with a stage's module, for this rank."""
        module = self.get_stage_module(stage_index)
        return PipelineStage(module, stage_index, self.num_stages, device, group=group)


def build_stage(stage_module, stage_index, pipe_info, device="cpu", group=None):
    """Return a PipelineStage for the module of a stage of a Pipe."""
    return PipelineStage(stage_module, stage_index, pipe_info.num_stages, device, group=group)


def pipeline(module, mb_args=(), mb_kwargs=None, split_spec=None, split_policy=None):
    """Cut a model into stages.

    Parameters
    ----------
    module : Module whose forward can be traced by fx
    mb_args, mb_kwargs : a microbatch, which the cut model is tried with
    split_spec : dict of names of submodules to SplitPoint; without it, `pipe_split()` calls in
        forward say where
    split_policy : refused; give split_spec

    Returns
    -------
    Pipe

    Raises
    ------
    ValueError
        If a name in split_spec is no submodule.
    RuntimeError
        If a stage needs a value of a stage that isn't just before it.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> pipe = pipeline(model, (tensorlab.ones(4, 2),), split_spec={"2": SplitPoint.BEGINNING})
    >>> pipe.num_stages
    2
    """
    if split_policy is not None:
        raise NotImplementedError(
            "pipeline: split_policy is not here; give split_spec, or call pipe_split()"
        )
    spec = split_spec or {}
    names = dict(module.named_modules())
    for name in spec:
        if name not in names:
            raise ValueError(
                f"pipeline: {name!r} is no submodule; there are {', '.join(list(names)[1:6])}, ..."
            )
    tracer = Tracer()
    token = tracer_at_work.set(tracer)
    try:
        graph = tracer.trace(module)
    finally:
        tracer_at_work.reset(token)
    traced = GraphModule(module, graph)
    part_of = number_parts(traced.graph, spec)
    for node in list(traced.graph.nodes):
        if node.target is pipe_split:
            traced.graph.erase_node(node)
    traced.recompile()
    check_neighbours(traced.graph, part_of)
    split = split_module(traced, module, lambda node: part_of[node.name], keep_original_order=True)
    stages = len(set(part_of.values()))
    pipe = Pipe(split, stages)
    if mb_args or mb_kwargs:
        pipe(*mb_args, **(mb_kwargs or {}))
    return pipe


def number_parts(graph, spec):
    """Return the number of the stage of each node, by name."""
    part, inside, numbers = 0, None, {}
    for node in graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.target is pipe_split:
            part += 1
            continue
        home = place_in(node, spec)
        if inside is not None and home != inside and spec[inside] is SplitPoint.END:
            part += 1
        if home is not None and home != inside and spec[home] is SplitPoint.BEGINNING:
            part += bool(numbers)
        inside = home
        numbers[node.name] = part
    return numbers


def place_in(node, spec):
    """Return the name in the spec of the submodule that a node belongs to, or None."""
    paths = list(node.meta.get("nn_module_stack", {}))
    if node.op == "call_module":
        paths.append(node.target)
    for name in spec:
        if any(path == name or path.startswith(name + ".") for path in paths):
            return name
    return None


def check_neighbours(graph, part_of):
    """Raise an error if a value is used by a stage that isn't the next one."""
    for node in graph.nodes:
        here = part_of.get(node.name, 0)
        for user in node.users:
            there = part_of.get(user.name)
            if there is not None and there - here > 1:
                raise DistError(
                    f"pipeline: {node.name!r} of stage {here} is used in stage {there}; stages "
                    "pass values "
                    "only to the next one. Return it from the stages between, or cut elsewhere."
                )
