"""Ops that need more than a rule: random numbers, steps of optimizers, and what looks at memory."""

import dataclasses

from tensorlab._core.tensor import Size
from tensorlab._tensor import Tensor
from tensorlab.distributed.tensor.layouts import Spec
from tensorlab.distributed.tensor.placement_types import Replicate
from tensorlab.distributed.tensor.redistribution import redistribute_local
from tensorlab.distributed.tensor.strategies import handler
from tensorlab.ops.creation import empty_strided


@handler(
    *("bernoulli_", "uniform_", "normal_", "exponential_", "random_", "cauchy_", "geometric_"),
    *("log_normal_", "rand_like", "randn_like", "randint_like", "bernoulli"),
)
def draw(func, args, kwargs, around):
    """Draw the whole tensor on each rank and keep a part, so that the values are those of one
    process, however the tensor is placed. All ranks' streams stand at the same place."""
    x = args[0]
    spec = x._spec.with_placements([p if p.is_shard() else Replicate() for p in x._spec.placements])
    whole = empty_strided(spec.shape, spec.stride, dtype=spec.dtype)
    if func._opname == "bernoulli":
        whole = redistribute_local(x._local_tensor, x._spec, (Replicate(),) * spec.mesh.ndim)
    result = func(whole, *args[1:], **kwargs)
    everywhere = spec_like(spec, result.dtype).with_placements((Replicate(),) * spec.mesh.ndim)
    own = redistribute_local(result, everywhere, spec.placements)
    if not func.op.writes:
        return around(own, spec_like(spec, result.dtype))
    if spec.placements != x._spec.placements:
        raise RuntimeError(f"{func}: random numbers can't be drawn into partial values: {x._spec}")
    x._local_tensor.copy_(own)
    return x


def spec_like(spec, dtype):
    return dataclasses.replace(spec, dtype=dtype)


@handler("adam_step_", "sgd_step_")
def optimizer_step(func, args, kwargs, around):
    """A step of an optimizer over lists of tensors: each rank does it on its parts. Gradients are
    brought to where the parameters are, and so is state that isn't there yet, which stays
    there."""
    params, grads, *rest = args
    brought = [part_beside(x, one) for x, one in zip(grads, params, strict=True)]
    for value in rest:
        if is_list_beside(value, params):
            for x, one in zip(value, params, strict=True):
                move_beside(x, one)
    own = [[part_beside(x, x) for x in value] if is_list(value) else value for value in rest]
    func(
        [one._local_tensor if hasattr(one, "_spec") else one for one in params],
        brought,
        *own,
        **kwargs,
    )
    return params


def is_list(value):
    """Return whether an argument is a list of tensors."""
    return isinstance(value, (list, tuple)) and all(isinstance(one, Tensor) for one in value)


def is_list_beside(value, params):
    """Return whether an argument is a list of tensors, one for each parameter."""
    return is_list(value) and len(value) == len(params)


def part_beside(x, param):
    """Return this rank's part of a tensor, placed as a parameter is."""
    spec = getattr(x, "_spec", None)
    if spec is None:
        return x
    if x.dim() != param.dim():
        return x._local_tensor
    return redistribute_local(x._local_tensor, spec, param._spec.placements)


def move_beside(x, param):
    """Place state of an optimizer as its parameter is, if it isn't."""
    if not hasattr(x, "_spec") or not hasattr(param, "_spec") or x.dim() != param.dim():
        return
    if x._spec.placements != param._spec.placements:
        x._local_tensor = part_beside(x, param)
        x._spec = x._spec.with_placements(param._spec.placements)


@handler("as_strided")
def as_strided(func, args, kwargs, around):
    """Look at the memory of the whole in another way: each rank does it on all of it."""
    x, size, stride, *rest = args
    offset = rest[0] if rest else kwargs.get("storage_offset")
    spec = x._spec
    local = redistribute_local(x._local_tensor, spec, (Replicate(),) * spec.mesh.ndim)
    is_copy = local is not x._local_tensor
    if tuple(local.stride()) != tuple(spec.stride):
        local, is_copy = laid_out(local, spec.stride), True
    within = 0 if offset is None else offset - x.storage_offset()
    result = func(local, size, stride, within + local.storage_offset())
    everywhere = (Replicate(),) * spec.mesh.ndim
    shape = Size(size)
    made = Spec(spec.mesh, everywhere, shape, tuple(stride), spec.dtype)
    made = around(result, made, x.storage_offset() if offset is None else offset)
    made._is_copy = is_copy
    return made


def laid_out(x, stride):
    """Return a copy of a tensor with other strides; where one is 0, the values are equal."""
    for dim, step in enumerate(stride):
        if step == 0 and x.shape[dim] > 1:
            return laid_out(x.narrow(dim, 0, 1), stride).expand(x.shape)
    return empty_strided(x.shape, stride, dtype=x.dtype).copy_(x)


@handler("set_data")
def set_data(func, args, kwargs, around):
    """`x.data = y`: hold what another DTensor holds."""
    x, source = args
    if not hasattr(source, "_spec"):
        raise RuntimeError(
            "data: a DTensor takes the data of a DTensor; distribute_tensor makes one"
        )
    func(x, source)
    x._local_tensor, x._spec = source._local_tensor, source._spec
    return x
