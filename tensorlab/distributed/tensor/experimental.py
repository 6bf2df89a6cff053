"""What may change: implicit replication, and functions of parts."""

import functools

from tensorlab import _missing
from tensorlab._tensor import Tensor
from tensorlab.distributed.tensor.dispatching import implicit_replication
from tensorlab.distributed.tensor.placement_types import Placement
from tensorlab.distributed.tensor.tensors import DTensor

__all__ = ["implicit_replication", "local_map"]


def local_map(
    func=None,
    out_placements=None,
    in_placements=None,
    in_grad_placements=None,
    device_mesh=None,
    *,
    redistribute_inputs=False,
):
    """Make a function of tensors one of DTensors: each rank calls it with its parts.

    Parameters
    ----------
    func : function; left out, the result is a decorator
    out_placements : list of Placement, of the one result; or a tuple of such lists and None, of
        several
    in_placements : tuple with a list of Placement or None for each argument, how it has to be
        placed
    in_grad_placements : tuple, how the gradients of the parts are placed
    device_mesh : DeviceMesh, by default that of the first DTensor
    redistribute_inputs : bool, whether arguments that are placed otherwise are brought there

    Raises
    ------
    ValueError
        If an argument is placed otherwise, or the numbers differ.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Partial, Shard, ones
    >>> def total(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     x = ones(4, device_mesh=mesh, placements=[Shard(0)])
    ...     return local_map(tensorlab.sum, out_placements=[Partial()])(x).full_tensor().item()
    >>> dist.threads.spawn(total, nprocs=2)
    [4.0, 4.0]
    """
    if func is None:
        return functools.partial(
            local_map,
            out_placements=out_placements,
            in_placements=in_placements,
            in_grad_placements=in_grad_placements,
            device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        mesh = device_mesh or next((x.device_mesh for x in args if isinstance(x, DTensor)), None)
        for given in (in_placements, in_grad_placements):
            if given is not None and len(given) != len(args):
                raise ValueError(
                    f"local_map: there are placements for {len(given)} arguments, and "
                    f"{len(args)} arguments"
                )
        local = []
        for k, x in enumerate(args):
            if isinstance(x, DTensor):
                x = placed_as(
                    x, in_placements[k] if in_placements else None, redistribute_inputs, k
                )
                x = x.to_local(
                    grad_placements=in_grad_placements[k] if in_grad_placements else None
                )
            local.append(x)
        out = func(*local, **kwargs)
        return out if mesh is None else as_dtensors(out, out_placements, mesh)

    return mapped


def placed_as(x, wanted, redistributes, k):
    """Return a DTensor as an argument has to be placed."""
    if wanted is None or x.placements == tuple(wanted):
        return x
    if not redistributes:
        raise ValueError(
            f"local_map: argument {k} is placed as {x.placements}, and has to be as "
            f"{tuple(wanted)}; redistribute it, or set redistribute_inputs=True"
        )
    return x.redistribute(placements=wanted)


def as_dtensors(out, placements, mesh):
    """Return the results of parts as DTensors."""
    if placements is None:
        return out
    alone = not isinstance(out, (tuple, list))
    if alone or all(isinstance(one, Placement) for one in placements):
        placements = (
            (placements,) if not alone or isinstance(placements[0], Placement) else placements
        )
    outputs = (out,) if alone else tuple(out)
    if len(outputs) != len(placements):
        raise ValueError(
            f"local_map: there are placements for {len(placements)} results, and "
            f"{len(outputs)} results"
        )
    made = tuple(
        DTensor.from_local(x, mesh, one) if one is not None and isinstance(x, Tensor) else x
        for x, one in zip(outputs, placements, strict=True)
    )
    return made[0] if alone else made


__getattr__ = _missing.refusing(__name__)
