"""parallelize_module: apply styles to the parts of a module."""

import fnmatch
import warnings

from tensorlab.distributed.device_mesh import active_mesh
from tensorlab.distributed.tensor.parallel.style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(module, device_mesh=None, parallelize_plan=None, *, src_data_rank=0):
    """Make a module tensor parallel, in place.

    Parameters
    ----------
    module : Module
    device_mesh : DeviceMesh of one dimension, by default that of the block `with mesh:`
    parallelize_plan : ParallelStyle of the module itself, or dict of a path, such as
        "layers.*.attention.query", to the style of the parts there. `*` and `?` stand for any
        names
    src_data_rank : int or None, whose values of the parameters count; see `distribute_tensor`

    Returns
    -------
    Module, the same

    Raises
    ------
    TypeError
        If the plan is something else.
    ValueError
        If the mesh has several dimensions.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist, nn
    >>> from tensorlab.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel
    >>> def net(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    ...     parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    ...     return net[2].weight.to_local().shape
    >>> dist.threads.spawn(net, nprocs=2)[0]
    tensorlab.Size([2, 3])
    """
    mesh = active_mesh(device_mesh)
    if mesh.ndim != 1:
        raise ValueError(
            f"parallelize_module: the mesh has {mesh.ndim} dimensions: {mesh}; give the one to "
            "be cut along, such as mesh['tp']"
        )
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, "
            "so this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        found = parts_at(module, path.split(".") if path else [])
        if not found:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule of "
                f"{type(module).__name__} is called so, skipping this plan entry.",
                stacklevel=2,
            )
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def parts_at(module, path):
    """Return the modules below a module at a path of names, which may have `*`."""
    found = [module]
    for token in path:
        found = [
            child
            for one in found
            for name, child in one.named_children()
            if fnmatch.fnmatch(name, token)
        ]
    return found
