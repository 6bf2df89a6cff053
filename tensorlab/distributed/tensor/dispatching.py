"""How an op runs on DTensors.

1. Its rule lists candidates, and one is chosen for each dimension of the mesh (strategies.py).
2. The operands are redistributed to where the candidate wants them.
3. Each rank runs the op on its parts; sizes among the arguments become those of its part.
4. The results are DTensors. Their shapes are those of the op on meta tensors, without values.

Steps 1 and 4 depend on shapes and placements alone, so what they give is kept: a `Plan`.
"""

import contextlib
import dataclasses
import functools
import threading
import warnings

from tensorlab._core.tensor import Size
from tensorlab._tensor import Tensor
from tensorlab.autograd.grad_mode import no_grad
from tensorlab.distributed.tensor import handlers, network_rules, rules, view_rules  # noqa: F401 - they register
from tensorlab.distributed.tensor.layouts import Spec, local_range, local_shape, spec_of
from tensorlab.distributed.tensor.placement_types import Replicate
from tensorlab.distributed.tensor.redistribution import redistribute_local
from tensorlab.distributed.tensor.strategies import (
    HANDLERS,
    ON_PARTS,
    RULES,
    OpCall,
    choose,
    replicated,
)
from tensorlab.ops.creation import empty_strided

PLANS: dict = {}  # what a call is like: its Plan; all ranks that are threads share it
MOST_PLANS = 10_000
BY_NUMBERS = {"linalg_vector_norm"}  # ops whose plan depends on a float
SETTINGS = threading.local()  # .implicit: whether plain tensors count as replicated
WITHOUT_WARNING = {"item", "tolist", "truth", "sizes", "one_hot"}
TOLD: set = set()  # names of ops of which a warning has been given

# The argument of an op that is the size of its result.
SIZES = {
    "view": 1,
    "_reshape_copy": 1,
    "expand": 1,
    "sum_to_size": 1,
    "conv": 3,
    "conv_input": 2,
    "gather_backward": 3,
    "adaptive_avg_pool_backward": 1,
    "avg_pool_backward": 1,
}


@dataclasses.dataclass
class Plan:
    """How a call runs.

    Attributes
    ----------
    inputs : list of tuples of Placement, for each operand
    outputs : tuple of tuples of Placement, for each result, or one for all
    metas : list of (shape, stride, dtype, offset), or None where every result is whole on each
        rank
    run : function instead of the op, and the operand whose first row it is told; or None
    """

    inputs: list
    outputs: tuple
    metas: list | None
    run: object = None


@contextlib.contextmanager
def implicit_replication():
    """A block in which plain tensors beside DTensors count as replicated on all ranks.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Shard, ones
    >>> def add(rank):
    ...     x = ones(2, 2, device_mesh=dist.init_device_mesh("cpu", (2,)), placements=[Shard(0)])
    ...     with implicit_replication():
    ...         return (x + tensorlab.ones(2, 2)).to_local().tolist()
    >>> dist.threads.spawn(add, nprocs=2)[0]
    [[2.0, 2.0]]
    """
    before = getattr(SETTINGS, "implicit", False)
    SETTINGS.implicit = True
    try:
        yield
    finally:
        SETTINGS.implicit = before


def dispatch(cls, func, args, kwargs, by_handler=True):
    """Run an op that has DTensors of the class `cls` among its arguments."""
    found = HANDLERS.get(func._opname)
    if found is not None and by_handler:
        return found(func, args, kwargs, cls.around)
    operands: list = []
    if func.op.functional is not None and func.op.functional.is_view:
        raise RuntimeError(
            f"{func}: a DTensor keeps its shape; use the form that returns a view, without the _"
        )
    mesh = next(x for x in flat((args, tuple(kwargs.values()))) if isinstance(x, cls))._spec.mesh
    args = gather_operands(cls, func, args, operands, mesh)
    kwargs = {name: gather_operands(cls, func, x, operands, mesh) for name, x in kwargs.items()}
    if any(one._spec.mesh != mesh for one in operands):
        meshes = ", ".join(dict.fromkeys(repr(one._spec.mesh) for one in operands))
        raise RuntimeError(
            f"{func}: DTensor does not support cross-mesh operation yet; its operands are on "
            f"{meshes}"
        )
    plan = plan_of(cls, func, args, kwargs, operands, mesh)
    if mesh.get_coordinate() is None:
        return nothing(func, plan, mesh, args, cls.around)
    return run(cls, func, args, kwargs, operands, plan, mesh)


def gather_operands(cls, func, value, operands, mesh):
    """Append the DTensors in an argument to a list; return it with plain tensors made DTensors."""
    if isinstance(value, Tensor) and not isinstance(value, cls):
        if value.numel() == 1:
            return value  # its values are the same everywhere
        if not getattr(SETTINGS, "implicit", False):
            raise RuntimeError(
                f"{func} got mixed tensorlab.Tensor and DTensor, need to convert all Tensor to "
                "DTensor before calling distributed operators! distribute_tensor does it, or "
                "the block experimental.implicit_replication()"
            )
        value = cls.around(value, spec_of(value, mesh, (Replicate(),) * mesh.ndim))
    if isinstance(value, cls):
        operands.append(value)
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(gather_operands(cls, func, x, operands, mesh) for x in value)
    return value


def swapped(value, kind, function):
    """Return an argument with `function(x)` instead of each instance of `kind`; lists too."""
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(swapped(one, kind, function) for one in value)
    return value


# ---------------------------------------------------------------- plans
def plan_of(cls, func, args, kwargs, operands, mesh):
    """Return the plan of a call, made before or now."""
    exact = func._opname in BY_NUMBERS
    try:
        named = tuple((name, frozen(cls, value, exact)) for name, value in kwargs.items())
        key = func, mesh.shape, frozen(cls, args, exact), named
        plan = PLANS.get(key)
    except TypeError:  # an argument without a hash
        key = plan = None
    if plan is None:
        plan = make_plan(cls, func, args, kwargs, operands, mesh)
        if key is not None:
            if len(PLANS) >= MOST_PLANS:
                PLANS.clear()
            PLANS[key] = plan
    return plan


def flat(value):
    """Yield what is in nested lists and tuples."""
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from flat(one)
    else:
        yield value


def frozen(cls, value, exact=False):
    """Return what a plan depends on in an argument, as something with a hash. Of a float, such as a
    learning rate that changes with each step, that is its type, unless the op is `exact`."""
    if isinstance(value, cls):
        return value._spec.key
    if isinstance(value, Tensor):
        return value.dtype, tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return tuple([frozen(cls, one, exact) for one in value])
    if isinstance(value, slice):
        return "slice", value.start, value.stop, value.step
    if type(value) is float and not exact:
        return float
    hash(value)
    return type(value), value


def make_plan(cls, func, args, kwargs, operands, mesh):
    """Choose how a call runs."""
    specs = [one._spec for one in operands]
    call = OpCall(
        rule_name(func),
        func,
        tuples(swapped(args, cls, lambda x: x._spec)),
        {key: tuples(swapped(value, cls, lambda x: x._spec)) for key, value in kwargs.items()},
        specs,
        mesh,
    )
    chosen = choose(call, candidates_of(call), written=0 if func.op.writes else None)
    inputs = [tuple(one.inputs[k] for one in chosen) for k in range(len(specs))]
    count = max(len(one.outputs) for one in chosen)
    outputs = tuple(
        tuple(one.outputs[min(k, len(one.outputs) - 1)] for one in chosen) for k in range(count)
    )
    metas = None
    if not func.op.writes and any(not rules.is_whole(one) for one in outputs):
        metas = metas_of(cls, func, args, kwargs)
        outputs = tuple(outputs[min(k, count - 1)] for k in range(len(metas)))
    special = next(((i, one.run) for i, one in enumerate(chosen) if one.run is not None), None)
    return Plan(inputs, outputs, metas, special)


def rule_name(func):
    """Return the name that the rules know an op by: without the `_` of its form in place."""
    opname = func._opname
    return opname.rstrip("_") if opname.endswith("_") and func.op.writes else opname


def tuples(value):
    """Return lists in an argument as tuples."""
    return tuple(tuples(one) for one in value) if isinstance(value, (list, tuple)) else value


def candidates_of(call):
    """Return the candidates of a call, by its rule."""
    found = RULES.get(call.name)
    if found is not None:
        return found(call)
    functional = call.func.op.functional or call.func.op
    if functional.is_pointwise or call.func.op.is_pointwise:
        return rules.pointwise(call)
    if not all(rules.is_whole(spec.placements) for spec in call.operands):
        tell(call)
    return [replicated(call)]


def tell(call):
    """Warn, once for an op, that it computes on whole tensors."""
    if call.name not in WITHOUT_WARNING and call.name not in TOLD:
        TOLD.add(call.name)
        warnings.warn(
            f"{call.func}: there is no rule for parts of tensors, so each rank gathers the "
            "operands and computes everything",
            stacklevel=2,
        )


def metas_of(cls, func, args, kwargs):
    """Return shape, stride, dtype and offset of each result of an op on whole tensors."""

    def meta(x):
        if isinstance(x, cls):
            spec = x._spec
            return empty_strided(spec.shape, spec.stride, dtype=spec.dtype, device="meta")
        return empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")

    result = on_parts(func)(
        *swapped(args, Tensor, meta), **{k: swapped(v, Tensor, meta) for k, v in kwargs.items()}
    )
    found = [one for one in flat(result) if isinstance(one, Tensor)]
    return [(tuple(x.shape), tuple(x.stride()), x.dtype, x.storage_offset()) for x in found]


def on_parts(func):
    """Return what computes an op on tensors: the op, or what stands in its place on parts."""
    found = ON_PARTS.get(func._opname)
    return func if found is None else functools.partial(found, func)


# ---------------------------------------------------------------- running
def run(cls, func, args, kwargs, operands, plan, mesh):
    """Run an op on this rank's parts, and make DTensors of the results."""
    parts = iter([
        redistribute_local(one._local_tensor, one._spec, placements)
        for one, placements in zip(operands, plan.inputs, strict=True)
    ])  # fmt: skip
    own = swapped(args, cls, lambda x: next(parts))
    own_kwargs = {
        name: swapped(value, cls, lambda x: next(parts)) for name, value in kwargs.items()
    }
    place = SIZES.get(func._opname)
    if place is not None and plan.metas is not None and isinstance(own[place], (list, tuple)):
        size = local_shape(plan.metas[0][0], mesh, plan.outputs[0])
        size = size[len(size) - len(own[place]) :]  # sum_to_size keeps dimensions before, of size 1
        own = (*own[:place], type(own[place])(size), *own[place + 1 :])
    if func._opname == "squeeze":  # a part may have the size 1 where the whole hasn't
        own = (
            own[0],
            [dim for dim, n in enumerate(operands[0].shape) if n == 1 and is_named(dim, args)],
        )
    with no_grad():
        if plan.run is not None:
            spec = operands[0]._spec
            dim = plan.inputs[0][plan.run[0]].dim
            first, _ = local_range(
                spec.shape[dim], dim, mesh, plan.inputs[0], mesh.get_coordinate()
            )
            result = plan.run[1](func, own, own_kwargs, first)
        else:
            result = on_parts(func)(*own, **own_kwargs)
    if func.op.writes:
        if isinstance(args[0], cls):
            bring_back(func, args[0], own[0], plan.inputs[0])
        return args[0]
    made = wrapped(func, result, plan, mesh, cls.around)
    if func.op.is_view and (
        operands[0]._is_copy or is_elsewhere(result, operands[0]._local_tensor)
    ):
        mark_as_copy(made)
    return made


def bring_back(func, x, local, placements):
    """Copy what was written to a part that was brought elsewhere for it."""
    if x._is_copy:
        raise RuntimeError(
            f"{func}: it writes to a view of a DTensor that is placed so that the view had to "
            "be a copy; redistribute the tensor to Replicate before the view, or write to the "
            "tensor itself"
        )
    if local is not x._local_tensor:
        spec = x._spec.with_placements(placements)
        x._local_tensor.copy_(redistribute_local(local, spec, x._spec.placements))


def is_elsewhere(result, local):
    """Return whether a view, or the first of several, lies in other memory than its operand."""
    first = next(flat(result))
    if not first.numel():
        return False
    return first.untyped_storage().data_ptr() != local.untyped_storage().data_ptr()


def mark_as_copy(made):
    """Note of DTensors that what is written to them would not reach what they are views of."""
    for one in flat(made):
        one._is_copy = True


def is_named(dim, args):
    """Return whether squeeze is to take a dimension away if its size is 1."""
    dims = args[1] if len(args) > 1 else None
    dims = [dims] if isinstance(dims, int) else dims
    return dims is None or dim in [one % args[0].dim() for one in dims]


def wrapped(func, result, plan, mesh, around):
    """Make DTensors of this rank's results."""
    number = -1

    def wrap(local):
        nonlocal number
        number += 1
        if plan.metas is None:
            placements = (Replicate(),) * mesh.ndim
            spec = Spec(mesh, placements, local.shape, tuple(local.stride()), local.dtype)
            return around(local, spec, local.storage_offset() if func.op.is_view else 0)
        shape, stride, dtype, offset = plan.metas[number]
        spec = Spec(mesh, plan.outputs[number], Size(shape), stride, dtype)
        if tuple(local.shape) != spec.local_shape():
            raise RuntimeError(
                f"{func}: this rank's part has the shape {list(local.shape)}, and should have "
                f"{list(spec.local_shape())} of {spec}; redistribute the operands to Replicate "
                "before"
            )
        return around(local, spec, offset)

    return swapped(result, Tensor, wrap)


def nothing(func, plan, mesh, args, around):
    """Return the results of a rank outside of the mesh: DTensors without elements."""
    if func.op.writes:
        return args[0]
    if plan.metas is None:
        raise RuntimeError(f"{func}: rank {mesh.get_rank()} is not in {mesh}, and has no values")
    made = []
    for (shape, stride, dtype, _), placements in zip(plan.metas, plan.outputs, strict=True):
        local = empty_strided((0,), (1,), dtype=dtype)
        made.append(around(local, Spec(mesh, placements, shape, stride, dtype)))
    return made[0] if len(made) == 1 else tuple(made)
