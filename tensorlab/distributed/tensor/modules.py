"""distribute_module: make the parameters of a module DTensors."""

from tensorlab.distributed.tensor.placement_types import Replicate
from tensorlab.distributed.tensor.tensors import DTensor, checked_mesh, distribute_tensor
from tensorlab.nn.module import Module
from tensorlab.nn.parameter import Parameter

__all__ = ["distribute_module"]


def distribute_module(module, device_mesh=None, partition_fn=None, input_fn=None, output_fn=None):
    """Make the parameters and buffers of a module DTensors, in place.

    Parameters
    ----------
    module : Module
    device_mesh : DeviceMesh, by default that of the block `with mesh:`
    partition_fn : function(name, submodule, mesh), which distributes what it wants to; what it
        leaves is replicated
    input_fn : function(module, inputs, mesh), which returns what forward gets
    output_fn : function(module, outputs, mesh), which returns what forward's result becomes

    Returns
    -------
    Module, the same

    Raises
    ------
    RuntimeError
        If it was distributed before.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist, nn
    >>> def net(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     model = distribute_module(nn.Linear(2, 2), mesh)
    ...     return model.weight.placements
    >>> dist.threads.spawn(net, nprocs=2)[0]
    (Replicate(),)
    """
    mesh = checked_mesh(device_mesh, "distribute_module")
    if not isinstance(module, Module):
        raise TypeError(
            f"distribute_module: module is a {type(module).__name__}; expected an nn.Module"
        )
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError(
            "distribute_module should only be called once on a module, but it has already been "
            "called on this module!"
        )
    for name, one in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, one, mesh)
        replicate_rest(one, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda owner, inputs: input_fn(owner, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda owner, inputs, out: output_fn(owner, out, mesh))
    module._distribute_module_applied = True
    return module


def replicate_rest(module, mesh):
    """Replicate the parameters and buffers of a module that aren't distributed yet."""
    whole = [Replicate()] * mesh.ndim
    for name, one in module._parameters.items():
        if one is not None and not isinstance(one, DTensor):
            set_parameter(module, name, distribute_tensor(one.detach(), mesh, whole), one)
    for name, one in module._buffers.items():
        if one is not None and not isinstance(one, DTensor):
            module._buffers[name] = distribute_tensor(one, mesh, whole)


def set_parameter(module, name, value, old):
    """Put a tensor in the place of a parameter."""
    module.register_parameter(name, Parameter(value, requires_grad=old.requires_grad))


def distribute_parameter(module, name, mesh, placements, src_data_rank=0):
    """Distribute one parameter of a module, if it has it and it's a plain tensor."""
    one = module._parameters.get(name)
    if one is not None and not isinstance(one, DTensor):
        made = distribute_tensor(one.detach(), mesh, placements, src_data_rank=src_data_rank)
        set_parameter(module, name, made, one)
