"""fully_shard: keep of each parameter a part at each rank, and gather the whole while it is used.

    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)

Memory for parameters, gradients and the optimizer's state is that of one rank's parts, and of
the whole parameters of a block or two at a time.
"""

import functools
from typing import Any

from tensorlab.distributed.device_mesh import init_device_mesh
from tensorlab.distributed.fsdp.groups import Group
from tensorlab.distributed.fsdp.policies import MixedPrecisionPolicy, OffloadPolicy
from tensorlab.distributed.fsdp.shards import Ranks, ShardedParameter
from tensorlab.distributed.fsdp.states import STATE, State
from tensorlab.distributed.process_groups import get_world_size, init_process_group, is_initialized
from tensorlab.nn.container import ModuleDict, ModuleList
from tensorlab.nn.module import Module

__all__ = [
    "FSDPModule",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]

CLASSES: dict = {}  # a class of modules: the class that sharded ones of it have


def fully_shard(
    module,
    *,
    mesh=None,
    reshard_after_forward=None,
    shard_placement_fn=None,
    mp_policy=MixedPrecisionPolicy(),  # noqa: B008 - it's a value
    offload_policy=OffloadPolicy(),  # noqa: B008
    ignored_params=None,
    dp_mesh_dims=None,
):
    """Share the parameters of a module out over the ranks, in place.

    Its parameters become DTensors, of which each rank has a part; forward gathers them, and
    backward leaves the average of the gradients over the ranks, cut in the same way. Parts that
    were given to `fully_shard` before keep to themselves: call it from the inside out, and at
    last on the model.

    Parameters
    ----------
    module : Module, or list of Modules that are gathered together
    mesh : DeviceMesh of one dimension, by default of all ranks; or of two, of which the first
        replicates and the second shards
    reshard_after_forward : bool, whether the whole parameters are given up between forward and
        backward; by default yes, except for the root. An int above 1, to how many ranks PyTorch
        then shares them out, counts as True
    shard_placement_fn : function(param), which returns a Shard, to cut another dimension than
        the first, or None
    mp_policy : MixedPrecisionPolicy
    offload_policy : OffloadPolicy, accepted for PyTorch's sake: everything is on the cpu
    ignored_params : set of Parameter, which are left as they are
    dp_mesh_dims : refused; give the part of the mesh: `mesh["dp"]`

    Returns
    -------
    Module, the same; it's an FSDPModule, too

    Raises
    ------
    ValueError
        If the mesh has three dimensions, a parameter has none, or the module is a container
        without a forward.
    NotImplementedError
        For dp_mesh_dims.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist, nn
    >>> def step(rank):
    ...     model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    ...     for layer in (model[0], model[2]):
    ...         _ = fully_shard(layer)
    ...     _ = fully_shard(model)
    ...     optimizer = tensorlab.optim.Adam(model.parameters())
    ...     model(tensorlab.ones(1, 4)).sum().backward()
    ...     optimizer.step()
    ...     return model[0].weight.shape, model[0].weight.to_local().shape
    >>> dist.threads.spawn(step, nprocs=2)[0]
    (tensorlab.Size([4, 4]), tensorlab.Size([2, 4]))
    """
    modules = [module] if isinstance(module, Module) else list(module)
    if dp_mesh_dims is not None:
        raise NotImplementedError(
            "fully_shard: dp_mesh_dims isn't there; give the part of the mesh for data "
            "parallel as mesh, such as mesh['dp'], or mesh['replicate', 'shard']"
        )
    for one in modules:
        check_module(one)
    ranks = Ranks(mesh if mesh is not None else mesh_of_all())
    group = make_group(modules, ranks, mp_policy, shard_placement_fn, ignored_params or set())
    if reshard_after_forward is not None and not isinstance(reshard_after_forward, int):
        raise ValueError(
            "reshard_after_forward should be a bool or an int representing the group size to "
            f"reshard to, not {reshard_after_forward!r}"
        )
    reshard = None if reshard_after_forward is None else bool(reshard_after_forward)
    attach(modules, State(modules, group, mp_policy, reshard))
    for one in modules:
        one.__class__ = sharded_class(type(one))
    return module


def check_module(module):
    """Raise an error for what can't be sharded."""
    if not isinstance(module, Module):
        raise TypeError(f"fully_shard: {module!r} is no nn.Module")
    if isinstance(module, (ModuleList, ModuleDict)):
        raise ValueError(
            f"fully_shard does not support containers that do not implement forward: {module}; "
            "give its parts one by one, or as a list"
        )
    if STATE in vars(module):
        raise AssertionError(
            f"Each distinct composable distributed API can only be applied to a module once. "
            f"fully_shard has already been applied to the following module: {module}"
        )


def mesh_of_all():
    """Return the mesh of all ranks, in one dimension."""
    if not is_initialized():
        init_process_group()
    return init_device_mesh("cpu", (get_world_size(),))


def make_group(modules, ranks, policy, shard_placement_fn=None, ignored=()):
    """Cut the parameters of modules that no part of them has for itself; return their Group or None."""
    found = own_parameters(modules, {id(one) for one in ignored})
    params = []
    for param, places in found:
        dim = 0
        if shard_placement_fn is not None:
            placement = shard_placement_fn(param)
            dim = 0 if placement is None else placement.dim % param.dim()
        params.append(ShardedParameter(places, param, ranks, dim))
    return Group(params, ranks, policy) if params else None


def own_parameters(modules, ignored):
    """List the parameters of modules that aren't of a sharded part, with their places."""
    places, seen = {}, set()

    def visit(module):
        if id(module) in seen:
            return
        seen.add(id(module))
        for name, param in module._parameters.items():
            if param is not None and id(param) not in ignored:
                places.setdefault(id(param), (param, []))[1].append((module, name))
        for child in module.children():
            if STATE not in vars(child):
                visit(child)

    for one in modules:
        visit(one)
    return list(places.values())


def attach(modules, state):
    """Give a State to modules, and its hooks."""
    for one in modules:
        setattr(one, STATE, state)
        one.register_forward_pre_hook(state.before_forward, prepend=True, with_kwargs=True)
        one.register_forward_hook(state.after_forward, with_kwargs=True, always_call=True)


def sharded_class(cls):
    """Return the class of sharded modules of a class."""
    if cls not in CLASSES:
        CLASSES[cls] = type(
            f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__}
        )
    return CLASSES[cls]


class UnshardHandle:
    """What `unshard(async_op=True)` returns: `wait()` ends it."""

    def __init__(self, state=None):
        self._state = state

    def wait(self):
        """Wait until the parameters are there, and put them into the module."""
        if self._state is not None:
            self._state.unshard()
            self._state = None


class FSDPModule:
    """What a module is, beside its own class, that `fully_shard` was called with."""

    def __new__(cls, *args, **kwargs):
        """Make a module of the class as it was: a part of a sharded container isn't sharded."""
        original = cls.__mro__[2]
        made = original.__new__(original, *args, **kwargs)
        made.__init__(*args, **kwargs)
        return made

    def __deepcopy__(self, memo):
        raise AssertionError(
            "FSDP does not support deepcopy. Please use state dict for serialization."
        )

    def _get_fsdp_state(self):
        return vars(self)[STATE]

    def _states(self, recurse=True):
        """List the states of this module, and of those below it."""
        modules = self.modules() if recurse else [self]
        return list(dict.fromkeys(vars(one)[STATE] for one in modules if STATE in vars(one)))

    def _set(self, recurse, **values):
        """Set attributes of the groups of this module, and of those below it."""
        for state in self._states(recurse):
            for name, value in values.items():
                if state.group is not None:
                    setattr(state.group, name, value)

    def unshard(self, async_op=False):
        """Gather the module's own parameters, and leave them whole until `reshard` or the next forward.

        Parameters
        ----------
        async_op : bool; True returns an UnshardHandle, whose `wait()` ends it
        """
        state = self._get_fsdp_state()
        if not async_op:
            state.unshard()
            return None
        if state.group is not None:
            state.group.begin()
        return UnshardHandle(state)

    def reshard(self):
        """Give the whole parameters up; what was written to them is lost."""
        self._get_fsdp_state().reshard()

    def set_requires_gradient_sync(self, requires_gradient_sync, *, recurse=True):
        """Say whether backward reduces gradients. False keeps them whole, to be added to those of a
        later backward, as for gradient accumulation."""
        self._set(recurse, reduces=requires_gradient_sync, all_reduces=requires_gradient_sync)

    def set_requires_all_reduce(self, requires_all_reduce, *, recurse=True):
        """Say whether backward adds gradients over the ranks that replicate, on a mesh of two
        dimensions."""
        self._set(recurse, all_reduces=requires_all_reduce)

    def set_reshard_after_forward(self, reshard_after_forward, recurse=True):
        """Say whether the whole parameters are given up after forward.

        Raises
        ------
        ValueError
            If it isn't a bool.
        """
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(
                f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}"
            )
        for state in self._states(recurse):
            state.reshards_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward, *, recurse=True):
        """Say whether the whole parameters are given up after backward."""
        self._set(recurse, reshards_after_backward=reshard_after_backward)

    def set_modules_to_forward_prefetch(self, modules):
        """Say which modules' parameters are gathered ahead when this one's forward begins."""
        self._get_fsdp_state().ahead_forward = states_of(modules)

    def set_modules_to_backward_prefetch(self, modules):
        """Say which modules' parameters are gathered ahead when this one's backward begins; by default
        the one whose forward ran before."""
        self._get_fsdp_state().ahead_backward = states_of(modules)

    def set_is_last_backward(self, is_last_backward):
        """Accepted for PyTorch's sake: each backward ends for itself."""

    def set_gradient_divide_factor(self, factor):
        """Set what sums of gradients are divided by, instead of the number of ranks."""
        self._set(False, factor=float(factor))

    def set_reduce_scatter_divide_factor(self, factor):
        """The older name of set_gradient_divide_factor."""
        self.set_gradient_divide_factor(factor)

    def set_all_reduce_hook(self, hook, *, stream=None):
        """Call `hook(gradient)` with each reduced part, to change it in place."""
        self._set(False, all_reduce_hook=hook)

    def set_force_sum_reduction_for_comms(self, enable):
        """Accepted for PyTorch's sake: gradients are always added, then divided."""

    def set_unshard_in_backward(self, unshard_in_backward):
        """Accepted for PyTorch's sake: backward gathers what it asks for."""

    def set_post_optim_event(self, event):
        """Accepted for PyTorch's sake: there are no streams."""

    def _set_unshard_async_op(self, async_op):
        """Accepted for PyTorch's sake."""

    def reset_iter_state(self):
        """Put everything back after a forward or backward that has raised."""
        for state in self._states():
            while state.open_hooks:
                state.open_hooks.pop()[1].__exit__(None, None, None)
            state.reshard()
            if state.context is not None:
                state.context.order.clear()
                state.context.in_backward = False

    def _apply(self, *args, **kwargs):
        for state in self._states():
            state.reshard()
        result = super()._apply(*args, **kwargs)
        for state in self._states():
            for one in state.group.params if state.group is not None else ():
                one.refresh()
        return result


def states_of(modules):
    """Return the states of sharded modules.

    Raises
    ------
    ValueError
        If one isn't sharded.
    """
    for one in modules:
        if not isinstance(one, FSDPModule):
            raise ValueError(f"Expects FSDPModule but got {type(one)}: {one}")
    return [one._get_fsdp_state() for one in modules]


def register_fsdp_forward_method(module, method_name):
    """Have a method of a sharded module gather the parameters, as forward does.

    Parameters
    ----------
    module : Module; one that isn't sharded is left as it is
    method_name : str, such as "generate"

    Raises
    ------
    ValueError
        If there is no such method.
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    original = getattr(module, method_name)

    @functools.wraps(original)
    def wrapped(self, *args, **kwargs):
        state = self._get_fsdp_state()
        args, kwargs = state.before_forward(self, args, kwargs)
        out: Any = None
        try:
            out = original(*args, **kwargs)
        finally:
            out = state.after_forward(self, args, kwargs, out)
        return out

    setattr(module, method_name, wrapped.__get__(module, type(module)))


def share_comm_ctx(modules):
    """Accepted for PyTorch's sake: what it shares are streams, and there are none.

    Raises
    ------
    ValueError
        If one of the modules isn't sharded.
    """
    states_of(modules)
